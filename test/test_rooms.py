"""Which room may import which, read from the code itself."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "bayes_curiosity_ros"
ROS = {
    "bayes_curiosity_interfaces", "cv_bridge", "launch", "launch_ros", "moveit", "rclpy",
    "sensor_msgs", "std_msgs",
}  # fmt: skip
ROOMS = {
    "curiosity": set(),
    "learning": {"curiosity", "tasks"},
    "robot": set(),
    "tasks": {"robot"},
    "episodes": {"curiosity", "robot", "tasks"},
    "experiments": {"curiosity", "learning", "tasks", "robot"},
    "nodes": {"curiosity", "learning", "robot", "tasks", "episodes"},
}
WITHOUT_ROS = {"curiosity", "learning", "tasks", "episodes", "experiments", "robot"}
# Drivers of real arms and cameras may speak ROS.
ROS_DRIVERS = ("robot/arms/", "robot/cameras/")


def imports(file: Path) -> set[str]:
    """Every module that a file imports, wherever in it."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{file}: relative import"
            names.add(node.module)
    return names


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room):
    for file in (PACKAGE / room).rglob("*.py"):
        for name in imports(file):
            parts = name.split(".")
            if parts[0] == "bayes_curiosity_ros" and len(parts) > 2:
                assert parts[1] in ROOMS[room] | {room}, f"{file} imports {name}"


@pytest.mark.parametrize("room", sorted(WITHOUT_ROS))
def test_the_core_knows_no_ros(room):
    for file in (PACKAGE / room).rglob("*.py"):
        if not str(file.relative_to(PACKAGE)).startswith(ROS_DRIVERS):
            found = {name.split(".")[0] for name in imports(file)} & ROS
            assert not found, f"{file} imports {found}"


@pytest.mark.parametrize("node", ["curiosity_node", "recorder_node", "replay_node"])
def test_a_node_that_simulates_nothing_loads_no_simulator(node):
    code = f"import sys, bayes_curiosity_ros.nodes.{node}; print('mujoco' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
