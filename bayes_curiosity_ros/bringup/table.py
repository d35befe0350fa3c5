"""The node table: which nodes there are, with which parameters, for which arm and bonus.

The only place that knows. `launch/bringup.launch.py` turns it into launch_ros actions, and
`bayes-curiosity up` starts the same processes where launch_ros is not installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bayes_curiosity_ros.errors import ConfigError, unknown_name

PACKAGE = "bayes_curiosity_ros"
ARMS = ("sim", "kortex", "moveit", "trajectory")
CAMERAS = ("sim", "realsense", "topics")
TASKS = ("reach", "grasp", "visual_reach", "visual_grasp")
BONUSES = ("curiosity", "rnd", "vime", "none")
# Set by the launch file: `ros2 launch` that gets SIGTERM leaves its nodes behind, the arm moving.
DIE_WITH_PARENT = "BAYES_CURIOSITY_DIE_WITH_PARENT"


@dataclass(frozen=True)
class Argument:
    """One argument of the bringup, for the launch file and the command line alike."""

    name: str
    default: str
    description: str
    choices: tuple[str, ...] = ()


ARGUMENTS = (
    Argument("arm", "sim", "what moves; anything but sim is a real arm", ARMS),
    Argument("task", "reach", "what is learnt", TASKS),
    Argument("bonus", "curiosity", "what rewards exploration", BONUSES),
    Argument("camera", "", "what sees; if empty, sim for a simulated arm, else topics",
             ("", *CAMERAS)),
    Argument("robot", "", "file in config/robots/, or a path; if empty, the arm's own"),
    Argument("robot_ip", "", "address of the arm; needed for kortex"),
    Argument("command_topic", "", "JointTrajectory topic; needed for trajectory"),
    Argument("state_topic", "", "JointState topic; needed for trajectory"),
    Argument("dry_run", "false", "check and report commands, execute none", ("true", "false")),
    Argument("simulated_operator", "false",
             "every reset asks the operator, and the learner answers; not where people are",
             ("true", "false")),
    Argument("model", "", "curiosity model to start from, whose encoder also sees for a visual "
             "task; if empty, a random frozen encoder (`bayes-curiosity up` trains one)"),
    Argument("policy", "", "policy pre-trained by imitation; if empty, a random one "
             "(`bayes-curiosity up` trains one)"),
    Argument("output", "output/run", "folder for checkpoint and episode log"),
    Argument("seed", "0", "of everything random"),
    Argument("timesteps", "30000", "control steps after which training ends"),
    Argument("resume", "false", "go on from the checkpoint in output", ("true", "false")),
    Argument("description", "false", "robot_description, TF and cylinder; also when recording",
             ("true", "false")),
    Argument("record", "false", "keep every episode in a bag in output/bags", ("true", "false")),
    Argument("namespace", "", "of all nodes"),
)  # fmt: skip


@dataclass(frozen=True)
class NodeSpec:
    """One process.

    Attributes:
        name: of the node.
        executable: of `ros2 run bayes_curiosity_ros`.
        module: the same for `python -m`.
        files: parameter files in config/, first ones first.
        parameters: on top of these.
        respawn: whether a launch system may start it again. Never the arm, which must come
            back by an operator's decision; never the learner, which resumes by argument.
    """

    name: str
    executable: str
    module: str
    files: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    respawn: bool = False


def defaults() -> dict[str, str]:
    """Every argument at its default."""
    return {argument.name: argument.default for argument in ARGUMENTS}


def robot_of(chosen: Mapping[str, str]) -> str:
    """The robot's file in config/: the one asked for, or the arm's own."""
    return chosen["robot"] or ("gen3.yaml" if chosen["arm"] == "kortex" else "jaco.yaml")


def nodes(given: Mapping[str, str]) -> list[NodeSpec]:
    """The nodes for these arguments; those left out have their defaults.

    Raises:
        ConfigError: an argument is unknown, has no such value, or one that it needs is missing.
    """
    chosen = _checked(given)
    return [spec for make in TABLE for spec in make(chosen)]


def _arm(chosen: Mapping[str, str]) -> list[NodeSpec]:
    arm = chosen["arm"]
    parameters: dict[str, Any] = {"backend": arm, "task": chosen["task"]}
    parameters |= _robot(chosen)
    if arm == "kortex":
        parameters["kortex.ip"] = chosen["robot_ip"]
    if arm == "trajectory":
        parameters["trajectory.command_topic"] = chosen["command_topic"]
        parameters["trajectory.state_topic"] = chosen["state_topic"]
    if chosen["dry_run"] == "true":
        parameters["supervisor.dry_run"] = True
    if chosen["simulated_operator"] == "true":
        parameters["supervisor.confirm_resets"] = True
    return [_spec("arm", chosen, parameters)]


def _camera(chosen: Mapping[str, str]) -> list[NodeSpec]:
    backend = chosen["camera"] or ("sim" if chosen["arm"] == "sim" else "topics")
    parameters = {"backend": backend, "task": chosen["task"], **_robot(chosen)}
    return [_spec("camera", chosen, parameters, respawn=True)]


def _curiosity(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """Only where it is asked for; RND and VIME live in the learner."""
    if chosen["bonus"] != "curiosity":
        return []
    visual = _visual(chosen)
    parameters: dict[str, Any] = {"model": chosen["model"]}
    if not chosen["model"]:
        parameters["encoder.vector_size"] = 6 if visual else 9
        if visual:
            parameters["encoder.image_shape"] = [4, 64, 64]
            parameters["encoder.image_trunk"] = "keypoints"
    # Not respawned: it would come back at the prior, and the learner would not know.
    return [_spec("curiosity", chosen, parameters)]


def _detector(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """On a real table somebody has to see where the object is."""
    if chosen["arm"] == "sim":
        return []
    return [_spec("detector", chosen, _robot(chosen), respawn=True)]


def _description(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """For RViz, and for bags: without geometry a recording is hard to look at."""
    if "true" not in (chosen["description"], chosen["record"]):
        return []
    return [_spec("description", chosen, _robot(chosen), respawn=True)]


def _learner(chosen: Mapping[str, str]) -> list[NodeSpec]:
    parameters: dict[str, Any] = {name: chosen[name] for name in ("task", "bonus", "policy")}
    if _visual(chosen):
        parameters["model"] = chosen["model"]
    parameters |= {"folder": chosen["output"], "resume": chosen["resume"] == "true"}
    parameters |= {name: int(chosen[name]) for name in ("seed", "timesteps")}
    parameters["recorded"] = chosen["record"] == "true"
    if chosen["simulated_operator"] == "true":
        parameters["operator_confirmed"] = True
    return [_spec("learner", chosen, parameters | _robot(chosen))]


def _recorder(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """Before the learner, to hear all of it. A recorder that fails ends no run."""
    if chosen["record"] != "true":
        return []
    parameters = {
        "folder": f"{chosen['output']}/bags",
        "task": chosen["task"],
        "seed": int(chosen["seed"]),
        "settings": json.dumps(chosen),
    }
    module = f"{PACKAGE}.nodes.recorder_node"
    return [NodeSpec("recorder", "recorder", module, parameters=parameters, respawn=True)]


# Started in this order; the learner last, as it waits for the others.
TABLE: tuple[Callable[[Mapping[str, str]], list[NodeSpec]], ...] = (
    _arm,
    _camera,
    _detector,
    _description,
    _curiosity,
    _recorder,
    _learner,
)


def _spec(
    name: str, chosen: Mapping[str, str], parameters: Mapping[str, Any], respawn: bool = False
) -> NodeSpec:
    module = f"{PACKAGE}.nodes.{name}_node"
    return NodeSpec(name, name, module, (f"{chosen['arm']}.yaml",), parameters, respawn)


def _visual(chosen: Mapping[str, str]) -> bool:
    return chosen["task"].startswith("visual_")


def _robot(chosen: Mapping[str, str]) -> dict[str, str]:
    """Left out, the parameter file's own counts."""
    return {"robot": chosen["robot"]} if chosen["robot"] else {}


NEEDS = {"kortex": ("robot_ip",), "trajectory": ("command_topic", "state_topic")}


def _checked(given: Mapping[str, str]) -> dict[str, str]:
    chosen = defaults()
    for name, value in given.items():
        if name not in chosen:
            raise unknown_name("argument", name, chosen)
        chosen[name] = str(value)
    for argument in ARGUMENTS:
        if argument.choices and chosen[argument.name] not in argument.choices:
            valid = [choice for choice in argument.choices if choice]
            raise unknown_name(argument.name, chosen[argument.name], valid)
    for name in ("seed", "timesteps"):
        if not chosen[name].isdigit():
            raise ConfigError(f"{name} = {chosen[name]!r}; it must be a whole number")
    for name in NEEDS.get(chosen["arm"], ()):
        if not chosen[name]:
            raise ConfigError(
                f"arm {chosen['arm']!r} needs {name}; give {name}:=… (or --{_dashed(name)} …)"
            )
    return chosen


def _dashed(name: str) -> str:
    return name.replace("_", "-")
