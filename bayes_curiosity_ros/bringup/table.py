"""The node table: which nodes there are, with which parameters, for which arm and bonus.

The only place that knows. `launch/bringup.launch.py` turns it into launch_ros actions, and
`bayes-curiosity up` starts the same processes where launch_ros is not installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from bayes_curiosity_ros.bringup.arguments import (
    PACKAGE,
    arm_of,
    checked,
    frame_prefix_of,
    robot_of,
)
from bayes_curiosity_ros.bringup.parameters import check_params_file, encoder_parameters
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.resources import shared

FOLDER = "config/bringup"


@dataclass(frozen=True)
class NodeSpec:
    """One process.

    Attributes:
        name: name of the node.
        executable: what `ros2 run bayes_curiosity_ros` calls it.
        module: what `python -m` calls it.
        files: paths of its parameter files; later ones count more.
        parameters: parameters that count more than those in the files.
        remappings: names that it uses instead of its own.
        respawn: whether a launch system may start it again. Never the arm, which must come
            back by an operator's decision; never the learner, which resumes by argument.
    """

    name: str
    executable: str
    module: str
    files: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    remappings: Mapping[str, str] = field(default_factory=dict)
    respawn: bool = False


def nodes(given: Mapping[str, str]) -> list[NodeSpec]:
    """The nodes for these arguments; those left out have their defaults.

    Raises:
        ConfigError: an argument is unknown, has no such value, or one that it needs is missing;
            or the user's parameter file is missing or sets what an argument decides.
    """
    chosen = checked(given)
    specs = [spec for make in TABLE for spec in make(chosen)]
    if chosen["params_file"]:
        decided = {spec.name: spec.parameters for spec in specs}
        defaults = {"robot", *arm_of(chosen).parameters.values()}
        check_params_file(chosen["params_file"], decided, defaults)
    return specs


def parameter_files(chosen: Mapping[str, str]) -> tuple[str, ...]:
    """Paths of the parameter files for an arm and a task, ours first and the user's own last."""
    kinds = ("common", "real") if arm_of(chosen).real else ("common",)
    files = [str(shared(FOLDER, f"{name}.yaml")) for name in kinds]
    for name in (chosen["arm"], chosen["task"].removeprefix("visual_")):
        with suppress(ConfigError):  # most tasks have none, nor arms that others registered
            files.append(str(shared(FOLDER, f"{name}.yaml")))
    return (*files, *filter(None, [chosen["params_file"]]))


def _arm(chosen: Mapping[str, str]) -> list[NodeSpec]:
    parameters: dict[str, Any] = {"backend": chosen["arm"], "task": chosen["task"]}
    parameters |= {"robot": robot_of(chosen), "dynamics": chosen["dynamics"]}
    for argument, parameter in arm_of(chosen).parameters.items():
        if chosen[argument]:
            parameters[parameter] = chosen[argument]
    if chosen["dry_run"] == "true":
        parameters["supervisor.dry_run"] = True
    if chosen["simulated_operator"] == "true":
        parameters["supervisor.confirm_resets"] = True
    return [_spec("arm", chosen, parameters)]


def _camera(chosen: Mapping[str, str]) -> list[NodeSpec]:
    from bayes_curiosity_ros.robot.cameras.camera import CAMERAS

    backend = chosen["camera"] or ("topics" if arm_of(chosen).real else "sim")
    parameters = {"backend": backend, "task": chosen["task"], "robot": robot_of(chosen)}
    parameters |= _framed(chosen)
    for argument, parameter in CAMERAS[backend].parameters.items():
        if chosen[argument]:
            parameters[parameter] = chosen[argument]
    return [_spec("camera", chosen, parameters, respawn=True)]


def _curiosity(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """Only for a bonus that is a node of its own; the others live in the learner."""
    from bayes_curiosity_ros.curiosity.bonus import BONUSES

    if not BONUSES[chosen["bonus"]].node:
        return []
    parameters: dict[str, Any] = {"model": chosen["model"]}
    if not chosen["model"]:
        parameters |= encoder_parameters(chosen["task"], robot_of(chosen))
    # Not respawned: it would come back at the prior, and the learner would not know.
    return [_spec("curiosity", chosen, parameters)]


def _detector(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """On a real table somebody has to see where the object is."""
    if not arm_of(chosen).real:
        return []
    return [_spec("detector", chosen, _watching(chosen), respawn=True)]


def _description(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """For RViz, and for bags: without geometry a recording is hard to look at."""
    if "true" not in (chosen["description"], chosen["record"]):
        return []
    return [_spec("description", chosen, _watching(chosen) | _framed(chosen), respawn=True)]


def _learner(chosen: Mapping[str, str]) -> list[NodeSpec]:
    names = ("task", "dynamics", "learner", "bonus", "policy", "model")
    parameters: dict[str, Any] = {name: chosen[name] for name in names}
    parameters |= {"folder": chosen["output"], "resume": chosen["resume"] == "true"}
    parameters |= {name: int(chosen[name]) for name in ("seed", "timesteps")}
    parameters |= {"robot": robot_of(chosen), "recorded": chosen["record"] == "true"}
    if chosen["simulated_operator"] == "true":
        parameters["operator_confirmed"] = True
    return [_spec("learner", chosen, parameters)]


def _recorder(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """Before the learner, to hear all of it. A recorder that fails ends no run."""
    if chosen["record"] != "true":
        return []
    parameters = {
        "folder": f"{chosen['output']}/bags",
        "task": chosen["task"],
        "seed": int(chosen["seed"]),
        "settings": json.dumps(chosen),
        **_framed(chosen),
    }
    return [_spec("recorder", chosen, parameters, respawn=True)]


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
    module, files = f"{PACKAGE}.nodes.{name}_node", parameter_files(chosen)
    # Of a simulated arm, whose clock is in its namespace; anybody else's is where ROS looks.
    own_clock = "use_sim_time" in parameters and not arm_of(chosen).real
    remappings = {"/clock": "clock"} if own_clock else {}
    return NodeSpec(name, name, module, files, parameters, remappings, respawn)


def _watching(chosen: Mapping[str, str]) -> dict[str, Any]:
    """Parameters of a node that only watches; for any other, time must never stand still."""
    clock = {"use_sim_time": True} if chosen["use_sim_time"] == "true" else {}
    return {"robot": robot_of(chosen), **clock}


def _framed(chosen: Mapping[str, str]) -> dict[str, Any]:
    """What frames begin with, where it is not nothing."""
    prefix = frame_prefix_of(chosen)
    return {"frame_prefix": prefix} if prefix else {}
