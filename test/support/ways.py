"""How each documented command is run, and where it cannot be, what is checked and why."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import DescribeParameters
from rosbags.rosbag2 import Reader

from bayes_curiosity_ros.bags.episode import Episode, read_episodes
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bringup import table as bringup
from bayes_curiosity_ros.bringup.up import command_of
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.robot.arms.kortex_calls import INSTALL
from bayes_curiosity_ros.robot.cameras.camera import CameraError
from bayes_curiosity_ros.robot.cameras.images import INSTALL as OPENCV
from bayes_curiosity_ros.robot.cameras.renderer import GLCamera
from bayes_curiosity_ros.tasks.arm.reach import Reach
from support.pages import ROOT
from support.shell import PATIENCE_S, Shell

Way = Callable[[Shell, str], None]
RECORDED = "bayes-curiosity up --record"
PREPARED = "bayes-curiosity prepare reach --robot my_cell.yaml --output output/lab"
SEEN = "bayes-curiosity prepare visual_reach --output output/seen"
# What stands for the reader's own: a bag, a topic, a name.
BAG = r"\bBAG\b( …)?|output/run/bags/run_\w+"
# More pairs than an embedding needs at least.
DEMONSTRATED = 25


def run(shell: Shell, command: str) -> None:
    """Run a command as the table says.

    Raises:
        AssertionError: it failed, or the table does not know it.
    """
    for pattern, way in WAYS.items():
        if re.fullmatch(pattern, command):
            way(shell, command)
            return
    raise AssertionError(f"no entry in test/docs/ways.py says how to run: {command}")


def bag_of(shell: Shell) -> Path:
    """The bag of a short run."""
    run(shell, RECORDED)
    return next((shell.folder / "output/run/bags").iterdir())


def curiosity(more: str = "", after: str = "") -> Way:
    """A `bayes-curiosity` command, with options that only make it short, after another.

    The short run does not make its own model: it has what was prepared in output/lab.
    """

    def way(shell: Shell, command: str) -> None:
        if after:
            run(shell, after)
        command = command.replace("output/run/embedding", "output/lab/embedding")
        if re.search(BAG, command):
            command = re.sub(BAG, str(bag_of(shell)), command)
        words = [found for word in shlex.split(command)[1:] for found in _expanded(shell, word)]
        shell.bayes_curiosity(words, more.replace("HERE", str(shell.folder)))

    return way


def _expanded(shell: Shell, word: str) -> list[str]:
    return sorted(map(str, shell.folder.glob(word))) if "*" in word else [word]


def up(more: str = "", after: str = PREPARED) -> Way:
    """The stack, with what was prepared: 200 demonstrations instead of 8,000."""
    files = "--model HERE/output/lab/embedding.safetensors --policy HERE/output/lab/policy.pt"
    return curiosity(f"{files} {more}", after)


def up_visual(shell: Shell, command: str) -> None:
    """With an encoder of 64 frames, and few steps."""
    run(shell, SEEN)
    files = "--model HERE/output/seen/embedding.safetensors --policy HERE/output/seen/policy.pt"
    curiosity(f"{files} --timesteps 60 --output HERE/output/seen")(shell, command)


def arm_experiment(shell: Shell, command: str) -> None:
    """Understood here; test_arm_curve.py has a shorter stack to run the same command on."""
    shell.understood(shlex.split(command)[1:])
    elsewhere = (ROOT / "test/test_arm_curve.py").read_text()
    assert 'words = ["experiment", "arm", ' in elsewhere


def tuning(shell: Shell, command: str) -> None:
    """288 runs: understood here; test_tune.py runs the same command, with fewer."""
    shell.understood(shlex.split(command)[1:])
    assert '"tune"' in (ROOT / "test/experiments/test_tune.py").read_text()


def check_replay(shell: Shell, command: str) -> None:
    """Against the node that the run had, started again."""
    model = shell.folder / "output/lab/embedding.safetensors"
    run(shell, RECORDED)
    specs = {spec.name: spec for spec in bringup.nodes({"model": str(model)})}
    words = command_of(specs["curiosity"], "")
    shell.start("curiosity", *words[words.index("--ros-args") :])
    curiosity()(shell, command)


def view(shell: Shell, command: str) -> None:
    """A small film, also where there is a screen; skipped where nothing can draw one.

    MP4 needs ffmpeg, which is not ours to install: without it the command is only understood.
    """
    try:
        GLCamera(Reach(threads=1).stepper.world, 32, 32).close()
    except CameraError as error:
        pytest.skip(str(error))
    if ".mp4" in command and shutil.which("ffmpeg") is None:
        shell.understood(shlex.split(command)[1:])
        return
    film = "" if "--output" in command else "--output output/film.gif"
    curiosity(f"--width 64 --height 48 {film}")(shell, command)


def node(shell: Shell, command: str) -> None:
    """The entry point itself, with the same arguments: `ros2` is part of a ROS install."""
    words = shlex.split(command)
    if words[:2] == ["ros2", "run"]:
        assert words[2] == bringup.PACKAGE
        words = words[3:]
    for given, made in (
        ("arm.safetensors", "embedding.safetensors"),
        ("policy.pt", "policy.pt"),
    ):
        if given in command:
            run(shell, PREPARED)
            target = shell.folder / "output/lab" / made
            words = [word.replace(f":={given}", f":={target}") for word in words]
    shell.start(*words)
    if words[0] == "demonstrate":
        shell.guide_the_arm()


def launch(shell: Shell, command: str) -> None:
    """Arguments against the launch file and the node table; loaded where launch_ros is."""
    package, name, *words = shlex.split(command)[2:]
    assert package == bringup.PACKAGE
    path = find("launch", name)
    given = dict(word.split(":=", 1) for word in words)
    assert set(given) <= _launch_arguments(path), command
    if name == "bringup.launch.py":
        filled = {key: value.replace("…", "driver/topic") for key, value in given.items()}
        assert bringup.nodes(filled)


def _launch_arguments(path: Path) -> set[str]:
    if importlib.util.find_spec("launch_ros") is not None:
        spec = importlib.util.spec_from_file_location("launched", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        described = module.generate_launch_description()
        return {argument.name for argument in described.get_launch_arguments()}
    if path.name == "bringup.launch.py":
        return set(bringup.defaults())
    tree = ast.parse(path.read_text())
    return {word.value for word in ast.walk(tree) if isinstance(word, ast.Constant)}


def demonstrate_service(shell: Shell, command: str) -> None:
    """While somebody moves the arm, until the bag has enough of it; then its end too."""
    _, _, _, name, kind = shlex.split(command)
    shell.until(lambda: shell.call(name, kind).success, f"success of {name}")
    if name.endswith("begin"):
        shell.until(lambda: _steps(shell) > DEMONSTRATED, f"{DEMONSTRATED} steps in the bag")
    else:
        shell.until(
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
    """On a simulated arm."""
    _, _, _, name, kind = shlex.split(command)
    shell.start("arm")
    shell.until(lambda: shell.call(name, kind).success, f"success of {name}")


def lifecycle(shell: Shell, command: str) -> None:
    """The service that `ros2 lifecycle set` calls, on a simulated arm that was deactivated."""
    name, wanted = shlex.split(command)[3:]
    shell.start(name.removeprefix("/"))
    for label in ("deactivate", wanted):
        request = ChangeState.Request(transition=Transition(label=label))
        shell.until(
            lambda request=request: (
                (
                    shell.background.call(ChangeState, f"{name}/change_state", request, PATIENCE_S)
                ).success
            ),
            f"success of {label}",
        )


def describe_parameter(shell: Shell, command: str) -> None:
    """The service that `ros2 param describe` asks."""
    shell.start("curiosity")
    request = DescribeParameters.Request(names=["model"])
    name = f"{shlex.split(command)[3]}/describe_parameters"
    answer = shell.background.call(DescribeParameters, name, request, timeout_s=PATIENCE_S)
    assert answer.descriptors[0].description


def ros2_bag(shell: Shell, command: str) -> None:
    """Needs a ROS install; another reader of rosbag2 stands for it."""
    with Reader(bag_of(shell)) as reader:
        assert "/observation" in {connection.topic for connection in reader.connections}


def client(shell: Shell, command: str) -> None:
    """The README's example: short, and five variances from the node beside it."""
    shell.start("curiosity")
    words = shlex.split(command)[1:]
    code = (shell.folder / words[0]).read_text().splitlines()
    assert len([line for line in code if not line.startswith(("#", "import"))]) <= 12
    done = subprocess.run(
        [sys.executable, *words],
        cwd=shell.folder,
        text=True,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    variances = [float(number) for number in re.findall(r"\d+\.\d+", done.stdout)]
    assert len(variances) == 5
    assert min(variances) > 1.0


def activate(shell: Shell, command: str) -> None:
    """This Python's own environment stands for `.venv`; `make` made both alike."""
    script = Path(sys.prefix) / "bin" / "activate"
    if not script.exists():
        pytest.skip(f"{sys.prefix} is no environment that make set up")
    ask = f"source {shlex.quote(str(script))} && command -v bayes-curiosity curiosity"
    done = subprocess.run(["bash", "-c", ask], text=True, capture_output=True, check=False)
    assert len(done.stdout.split()) == 2, done.stderr


def make(shell: Shell, command: str) -> None:
    """It would run this test again, or take hours: its recipe, without running it."""
    recipe = subprocess.run(
        ["make", "-n", *shlex.split(command)[1:]],
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )
    assert recipe.returncode == 0, recipe.stderr
    commands = re.findall(r"-m bayes_curiosity_ros\.cli (.+)", recipe.stdout)
    for line in commands:
        shell.understood(shlex.split(line))
    for module in re.findall(r"python -m (\w+)", recipe.stdout):
        assert importlib.util.find_spec(module), module


def pytest_file(shell: Shell, command: str) -> None:
    """`make test` runs it already: the file and the name are there."""
    _, path, *options = shlex.split(command)
    wanted = options[1] if options[:1] == ["-k"] else ""
    assert re.search(rf"def test_\w*{wanted}", (ROOT / path).read_text())


def benchmark(shell: Shell, command: str) -> None:
    """Minutes each, and peers to install: the module and its options are there."""
    module, *options = shlex.split(command)[2:]
    file = "__main__" if module == "benchmarks.NAME" else module.removeprefix("benchmarks.")
    source = (ROOT / f"benchmarks/{file}.py").read_text()
    for option in (word for word in options if word.startswith("--")):
        assert f'"{option}"' in source


def discovery(shell: Shell, command: str) -> None:
    """Not set: tests stay on this machine. ROS must know variable and value."""
    name, _, value = command.removeprefix("export ").partition("=")
    ours = (ROOT / "bayes_curiosity_ros/processes.py").read_text()
    assert f'"{name}"' in ours
    assert value in {"SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT"}


def vendor_wheel(shell: Shell, command: str) -> None:
    """For arms and cameras that are not here: what needs it says the same."""
    assert command in INSTALL + OPENCV


def rviz(shell: Shell, command: str) -> None:
    """Needs a ROS install and a screen: the file it opens shows the arm."""
    shown = yaml.safe_load((ROOT / shlex.split(command)[-1]).read_text())
    displays = shown["Visualization Manager"]["Displays"]
    assert "rviz_default_plugins/RobotModel" in {display["Class"] for display in displays}


def colcon(shell: Shell, command: str) -> None:
    """Needs a ROS install: each base path holds a package."""
    words = shlex.split(command)
    for path in words[words.index("--base-paths") + 1 :]:
        assert (ROOT / path / "package.xml").is_file()


def sourced_by_colcon(shell: Shell, command: str) -> None:
    """Made by colcon, which needs a ROS install: a folder that git is told to ignore."""
    folder = Path(command.split()[1]).parent
    assert f"{folder}/" in (ROOT / ".gitignore").read_text().split()


def copy(shell: Shell, command: str) -> None:
    """What it copies is what the experiment made."""
    run(shell, "bayes-curiosity experiment curves --task grasp --bonus curiosity none --seeds 0-1")
    assert (shell.folder / shlex.split(command)[2] / "rows.csv").is_file()


def pre_commit(shell: Shell, command: str) -> None:
    """It would change this clone: its hooks can be read."""
    assert yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]


