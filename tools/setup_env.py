#!/usr/bin/env python3
"""Set up `.venv`: dependencies, the interface package, this package. Standard library only.

Each step is stamped with a hash of what it depends on, and skipped while that is unchanged.
Where a ROS 2 install is sourced, its rclpy and message packages are used instead of wheels.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
from bayes_curiosity_ros.environment import DISCOVERY_RANGE  # noqa: E402

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
INTERFACES = ROOT / "bayes_curiosity_interfaces"
# There are no wheels of these; a type's hash depends on names and fields alone.
WITHOUT_ROS = ROOT / "tools" / "without_ros"
DISTRIBUTED = ("tf2_msgs", "control_msgs")  # in every distribution of ROS, but not as wheels
KINOVA_MSGS = "kinova_msgs"  # in no distribution; comes with the driver of a Jaco gen 2
REQUIREMENTS = ROOT / "requirements"
NAME = "bayes_curiosity_ros"
SHARED_FOLDERS = ("config", "foxglove", "launch", "plotjuggler", "rviz", "urdf")
COMPLETION = "share/bash-completion/completions/bayes-curiosity"
WHEEL_PYTHONS = ((3, 11), (3, 13))


def main() -> int:
    """Run every step whose inputs changed."""
    sourced = ros_is_sourced()
    check_tools(sourced)
    if VENV.is_symlink():
        sys.exit(f"setup: {VENV} is a link to another environment; remove it, then run again")
    files = ["base.txt", "dev.txt"] if sourced else ["base.txt", "ros.txt", "dev.txt"]
    requirements = [REQUIREMENTS / name for name in (*files, "constraints.txt")]
    origin = (
        f"{sys.version} {sys.base_prefix} {ROOT} sourced={sourced and os.environ['ROS_DISTRO']}"
    )
    this = Path(__file__).resolve()
    venv = step("a Python environment", [origin, ACTIVATE], [], lambda: make_venv(sourced))
    installed = step(
        "dependencies (a few minutes the first time)",
        [venv],
        [this, *requirements],
        lambda: install_requirements(files, sourced),
    )
    for folder in interface_packages(sourced):
        sources = sorted(path for path in folder.rglob("*") if path.is_file())
        build = partial(build_interfaces, folder, sourced)
        step(f"the interface package {folder.name}", [installed], [this, *sources], build)
    package = [ROOT / name for name in ("setup.py", "package.xml", "pyproject.toml")]
    package += [ROOT / NAME / "version.txt", ROOT / "resource" / "node.sh"]
    links = [f"{link} {target.relative_to(ROOT)}" for link, target in links_of().items()]
    step("this package", [installed, *links], [this, *package], install_package)
    return 0


def interface_packages(sourced: bool) -> list[Path]:
    """Folders of the interface packages to build: ours, and those that nobody else provides."""
    names = [] if sourced else list(DISTRIBUTED)
    if not (sourced and importlib.util.find_spec(KINOVA_MSGS)):
        names.append(KINOVA_MSGS)
    return [*(WITHOUT_ROS / name for name in names), INTERFACES]


def ros_is_sourced() -> bool:
    """Whether a ROS 2 install is on this shell's paths and this Python can use it."""
    if not (os.environ.get("ROS_DISTRO") and os.environ.get("AMENT_PREFIX_PATH")):
        return False
    return importlib.util.find_spec("rclpy") is not None


def check_tools(sourced: bool) -> None:
    """End with the line that installs what is missing."""
    version = sys.version_info[:2]
    if not sourced and not WHEEL_PYTHONS[0] <= version <= WHEEL_PYTHONS[1]:
        missing(
            f"Python 3.11 to 3.13, for which ROS 2 wheels exist (not {version[0]}.{version[1]}),",
            "sudo apt install python3.12 python3.12-venv python3.12-dev && make PYTHON=python3.12",
        )
    if any(importlib.util.find_spec(name) is None for name in ("venv", "ensurepip")):
        missing("Python's venv module", "sudo apt install python3-venv")
    if shutil.which(os.environ.get("CXX", "c++")) is None:
        missing("a C++ compiler", "sudo apt install build-essential")
    if not Path(sysconfig.get_path("include"), "Python.h").exists():
        missing("Python's header files", "sudo apt install python3-dev")
    if sourced and shutil.which("cmake") is None:
        missing("CMake", "sudo apt install cmake")
    for name in DISTRIBUTED if sourced else ():
        if importlib.util.find_spec(name) is None:
            package = f"ros-{os.environ['ROS_DISTRO']}-{name.replace('_', '-')}"
            missing(name, f"sudo apt install {package}")


def missing(what: str, remedy: str) -> None:
    """Say what is missing and how to get it, and end."""
    sys.exit(f"setup: {what} is missing. Install it with:\n    {remedy}\nthen run make again.")


def step(title: str, words: list[str], files: Iterable[Path], work: Callable[[], None]) -> str:
    """Do `work` unless it was done with these inputs; returns the inputs' hash."""
    digest = hashlib.sha256(json.dumps([title, *words]).encode())
    for file in files:
        digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    inputs = digest.hexdigest()
    stamp = VENV / ".stamps" / title.split(" (")[0].replace(" ", "_")
    if not (stamp.exists() and stamp.read_text() == inputs):
        print(f"setup: {title} …", flush=True)
        stamp.unlink(missing_ok=True)
        work()
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(inputs)
    return inputs


