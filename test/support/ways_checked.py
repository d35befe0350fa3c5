"""Commands that are not run: each says why, and checks what can be checked."""

from __future__ import annotations

import importlib.util
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from bayes_curiosity_ros.environment import DISCOVERY_RANGE
from bayes_curiosity_ros.nodes.monitor_node import INSTALL as VISER
from bayes_curiosity_ros.robot.arms.kortex_calls import INSTALL
from bayes_curiosity_ros.robot.cameras.images import INSTALL as OPENCV
from bayes_curiosity_ros.robot.cameras.topics import TopicsConfig
from support.pages import ROOT
from support.shell import Shell
from support.waiting import WAIT_S


def activate(shell: Shell, command: str) -> None:
    """This Python's own environment stands for `.venv`; `make` made both alike."""
    script = Path(sys.prefix) / "bin" / "activate"
    if not script.exists():
        pytest.skip(f"{sys.prefix} is no environment that make set up")
    names = "bayes-curiosity bayes-curiosity-curiosity"
    ask = f"source {shlex.quote(str(script))} && command -v {names}"
    assert len(_output(["bash", "-c", ask]).split()) == 2


def make(shell: Shell, command: str) -> None:
    """It would run this test again, or take hours: its recipe is read, without running it."""
    recipe = _output(["make", "-n", *shlex.split(command)[1:]])
    for line in re.findall(r"-m bayes_curiosity_ros\.cli (.+)", recipe):
        shell.understood(shlex.split(line))
    for module in re.findall(r"python -m (\w+)", recipe):
        assert importlib.util.find_spec(module), module


def pytest_file(shell: Shell, command: str) -> None:
    """`make test` runs it already: pytest must find tests of that name."""
    words = shlex.split(command)[1:]
    assert "::test_" in _output([sys.executable, "-m", "pytest", "--collect-only", "-n0", *words])


def _output(words: list[str]) -> str:
    done = subprocess.run(
        words, cwd=ROOT, text=True, capture_output=True, timeout=WAIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def benchmark(shell: Shell, command: str) -> None:
    """Minutes each, and peers to install: the module and its options are there."""
    module, *options = shlex.split(command)[2:]
    file = "__main__" if module == "benchmarks.NAME" else module.removeprefix("benchmarks.")
    path = ROOT / f"benchmarks/{file}"
    source = (path / "__main__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
    for option in (word for word in options if word.startswith("--")):
        assert f'"{option}"' in source


def discovery(shell: Shell, command: str) -> None:
    """Not set: tests stay on this machine. ROS must know variable and value."""
    name, _, value = command.removeprefix("export ").partition("=")
    assert name == DISCOVERY_RANGE[0]
    assert value in {"SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT"}


def secured(shell: Shell, command: str) -> None:
    """The wheels have no SROS2: files are there, and variables are those that ROS reads."""
    words = shlex.split(command)
    assert all((ROOT / word).is_file() for word in words if word.endswith(".xml"))
    names = {word.partition("=")[0] for word in words if "=" in word}
    assert names <= {f"ROS_SECURITY_{end}" for end in ("KEYSTORE", "ENABLE", "STRATEGY")}


def pinned(shell: Shell, command: str) -> None:
    """Installed by set-up already, in the versions that it pins."""
    files = ("base", "dev")
    pins = "".join((ROOT / f"requirements/{name}.txt").read_text() for name in files)
    for name in shlex.split(command)[2:]:
        assert f"\n{name}==" in pins, name


def vendor_wheel(shell: Shell, command: str) -> None:
    """For arms and cameras that are not here, or set up already: what needs it says the same."""
    assert command in INSTALL + OPENCV + VISER


def rviz(shell: Shell, command: str) -> None:
    """Needs a ROS install and a screen: the file it opens shows the arm."""
    shown = yaml.safe_load((ROOT / shlex.split(command)[-1]).read_text())
    displays = shown["Visualization Manager"]["Displays"]
    assert "rviz_default_plugins/RobotModel" in {display["Class"] for display in displays}


def realsense_driver(shell: Shell, command: str) -> None:
    """Needs its package and a camera: what it is asked for is what we listen to."""
    assert "align_depth.enable:=true" in command
    assert "/aligned_depth_to_color/" in TopicsConfig().depth_topic


def colcon(shell: Shell, command: str) -> None:
    """Needs a ROS install, as rosdep does: the paths hold all our packages."""
    words = [word for word in shlex.split(command) if not word.endswith(":false")]
    first = next(i for i, word in enumerate(words) if word in ("--base-paths", "--from-paths"))
    paths = [word for word in words[first + 1 :] if not word.startswith("--")]
    named = {ElementTree.parse(ROOT / path / "package.xml").findtext("name") for path in paths}
    assert named == {"bayes_curiosity_ros", "bayes_curiosity_interfaces"}


def beside_ros(shell: Shell, command: str) -> None:
    """An environment that sees a ROS install, for which git is told to ignore its folder."""
    (folder,) = re.findall(r"\.venv-\w+", command)
    assert any(Path(folder).match(line.strip("/")) for line in _lines(".gitignore"))


def _lines(name: str) -> list[str]:
    return (ROOT / name).read_text().split()


def sourced_by_colcon(shell: Shell, command: str) -> None:
    """Made by colcon, which needs a ROS install: a folder that git is told to ignore."""
    folder = Path(command.split()[1]).parent
    assert f"{folder}/" in _lines(".gitignore")


def pre_commit(shell: Shell, command: str) -> None:
    """It would change this clone: its hooks can be read."""
    assert yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