TABLE1 = "--task mountaincar --algorithm trpo --bonus none --seeds 0 --steps 2000 --workers 1"
CURVES = "--config HERE/small_curves.yaml --seeds 0 --workers 1 --no-plots --no-videos"
ABLATIONS = "--config HERE/small_ablations.yaml --seeds 0 --timesteps 200 --workers 1 --no-plots"
CLI = "bayes-curiosity"
# The first that fits the whole command counts. What no pattern fits fails the test.
WAYS: dict[str, Way] = {
    rf"{CLI} prepare reach( .*)?": curiosity("--demonstrations 200 --imitation-epochs 1"),
    rf"{CLI} prepare visual_reach.*": curiosity(
        "--demonstrations 64 --embedding-epochs 1 --imitation-epochs 1"
    ),
    rf"{CLI} up --task visual_reach": up_visual,
    rf"{CLI} up --resume( .*)?": up("--timesteps 1200", after=RECORDED),
    rf"{CLI} up( --task reach| --bonus curiosity| --record)*": up("--record --timesteps 200"),
    rf"{CLI} surface": curiosity(),
    rf"{CLI} view .*": view,
    rf"{CLI} demos .*--check.*": curiosity("--check 3"),
    rf"{CLI} demos \w+": curiosity("--count 60"),
    rf"{CLI} bag repair BAG NEW": curiosity(),
    rf"{CLI} bag (info|episodes|export) BAG.*": curiosity(),
    rf"{CLI} replay BAG --check": check_replay,
    rf"{CLI} replay BAG --redrive": curiosity("--episodes 1"),
    rf"{CLI} replay BAG.*": curiosity("--episodes 1"),
    rf"{CLI} score --bag BAG --model output/run/embedding.safetensors": curiosity(),
    rf"{CLI} embed --bag .*": curiosity("--max-epochs 1"),
    rf"{CLI} experiment table1.*": curiosity(f"{TABLE1} --no-plots --output output/table1"),
    rf"{CLI} experiment tune.*": tuning,
    rf"{CLI} experiment curves.*": curiosity(CURVES),
    rf"{CLI} experiment ablations.*": curiosity(ABLATIONS),
    rf"{CLI} experiment arm.*": arm_experiment,
    r"curiosity|ros2 run bayes_curiosity_ros \w+( .*)?": node,
    r"ros2 launch .*": launch,
    r"ros2 service call /demonstrate/.*": demonstrate_service,
    r"ros2 service call /arm/.*": arm_service,
    r"ros2 param describe .*": describe_parameter,
    r"ros2 lifecycle set .*": lifecycle,
    r"ros2 bag (info|play|convert)": ros2_bag,
    r"python client\.py": client,
    r"python -m benchmarks\.\w+( .*)?": benchmark,
    r"pytest .*": pytest_file,
    r"source \.venv/bin/activate": activate,
    r"source install/setup\.bash": sourced_by_colcon,
    r"colcon build .*": colcon,
    r"make( \w+=\S+)? \w+": make,
    r"export ROS_AUTOMATIC_DISCOVERY_RANGE=.*": discovery,
    r"pip install .*": vendor_wheel,
    r"rviz2 .*": rviz,
    r"cp -r .*": copy,
    r"pre-commit install": pre_commit,
}
