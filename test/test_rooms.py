"""Which room may import which, how long functions and files are: read from the code itself."""

from __future__ import annotations

import ast
import graphlib
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

NAME = "bayes_curiosity_ros"
PACKAGE = Path(__file__).parent.parent / NAME
FILES = sorted(PACKAGE.rglob("*.py"))

CORE = {"configuration", "curiosity", "robot", "tasks", "learning", "bags"}
# What each room may import, besides itself and the root's open files.
ROOMS: dict[str, set[str]] = {
    "configuration": set(),
    "curiosity": {"configuration"},
    "robot": {"configuration"},
    "tasks": {"configuration", "robot"},
    "learning": {"configuration", "curiosity", "robot", "tasks"},
    "bags": {"configuration", "curiosity", "robot", "tasks", "learning"},
    "nodes": CORE | {"monitor"},
    "bringup": CORE,
    "experiments": CORE,
    "monitor": CORE | {"bringup"},
}
# Folders of a room that may import more than the room.
ALSO = {"experiments/arm": {"bringup"}, "experiments/parked": {"bringup"}}
# Files of the root: the open ones import nothing but each other, the doors what they like.
OPEN = {"commands", "csv_files", "environment", "errors", "failures", "files", "locks"}
OPEN |= {"resources", "runs", "spans"}
DOORS = {"__init__", "cli"}

# Rooms that must run where there is no ROS, but for drivers of real arms and cameras.
WITHOUT_ROS = sorted(ROOMS.keys() - {"nodes"})
DRIVERS = ("robot/arms/", "robot/cameras/")
ROS = {"builtin_interfaces", "cv_bridge", "launch", "launch_ros", "moveit", "rclpy", "tf2_ros"}
ROS_ENDINGS = ("_interfaces", "_msgs", "_srvs")


def module_of(file: Path) -> str:
    """The dotted name of a file of the package."""
    parts = (NAME, *file.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(file): file for file in FILES}


def room_of(module: str) -> str:
    """The room of one of our modules; for a file of the root, "" and the front door too."""
    file = MODULES[module].relative_to(PACKAGE)
    return file.parts[0] if len(file.parts) > 1 else ""


def names_of(statement: ast.Import | ast.ImportFrom) -> list[str]:
    """What a statement imports, by dotted names: modules, or names in modules."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    assert statement.level == 0, "a relative import"
    return [f"{statement.module}.{alias.name}" for alias in statement.names]


def anywhere(file: Path) -> list[str]:
    """What a file imports, wherever in it."""
    tree = ast.walk(ast.parse(file.read_text()))
    statements = [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]
    return [name for statement in statements for name in names_of(statement)]


def at_once(file: Path) -> list[str]:
    """What a file imports when it is imported: not in functions, not for type checks alone."""
    statements = list(outside_functions(ast.parse(file.read_text())))
    return [name for statement in statements for name in names_of(statement)]


def outside_functions(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from outside_functions(child)


def ours(names: list[str]) -> set[str]:
    """The modules of the package among these names, or that hold them."""
    found = set()
    for name in names:
        if name.split(".")[0] == NAME:
            module = name if name in MODULES else name.rpartition(".")[0]
            assert module in MODULES, f"there is no module {module}"
            found.add(module)
    return found


def permitted(file: Path) -> set[str]:
    """The rooms that a file of a room may import."""
    where = file.relative_to(PACKAGE)
    more = [rooms for folder, rooms in ALSO.items() if str(where).startswith(f"{folder}/")]
    return {where.parts[0]}.union(ROOMS[where.parts[0]], *more)


def test_every_room_and_every_file_of_the_root_has_a_rule():
    assert {file.stem for file in PACKAGE.glob("*.py")} <= OPEN | DOORS
    assert {file.parent.name for file in PACKAGE.glob("*/__init__.py")} == ROOMS.keys()
    folders = {file.relative_to(PACKAGE).parts[0] for file in FILES if file.parent != PACKAGE}
    assert folders == ROOMS.keys()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_what_it_may(room):
    for file in (PACKAGE / room).rglob("*.py"):
        for module in ours(anywhere(file)):
            if room_of(module):
                assert room_of(module) in permitted(file), f"{file} imports {module}"
            else:
                stem = MODULES[module].stem
                assert stem in OPEN | {"__init__"}, f"{file} imports {module}"


def test_an_open_file_of_the_root_imports_nothing_but_the_others():
    for file in PACKAGE.glob("*.py"):
        if file.stem in OPEN:
            stems = {MODULES[module].stem for module in ours(anywhere(file))}
            assert stems <= OPEN, f"{file} imports {stems - OPEN}"


def test_the_front_door_opens_no_room_before_it_is_used():
    assert not {room_of(module) for module in ours(at_once(PACKAGE / "__init__.py"))} - {""}


def test_no_module_imports_itself_by_way_of_others():
    graph = {module: ours(at_once(file)) - {module} for module, file in MODULES.items()}
    graphlib.TopologicalSorter(graph).prepare()  # CycleError names the cycle


@pytest.mark.parametrize("room", WITHOUT_ROS)
def test_a_room_without_ros_knows_none(room):
    for file in (PACKAGE / room).rglob("*.py"):
        if not str(file.relative_to(PACKAGE)).startswith(DRIVERS):
            roots = {name.split(".")[0] for name in anywhere(file)}
            found = {root for root in roots if root in ROS or root.endswith(ROS_ENDINGS)}
            assert not found, f"{file} imports {found}"


@pytest.mark.parametrize("node", ["curiosity_node", "recorder_node", "replay_node"])
def test_a_node_that_simulates_nothing_loads_no_simulator(node):
    code = f"import sys, {NAME}.nodes.{node}; print('mujoco' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def length_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function's body: without signature, decorators and docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    assert function.end_lineno is not None
    return function.end_lineno - body[0].lineno + 1


def test_functions_are_short():
    lengths = {
        f"{file.relative_to(PACKAGE)}:{node.lineno} {node.name}": length_of(node)
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert statistics.median(lengths.values()) <= 8
    assert statistics.quantiles(lengths.values(), n=10)[-1] <= 20
    assert not {name: length for name, length in lengths.items() if length > 60}


def test_files_are_short():
    lengths = {str(file): len(file.read_text().splitlines()) for file in FILES}
    assert not {name: length for name, length in lengths.items() if length > 400}
