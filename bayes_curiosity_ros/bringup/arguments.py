"""The arguments of the bringup, for the launch file and `bayes-curiosity up` alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bayes_curiosity_ros.bringup.parameters import arm_parameters
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.resources import find

if TYPE_CHECKING:
    from bayes_curiosity_ros.robot.arms.arm import ArmEntry

PACKAGE = "bayes_curiosity_ros"
TRUE_FALSE = ("true", "false")
LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")


@dataclass(frozen=True)
class Argument:
    """One argument of the bringup.

    Attributes:
        name: what users type, with underscores.
        default: value where it is left out.
        description: help.
        choices: values that it may have; empty where any will do.
    """

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()

    @property
    def flag(self) -> bool:
        """Whether it is true or false."""
        return self.choices == TRUE_FALSE

    @property
    def option(self) -> str:
        """What it is called on the command line."""
        return "--" + self.name.replace("_", "-")


def arguments() -> tuple[Argument, ...]:
    """Every argument. Choices are read from the registries, which takes seconds at first."""
    return (*_what(), *_devices(), *_how(), *_graph())


def defaults() -> dict[str, str]:
    """Every argument at its default."""
    return {argument.name: argument.default for argument in arguments()}


def arm_of(chosen: Mapping[str, str]) -> ArmEntry:
    """The kind of arm that was chosen."""
    from bayes_curiosity_ros.robot.arms.arm import ARMS

    return ARMS[chosen["arm"]]


def robot_of(chosen: Mapping[str, str]) -> str:
    """The robot's file in config/robots/: the one asked for, or the arm's own."""
    return chosen["robot"] or arm_of(chosen).robot


def frame_prefix_of(chosen: Mapping[str, str]) -> str:
    """What frames begin with: what was asked for, or the namespace."""
    namespace = chosen["namespace"].strip("/")
    return chosen["frame_prefix"] or (f"{namespace}/" if namespace else "")


def checked(given: Mapping[str, str]) -> dict[str, str]:
    """Every argument, those left out at their defaults.

    Raises:
        ConfigError: an argument is unknown, has no such value, or one that it needs is missing.
    """
    every = {argument.name: argument for argument in arguments()}
    chosen = {name: argument.default for name, argument in every.items()}
    for name, value in given.items():
        if name not in chosen:
            raise unknown_name("argument", name, chosen)
        chosen[name] = str(value)
        choices = every[name].choices
        if choices and chosen[name] not in choices:
            raise unknown_name(name, chosen[name], [choice for choice in choices if choice])
    for name in ("seed", "timesteps"):
        if not chosen[name].isdigit():
            raise ConfigError(f"{name} = {chosen[name]!r}; it must be a whole number")
    if chosen["params_file"]:
        chosen["params_file"] = _path(chosen["params_file"])
        chosen = _filled(chosen)
    for name in arm_of(chosen).needs:
        if not chosen[name]:
            raise ConfigError(
                f"arm {chosen['arm']!r} needs {name}; give {name}:=… (or {every[name].option} …)"
            )
    return chosen


def _path(params_file: str) -> str:
    """Where a parameter file is: where the user says, or among those of config/bringup/."""
    with suppress(ConfigError):
        return str(find("config/bringup", params_file).resolve())
    return str(Path(params_file).expanduser().resolve())


def _filled(chosen: dict[str, str]) -> dict[str, str]:
    """Arguments left empty, with what the user's parameter file says of the arm.

    Raises:
        ConfigError: the file is for another arm. That something moves is not for a file to say.
    """
    said = arm_parameters(chosen["params_file"])
    kind = said.get("backend", chosen["arm"])
    if kind != chosen["arm"]:
        raise ConfigError(
            f"{chosen['params_file']} is for arm {kind!r}, not {chosen['arm']!r}; "
            f"give arm:={kind} (or --arm {kind})"
        )
    parameters = {"robot": "robot", **arm_of(chosen).parameters}
    found = {name: str(said[sets]) for name, sets in parameters.items() if sets in said}
    return chosen | {name: value for name, value in found.items() if not chosen[name]}


def _what() -> Iterator[Argument]:
    """What moves, learns, explores and sees."""
    from bayes_curiosity_ros.curiosity.bonus import BONUSES
    from bayes_curiosity_ros.learning.algorithm import LEARNERS
    from bayes_curiosity_ros.robot.arms.arm import ARMS
    from bayes_curiosity_ros.robot.cameras.camera import CAMERAS
    from bayes_curiosity_ros.robot.config import DYNAMICS
    from bayes_curiosity_ros.tasks.registry import arm_task_names

    yield Argument("arm", "sim", "what moves; anything but sim is a real arm", ARMS.names())
    yield Argument("task", "reach", "what is learnt", arm_task_names())
    yield Argument("learner", "trpo", "what learns", LEARNERS.names())
    yield Argument("bonus", "curiosity", "what rewards exploration", BONUSES.names())
    yield Argument(
        "camera",
        "",
        "what sees; if empty, sim for a simulated arm, else topics",
        ("", *CAMERAS.names()),
    )
    yield Argument(
        "dynamics",
        "",
        "how the simulated arm moves; if empty, as its file in config/robots/ says",
        ("", *DYNAMICS),
    )
    yield Argument("robot", "", "file in config/robots/, or a path; if empty, the arm's own")


def _devices() -> Iterator[Argument]:
    """What the kinds of arm and camera ask for besides."""
    from bayes_curiosity_ros.robot.arms.arm import ARMS
    from bayes_curiosity_ros.robot.cameras.camera import CAMERAS

    names = {name: None for arm in ARMS for name in (*arm.needs, *arm.parameters)}
    for name in names:
        sets = {arm.parameters[name] for arm in ARMS if name in arm.parameters}
        needed = ", ".join(arm.name for arm in ARMS if name in arm.needs)
        about = f"parameter {', '.join(sorted(sets))} of the arm node"
        yield Argument(name, "", f"{about}; needed for {needed}" if needed else about)
    for name, parameter in {pair: None for c in CAMERAS for pair in c.parameters.items()}:
        yield Argument(name, "", f"parameter {parameter} of the camera node")


def _how() -> Iterator[Argument]:
    """How a run goes."""
    yield Argument("dry_run", "false", "check and report commands, execute none", TRUE_FALSE)
    yield Argument(
        "simulated_operator",
        "false",
        "every reset asks the operator, and the learner answers; not where people are",
        TRUE_FALSE,
    )
    yield Argument(
        "model",
        "",
        "curiosity model to start from, whose encoder also sees for a visual task; if empty, a "
        "random frozen encoder (`bayes-curiosity up` trains one)",
    )
    yield Argument(
        "policy",
        "",
        "policy pre-trained by imitation; if empty, a random one (`bayes-curiosity up` trains "
        "one)",
    )
    yield Argument("output", "output/run", "folder for checkpoint and episode log")
    yield Argument("seed", "0", "seed of everything random")
    yield Argument("timesteps", "30000", "control steps after which training ends")
    yield Argument("resume", "false", "go on from the checkpoint in output", TRUE_FALSE)
    yield Argument("record", "false", "keep every episode in a bag in output/bags", TRUE_FALSE)


def _graph() -> Iterator[Argument]:
    """What the nodes have in common."""
    yield Argument(
        "description",
        "false",
        "robot_description, TF and cylinder; also when recording",
        TRUE_FALSE,
    )
    yield Argument("namespace", "", "namespace of all nodes")
    yield Argument(
        "frame_prefix",
        "",
        "what the names of all frames but the world's begin with; if empty, the namespace and a "
        "slash where there is one",
    )
    yield Argument(
        "params_file",
        "",
        "parameter file of your own, or a driver's in config/bringup/, which counts more than "
        "ours; it may not set what an argument decides",
    )
    yield Argument("log_level", "info", "what nodes log, from here on", LOG_LEVELS)
    yield Argument(
        "use_sim_time",
        "false",
        "the nodes that only watch (description, detector) take their time from /clock, of a "
        "simulated arm from the one in its namespace; the others never do, as the watchdog of an "
        "arm must not stand still with a simulated clock",
        TRUE_FALSE,
    )
