"""Setting up: quick when there is nothing to do, plain about what is missing."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.waiting import WAIT_S

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "tools" / "setup_env.py"


def load():
    spec = importlib.util.spec_from_file_location("setup_env", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(
    Path(sys.prefix) != ROOT / ".venv"
    or (ROOT / ".venv").is_symlink()  # somebody else's environment is not ours to set up
    or "ROS_DISTRO" in os.environ,
    reason="not run by make test",
)
def test_a_second_setup_does_nothing_and_is_quick():
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, SCRIPT], text=True, capture_output=True, timeout=WAIT_S, check=True
    )
    assert done.stdout == ""
    assert time.monotonic() - started < 3.0


def test_a_missing_compiler_is_named_with_its_remedy():
    done = subprocess.run(
        [sys.executable, SCRIPT],
        env={**os.environ, "CXX": "no-such-compiler"},
        text=True,
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode != 0
    assert "a C++ compiler is missing" in done.stderr
    assert "sudo apt install build-essential" in done.stderr


def test_an_environment_that_is_a_link_is_left_alone(monkeypatch, tmp_path):
    setup = load()
    (tmp_path / "theirs").mkdir()
    (tmp_path / ".venv").symlink_to(tmp_path / "theirs")
    monkeypatch.setattr(setup, "VENV", tmp_path / ".venv")
    with pytest.raises(SystemExit, match="is a link to another environment"):
        setup.main()
    assert list((tmp_path / "theirs").iterdir()) == []


def test_a_missing_venv_module_is_named_with_its_remedy(monkeypatch):
    setup = load()
    found = importlib.util.find_spec
    monkeypatch.setattr(
        setup.importlib.util,
        "find_spec",
        lambda name: None if name == "ensurepip" else found(name),
    )
    with pytest.raises(SystemExit, match="sudo apt install python3-venv"):
        setup.check_tools(sourced=False)


def test_another_python_is_named_with_its_remedy(monkeypatch):
    setup = load()
    monkeypatch.setattr(setup.sys, "version_info", (3, 10, 0))
    with pytest.raises(SystemExit, match=r"not 3\.10"):
        setup.check_tools(sourced=False)


@pytest.mark.parametrize("package", ["tf2_msgs", "control_msgs"])
def test_beside_a_sourced_ros_messages_are_its_own(monkeypatch, package):
    setup = load()
    found = importlib.util.find_spec
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    monkeypatch.setattr(setup.shutil, "which", lambda name: name)
    monkeypatch.setattr(
        setup.importlib.util,
        "find_spec",
        lambda name: None if name == package else found(name) or name,
    )
    remedy = f"sudo apt install ros-jazzy-{package.replace('_', '-')}"
    with pytest.raises(SystemExit, match=remedy):
        setup.check_tools(sourced=True)
    # Python looks beside a script first: there our sources must not pass for the package.
    assert importlib.machinery.PathFinder.find_spec(package, [str(SCRIPT.parent)]) is None


@pytest.mark.parametrize("theirs", [True, False])
def test_beside_a_sourced_ros_the_jacos_messages_are_its_drivers_if_it_has_them(
    monkeypatch, theirs
):
    setup = load()
    monkeypatch.setattr(setup.importlib.util, "find_spec", lambda name: theirs or None)
    built = [folder.name for folder in setup.interface_packages(sourced=True)]
    assert built == ([] if theirs else ["kinova_msgs"]) + ["bayes_curiosity_interfaces"]


def test_beside_a_sourced_ros_numpy_is_the_one_it_was_built_with(monkeypatch, tmp_path):
    setup = load()
    monkeypatch.setattr(setup, "VENV", tmp_path)
    monkeypatch.setattr(setup, "output", lambda _: "1.26.4")
    constraints = tmp_path / "pins.txt"
    constraints.write_text("numpy==2.2.6\ntqdm==4.70.1\n")
    assert setup.sourced_constraints(constraints).read_text() == "tqdm==4.70.1\nnumpy==1.26.4\n"
    assert "numpy" not in setup.constrained(constraints, sourced=True).read_text()
    assert setup.constrained(constraints, sourced=False) == constraints


def test_whoever_walks_the_installed_folders_finds_every_file(monkeypatch, tmp_path):
    """`ros2 launch` looks with os.walk, which enters no folder that is a link."""
    setup = load()
    monkeypatch.setattr(setup, "VENV", tmp_path)
    monkeypatch.setattr(setup, "run", lambda *_: None)
    monkeypatch.setattr(setup, "output", lambda _: "")
    setup.install_package()
    found = {
        (Path(folder) / name).relative_to(tmp_path)
        for folder, _, names in os.walk(tmp_path)
        for name in names
    }
    share = Path("share/bayes_curiosity_ros")
    for kind in ("config/bringup/*.yaml", "launch/*.launch.py", "rviz/*.rviz", "urdf/*.urdf"):
        files = {share / path.relative_to(ROOT) for path in ROOT.glob(kind)}
        assert files
        assert files <= found
    assert {share / "package.xml", Path("lib/bayes_curiosity_ros/arm")} <= found


@pytest.mark.parametrize("where", ["bin", "elsewhere"])
def test_a_node_is_started_by_its_plain_name(monkeypatch, tmp_path, where):
    """By the Python beside it, as in `.venv`, or by that on PATH, as in colcon's install."""
    (tmp_path / where).mkdir()
    (tmp_path / "lib/package").mkdir(parents=True)
    python = tmp_path / where / "python3"
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    if where == "elsewhere":
        monkeypatch.setenv("PATH", str(python.parent), prepend=os.pathsep)
    link = tmp_path / "lib/package/arm"
    link.symlink_to(ROOT / "resource/executables/arm")
    done = subprocess.run([link, "--ros-args"], capture_output=True, text=True, check=True)
    assert done.stdout == "-m bayes_curiosity_ros.nodes.arm_node --ros-args\n"


def test_activation_keeps_traffic_on_this_machine():
    assert 'ROS_AUTOMATIC_DISCOVERY_RANGE="${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}"' in (
        load().ACTIVATE
    )
