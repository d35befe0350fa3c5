"""How the commands of a ROS install are stood for, as `ros2` itself is not there."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import DescribeParameters
from rosbags.rosbag2 import Reader

from bayes_curiosity_ros.bags.episode import Episode, read_episodes
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bringup.arguments import PACKAGE, defaults
from bayes_curiosity_ros.bringup.table import nodes
from bayes_curiosity_ros.resources import find
from support.shell import Shell
from support.waiting import WAIT_S, wait_for
from support.ways_commands import PREPARED, bag_of, prepared

PREFIX = "bayes-curiosity-"
# More pairs than an embedding needs at least.
DEMONSTRATED = 25


def node(shell: Shell, command: str) -> None:
    """Start the node's module itself, with the same arguments."""
    words = shlex.split(command)
    if words[:2] == ["ros2", "run"]:
        assert words[2] == PACKAGE
        words = words[3:]
    made = prepared(shell)
    for given, target in (("arm.safetensors", made.model), ("policy.pt", made.policy)):
        if given in command:
            shell.run(PREPARED)
            words = [word.replace(f":={given}", f":={target}") for word in words]
    shell.start(words[0].removeprefix(PREFIX), *words[1:])
    if words[0] == "demonstrate":
        shell.guide_the_arm()


def launch(shell: Shell, command: str) -> None:
    """Check the arguments against launch file and node table; load it where launch_ros is."""
    package, name, *words = shlex.split(command)[2:]
    assert package == PACKAGE
    path = find("launch", name)
    given = dict(word.split(":=", 1) for word in words)
    assert set(given) <= _launch_arguments(path), command
    if name == "bringup.launch.py":
        filled = {key: value.replace("…", "driver/topic") for key, value in given.items()}
        with chdir(shell.folder):
            assert nodes(filled)


def _launch_arguments(path: Path) -> set[str]:
    if importlib.util.find_spec("launch_ros") is not None:
        spec = importlib.util.spec_from_file_location("launched", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        described = module.generate_launch_description()
        return {argument.name for argument in described.get_launch_arguments()}
    if path.name == "bringup.launch.py":
        return set(defaults())
    tree = ast.parse(path.read_text())
    return {word.value for word in ast.walk(tree) if isinstance(word, ast.Constant)}


def demonstrate_service(shell: Shell, command: str) -> None:
    """Call it while somebody moves the arm, until the bag has enough of it, then its end too."""
    _, _, _, name, kind = shlex.split(command)
    wait_for(lambda: shell.call(name, kind).success, f"success of {name}")
    if name.endswith("begin"):
        wait_for(lambda: _steps(shell) > DEMONSTRATED, f"{DEMONSTRATED} steps in the bag")
    else:
        wait_for(
            lambda: "success" in {episode.outcome for episode in _demonstrated(shell)},
            "demonstration in the bag",
        )


def _steps(shell: Shell) -> int:
    return sum(len(episode.steps) for episode in _demonstrated(shell))


def _demonstrated(shell: Shell) -> list[Episode]:
    """The episodes that the recorder has on disk."""
    bags = (shell.folder / "demonstrations").glob("run_*")
    return [episode for bag in bags for episode in read_episodes(BagReader(bag))]


def arm_service(shell: Shell, command: str) -> None:
    """Call it on a simulated arm."""
    _, _, _, name, kind = shlex.split(command)
    shell.start("arm")
    wait_for(lambda: shell.call(name, kind).success, f"success of {name}")


def lifecycle(shell: Shell, command: str) -> None:
    """Call the service that `ros2 lifecycle set` calls, on an arm that was deactivated."""
    name, wanted = shlex.split(command)[3:]
    shell.start(name.removeprefix("/"))

    def changed(label: str) -> bool:
        request = ChangeState.Request(transition=Transition(label=label))
        service = f"{name}/change_state"
        return shell.background.call(ChangeState, service, request, WAIT_S).success

    for label in ("deactivate", wanted):
        wait_for(lambda label=label: changed(label), f"success of {label}")


def describe_parameter(shell: Shell, command: str) -> None:
    """Call the service that `ros2 param describe` asks."""
    shell.start("curiosity")
    request = DescribeParameters.Request(names=["model"])
    name = f"{shlex.split(command)[3]}/describe_parameters"
    answer = shell.background.call(DescribeParameters, name, request, timeout_s=WAIT_S)
    assert answer.descriptors[0].description


def ros2_bag(shell: Shell, command: str) -> None:
    """Have another reader of rosbag2 stand for it."""
    with Reader(bag_of(shell)) as reader:
        assert "/observation" in {connection.topic for connection in reader.connections}


def client(shell: Shell, command: str) -> None:
    """Run the README's example: short, and five variances from the node beside it."""
    shell.start("curiosity")
    words = shlex.split(command)[1:]
    code = (shell.folder / words[0]).read_text().splitlines()
    assert len([line for line in code if not line.startswith(("#", "import"))]) <= 12
    done = subprocess.run(
        [sys.executable, *words],
        cwd=shell.folder,
        text=True,
        capture_output=True,
        timeout=WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    variances = [float(number) for number in re.findall(r"\d+\.\d+", done.stdout)]
    assert len(variances) == 5
    assert min(variances) > 1.0
