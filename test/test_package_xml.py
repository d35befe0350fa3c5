"""What the package imports is what package.xml, setup.py and the README tell people to install."""

import ast
import itertools
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bayes_curiosity_ros.bringup.table import nodes

ROOT = Path(__file__).parents[1]
OURS = {"bayes_curiosity_ros", "bayes_curiosity_interfaces"}
# rosdep's key of a Python module; that of a ROS package is its name.
KEYS = {
    "PIL": "python3-pil",
    "argcomplete": "python3-argcomplete",
    "cv2": "python3-opencv",
    "gymnasium": "python3-gymnasium-pip",
    "matplotlib": "python3-matplotlib",
    "moveit": "moveit_py",
    "mujoco": "python3-mujoco-pip",
    "numpy": "python3-numpy",
    "pyrealsense2": "python3-pyrealsense2-pip",
    "rosbags": "python3-rosbags-pip",
    "stable_baselines3": "python3-stable-baselines3-pip",
    "torch": "python3-torch",
    "tqdm": "python3-tqdm",
    "yaml": "python3-yaml",
}
WITHOUT_KEY = {"mcap", "mink", "safetensors", "zstandard"}
OPTIONAL = {"cv2", "moveit", "pyarrow", "pyrealsense2", "ray", "stable_baselines3"}
OPTIONAL |= {"trimesh", "viser", "websockets"}  # viser brings the other two
VENDOR = {"kortex_api"}  # a wheel from Kinova, on no index
DISTRIBUTIONS = {"PIL": "pillow", "yaml": "PyYAML"}
NEEDS_NO_IMPORT = {"control_msgs", "ros2launch"}  # imported by name; users type it


def imported(*folders: str) -> set[str]:
    """Top-level modules that the files in these folders import, those of Python's own left out."""
    names = set()
    for file in (file for folder in folders for file in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
    return {name.split(".")[0] for name in names} - set(sys.stdlib_module_names) - VENDOR


def declared(conditional: bool) -> set[str]:
    """Keys of package.xml that are needed to run, always or by a condition."""
    depends = ElementTree.parse(ROOT / "package.xml").findall("exec_depend")
    return {depend.text for depend in depends if ("condition" in depend.attrib) == conditional}


def keys(modules: set[str]) -> set[str]:
    return {KEYS.get(module, module) for module in modules}


def test_package_xml_has_what_is_imported_and_no_more():
    needed = imported("bayes_curiosity_ros", "launch") - WITHOUT_KEY - OPTIONAL
    assert declared(conditional=False) == keys(needed) - {"bayes_curiosity_ros"} | NEEDS_NO_IMPORT


def test_what_is_optional_has_a_condition():
    assert declared(conditional=True) <= keys(OPTIONAL)
    assert not declared(conditional=True) & declared(conditional=False)


def test_the_readme_names_what_has_no_key():
    readme = (ROOT / "README.md").read_text()
    assert any(
        set(line.split()) == WITHOUT_KEY
        for line in re.findall(r"^pip install (.+)$", readme, re.M)
    )


@pytest.mark.parametrize("tool", ["colcon build --base-paths", "rosdep install --from-paths"])
def test_the_readme_leads_tools_to_both_packages(tool):
    """Neither looks for a package in a package."""
    words = re.search(rf"^{tool} (.+)$", (ROOT / "README.md").read_text(), re.M)
    assert words is not None
    paths = itertools.takewhile(lambda word: not word.startswith("--"), words[1].split())
    files = [ROOT / path / "package.xml" for path in paths]
    names = {ElementTree.parse(file).getroot().findtext("name") for file in files}
    assert names == {"bayes_curiosity_ros", "bayes_curiosity_interfaces"}


@pytest.mark.parametrize("field", ["install_requires", "extras_require"])
def test_setup_py_has_the_same(field):
    tree = ast.parse((ROOT / "setup.py").read_text())
    value = next(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.keyword) and node.arg == field
    )
    texts = [node.value for node in ast.walk(value) if isinstance(node, ast.Constant)]
    named = {re.split(r"[<>=]", text)[0] for text in texts if re.search("[<>=]", text)}
    ros = {module for module in imported("bayes_curiosity_ros") if module in declared(False)}
    needed = imported("bayes_curiosity_ros") - OPTIONAL - OURS - ros
    if field == "extras_require":
        optional = {"opencv-python-headless", "pyarrow", "ray", "stable-baselines3"}
        assert named <= optional | {"tensorboard", "viser"}
    else:
        assert named == {DISTRIBUTIONS.get(module, module) for module in needed}


def test_every_executable_is_a_node_with_a_program():
    names = {path.name for path in (ROOT / "resource/executables").iterdir()}
    modules = {path.stem for path in (ROOT / "bayes_curiosity_ros/nodes").glob("*_node.py")}
    launched = {spec.executable for spec in nodes({"arm": "moveit", "record": "true"})}
    assert {f"{node}_node" for node in names} <= modules
    assert launched <= names


def test_programs_of_colcon_take_the_python_on_path():
    """colcon runs setup.py with its own Python, which sees no activated environment."""
    ask = (
        "import setuptools; from distutils.core import run_setup; "
        "chosen = run_setup('setup.py', stop_after='init').get_option_dict('build_scripts'); "
        "print(chosen['executable'][1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=ROOT, text=True, capture_output=True, check=True
    )
    assert done.stdout == "/usr/bin/env python3\n"
