"""The arguments of the bringup, for the launch file and `bayes-curiosity up` alike."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayes_curiosity_ros.bringup.parameters import arm_parameters
from bayes_curiosity_ros.configuration.ranges import MOST_SEED, MOST_STEPS, parse_whole
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.resources import find, own_path

if TYPE_CHECKING:
    from bayes_curiosity_ros.robot.arms.arm import ArmEntry

PACKAGE = "bayes_curiosity_ros"
TRUE_FALSE = ("true", "false")
NAMESPACE = re.compile(r"/?|/?([A-Za-z_]\w*)(/[A-Za-z_]\w*)*/?", re.ASCII)
LONGEST_NAMESPACE = 200  # DDS takes 255 of a whole topic's name
MOST_PORT = 65535
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
    def switch(self) -> bool:
        """Whether its option may stand alone, and means true."""
        return not self.flag and "true" in self.choices

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
    from bayes_curiosity_ros.learning.event_log import require_log

    every = {argument.name: argument for argument in arguments()}
    chosen = {name: argument.default for name, argument in every.items()}
    for name, value in given.items():
        if name not in chosen:
            raise unknown_name("argument", name, chosen)
        chosen[name] = str(value)
        choices = every[name].choices
        if choices and chosen[name] not in choices:
            raise unknown_name(name, chosen[name], [choice for choice in choices if choice])
    parse_whole(chosen["seed"], "seed", most=MOST_SEED)
    parse_whole(chosen["timesteps"], "timesteps", 1, MOST_STEPS)
    parse_whole(chosen["web_port"], "web_port", most=MOST_PORT)
    parse_whole(chosen["demonstrations"], "demonstrations", most=MOST_STEPS)
    require_log(chosen["log"])
    check_namespace(chosen["namespace"])
    if chosen["params_file"]:
        chosen["params_file"] = _path(chosen["params_file"])
        chosen = _filled(chosen)
    for name in arm_of(chosen).needs:
        if not chosen[name]:
            raise ConfigError(
                f"arm {chosen['arm']!r} needs {name}; give {name}:=… (or {every[name].option} …)"
            )
    return chosen


def check_namespace(namespace: str) -> None:
    """Check that nodes can be in a namespace.

    Raises:
        ConfigError: not by the rules of ROS, or too long for it.
    """
    if len(namespace) > LONGEST_NAMESPACE or not NAMESPACE.fullmatch(namespace):
        raise ConfigError(
            f"namespace = {namespace!r:.80} must be names of letters, digits and _, none "
            f"beginning with a digit, one slash between two, {LONGEST_NAMESPACE} letters at most"
        )


def _path(params_file: str) -> str:
    """Where a parameter file is: where the user says, or among those of config/bringup/."""
    with suppress(ConfigError):
        return str(find("config/bringup", params_file).resolve())
    return str(own_path(params_file).resolve())


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
    from bayes_curiosity_ros.learning.event_log import LOGS

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
    yield Argument(
        "shown",
        "",
        "demonstrated episodes that a learner with a memory (sac) begins with; if empty, none "
        "(`bayes-curiosity up` has the expert demonstrate some)",
    )
    yield Argument(
        "judge",
        "",
        "what success looks like to the camera (`bayes-curiosity judge`), for a visual task whose "
        "outcome the arm cannot see; if empty, the task itself judges",
    )
    yield Argument("output", "output/run", "folder for checkpoint and episode log")
    yield Argument("seed", "0", "seed of everything random")
    yield Argument("timesteps", "30000", "control steps after which training ends")
    yield Argument(
        "demonstrations",
        "0",
        "episodes that a person drives in the learner's place (operator/take); 0: none",
    )
    yield Argument(
        "log",
        "",
        "event files in output/tensorboard besides the episode log; pip install tensorboard",
        ("", *LOGS),
    )
    yield Argument("resume", "false", "go on from the checkpoint in output", TRUE_FALSE)
    yield Argument(
        "record",
        "false",
        "keep every episode in a bag in output/bags; required: a recorder that is lost or cannot "
        "write ends the run",
        (*TRUE_FALSE, "required"),
    )


def _graph() -> Iterator[Argument]:
    """What the nodes have in common."""
    yield Argument(
        "description",
        "false",
        "robot_description, TF and cylinder; also when recording",
        TRUE_FALSE,
    )
    yield Argument("web", "false", "the operator's page, for browsers", TRUE_FALSE)
    yield Argument(
        "web_host",
        "127.0.0.1",
        "address of the page; any but a loopback address needs a token in "
        "BAYES_CURIOSITY_WEB_TOKEN",
    )
    yield Argument("web_port", "8080", "port of the page; 0 for any that is free")
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
    yield Argument(
        "enclave",
        "",
        "what the nodes' SROS2 enclaves begin with: /bayes_curiosity for those of "
        "security/policy.xml; if empty, they have none",
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