ACTIVATE = f"""
export AMENT_PREFIX_PATH="$VIRTUAL_ENV${{AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}}"
# ROS traffic stays on this machine unless you say otherwise.
export {DISCOVERY_RANGE[0]}="${{{DISCOVERY_RANGE[0]}:-{DISCOVERY_RANGE[1]}}}"
# Completion of `bayes-curiosity` on the tab key.
if [ -n "${{BASH_VERSION:-}}" ] || type compdef > /dev/null 2>&1; then
    . "$VIRTUAL_ENV/{COMPLETION}"
fi
"""
# The wheels find their libraries by themselves; a sourced ROS looks on this path.
ACTIVATE_SOURCED = """
export LD_LIBRARY_PATH="$VIRTUAL_ENV/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
"""


def make_venv(sourced: bool) -> None:
    """A fresh `.venv`, with the sourced ROS's Python packages in view where there is one."""
    shutil.rmtree(VENV, ignore_errors=True)
    options = ["--system-site-packages"] if sourced else []
    run([sys.executable, "-m", "venv", *options, VENV])
    with (VENV / "bin" / "activate").open("a") as activate:
        activate.write(ACTIVATE + (ACTIVATE_SOURCED if sourced else ""))


def install_requirements(files: list[str], sourced: bool) -> None:
    """Install pinned dependencies; beside a sourced ROS, keep the NumPy it was built with."""
    constraints = REQUIREMENTS / "constraints.txt"
    if sourced:
        constraints = sourced_constraints(constraints)
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    chosen = [word for name in files for word in ("-r", constrained(REQUIREMENTS / name, sourced))]
    run([*pip, "-c", constraints, "setuptools", *chosen])
    if not sourced:
        mend_exported_paths()


def sourced_constraints(constraints: Path) -> Path:
    """Our pins less NumPy's: a sourced ROS is compiled against its own."""
    version = output([PYTHON, "-c", "import numpy; print(numpy.__version__)"])
    lines = [line for line in constraints.read_text().splitlines() if not numpy_pin(line)]
    return written("constraints.txt", [*lines, f"numpy=={version}"])


def constrained(requirement: Path, sourced: bool) -> Path:
    """A requirements file, without its NumPy pin beside a sourced ROS."""
    if not sourced:
        return requirement
    lines = [line for line in requirement.read_text().splitlines() if not numpy_pin(line)]
    return written(requirement.name, lines)


def numpy_pin(line: str) -> bool:
    return line.startswith("numpy==")


def written(name: str, lines: list[str]) -> Path:
    folder = VENV / ".sourced"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("\n".join(lines) + "\n")
    return folder / name


def mend_exported_paths() -> None:
    """Point the wheels' CMake files at this Python and NumPy, not at their build machine's."""
    tag = f"cp3{sys.version_info[1]}"
    stale = Path(f"/opt/python/{tag}-{tag}")
    python = f"python3.{sys.version_info[1]}"
    numpy = output([PYTHON, "-c", "import numpy; print(numpy.get_include())"])
    replacements = {
        str(stale / "lib" / python / "site-packages/numpy/_core/include"): numpy,
        str(stale / "include" / python): sysconfig.get_path("include"),
    }
    for file in (VENV / "share").glob("*/cmake/*.cmake"):
        text = mended = file.read_text()
        for old, new in replacements.items():
            mended = mended.replace(old, new)
        if mended != text:
            file.write_text(mended)


def build_interfaces(folder: Path, sourced: bool) -> None:
    """Generate, compile and install an interface package into `.venv`."""
    build = VENV / ".build" / folder.name
    shutil.rmtree(build, ignore_errors=True)
    environment = dict(os.environ)
    if not sourced:
        environment |= {
            "AMENT_PREFIX_PATH": str(VENV),
            "CMAKE_PREFIX_PATH": str(VENV),
            "LD_LIBRARY_PATH": str(VENV / "lib"),
            "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "CMAKE_GENERATOR": "Ninja",
        }
    configure = [
        "cmake",
        f"-S{folder}",
        f"-B{build}",
        f"-DCMAKE_INSTALL_PREFIX={VENV}",
        f"-DPython3_EXECUTABLE={PYTHON}",
        "-DBUILD_TESTING=OFF",
        "-DCMAKE_BUILD_TYPE=Release",
    ]
    run(configure, environment, quiet=True)
    run(["cmake", "--build", build, "--parallel"], environment, quiet=True)
    run(["cmake", "--install", build], environment, quiet=True)


def install_package() -> None:
    """Install this package in place, where ROS tools look for executables and shared files."""
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT])
    for folder in (VENV / "share" / NAME, VENV / "lib" / NAME):
        shutil.rmtree(folder, ignore_errors=True)
    for name, target in links_of().items():
        link(VENV / name, target)
    completion = output([PYTHON, VENV / "bin/register-python-argcomplete", "bayes-curiosity"])
    (VENV / COMPLETION).parent.mkdir(parents=True, exist_ok=True)
    (VENV / COMPLETION).write_text(completion + "\n")


def links_of() -> dict[str, Path]:
    """Files that ROS looks for, by their place in `.venv`; it enters no folder that is a link."""
    links = {
        f"share/ament_index/resource_index/packages/{NAME}": ROOT / "resource" / NAME,
        f"share/{NAME}/package.xml": ROOT / "package.xml",
    }
    for folder in SHARED_FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                links[f"share/{NAME}/{file.relative_to(ROOT)}"] = file
    for file in sorted(ROOT.glob("resource/executables/*")):
        links[f"lib/{NAME}/{file.name}"] = file
    return links


def link(path: Path, target: Path) -> None:
    """A symbolic link, renewed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def run(
    command: list[object], environment: dict[str, str] | None = None, quiet: bool = False
) -> None:
    """Run a command; when it fails, show what it said and end."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        env=environment,
        text=True,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
    )
    if done.returncode:
        print(done.stdout or "", file=sys.stderr)
        sys.exit(f"setup: this command failed with code {done.returncode}:\n    {' '.join(words)}")


def output(command: list[object]) -> str:
    """What a command prints."""
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
