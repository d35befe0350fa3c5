"""The node table: which nodes there are, with which parameters, for which arm and bonus.

The only place that knows. `launch/bringup.launch.py` turns it into launch_ros actions, and
`bayes-curiosity up` starts the same processes where launch_ros is not installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from bayes_curiosity_ros.bringup.arguments import (
    PACKAGE,
    arm_of,
    checked,
    frame_prefix_of,
    robot_of,
)
from bayes_curiosity_ros.bringup.parameters import check_params_file, encoder_parameters
from bayes_curiosity_ros.environment import WEB_TOKEN
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
        respawn: whether a launch system may start it again. Never a real arm, which must come
            back by an operator's decision; never the learner, which resumes by argument.
        withheld: environment variables that it may not read: passwords of what it has no
            connection to.
        enclave: its SROS2 enclave; empty for none.
        needed: whether the run ends where it is not started again.
        again: parameters with which `up`, which knows that a checkpoint in the run's folder is
            this run's, may start a node again that does not respawn. None: not at all.
    """

    name: str
    executable: str
    module: str
    files: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    remappings: Mapping[str, str] = field(default_factory=dict)
    respawn: bool = False
    withheld: tuple[str, ...] = ()
    enclave: str = ""
    needed: bool = True
    again: Mapping[str, Any] | None = None

    @property
    def ros_words(self) -> list[str]:
        """What its command line has after `--ros-args` for its enclave."""
        return ["--enclave", self.enclave] if self.enclave else []


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
    return [_spec("arm", chosen, parameters, respawn=not arm_of(chosen).real)]


def _camera(chosen: Mapping[str, str]) -> list[NodeSpec]:
    from bayes_curiosity_ros.robot.cameras.camera import CAMERAS

    backend = chosen["camera"] or ("topics" if arm_of(chosen).real else "sim")
    parameters = {"backend": backend, "task": chosen["task"], "robot": robot_of(chosen)}
    parameters |= _framed(chosen)
    for argument, parameter in CAMERAS[backend].parameters.items():
        if chosen[argument]:
            parameters[parameter] = chosen[argument]
    return [_watcher("camera", chosen, parameters)]


def _curiosity(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """Only for a bonus that is a node of its own; the others live in the learner."""
    from bayes_curiosity_ros.curiosity.bonus import BONUSES
    from bayes_curiosity_ros.learning.checkpoint import MODELS

    if not BONUSES[chosen["bonus"]].node or _driven(chosen):
        return []
    parameters: dict[str, Any] = {"model": chosen["model"]}
    parameters["model_folder"] = f"{chosen['output']}/{MODELS}"
    if not chosen["model"]:
        parameters |= encoder_parameters(chosen["task"], robot_of(chosen))
    return [_spec("curiosity", chosen, parameters, respawn=True)]  # the learner brings it back


def _detector(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """On a real table somebody has to see where the object is."""
    if not arm_of(chosen).real:
        return []
    return [_watcher("detector", chosen, _watching(chosen))]


def _description(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """For RViz, and for bags: without geometry a recording is hard to look at."""
    if chosen["description"] == "false" and not _recorded(chosen):
        return []
    return [_watcher("description", chosen, _watching(chosen) | _framed(chosen))]


def _drive(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """In the learner's place, for a person who demonstrates."""
    if not _driven(chosen):
        return []
    parameters: dict[str, Any] = {"task": chosen["task"], "dynamics": chosen["dynamics"]}
    parameters |= {"robot": robot_of(chosen), "recorded": _recorded(chosen)}
    parameters |= {"watched": chosen["web"] == "true"}
    parameters |= {"seed": int(chosen["seed"]), "episodes": int(chosen["demonstrations"])}
    simulated = not arm_of(chosen).real
    parameters |= {"operator_confirmed": simulated, "pauses": simulated}
    return [_spec("drive", chosen, parameters)]


def _learner(chosen: Mapping[str, str]) -> list[NodeSpec]:
    if _driven(chosen):
        return []
    names = ("task", "dynamics", "learner", "bonus", "policy", "shown", "model", "judge", "log")
    parameters: dict[str, Any] = {name: chosen[name] for name in names}
    parameters |= {"folder": chosen["output"], "resume": chosen["resume"] == "true"}
    parameters |= {name: int(chosen[name]) for name in ("seed", "timesteps")}
    parameters |= {"robot": robot_of(chosen), "recorded": _recorded(chosen)}
    if chosen["simulated_operator"] == "true":
        parameters["operator_confirmed"] = True
    # With a real arm somebody has to look first.
    again = None if arm_of(chosen).real else {"restarted": True}
    return [replace(_spec("learner", chosen, parameters), again=again)]


def _recorder(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """Before the learner, to hear all of it. One that fails ends no run, unless it is required."""
    if not _recorded(chosen):
        return []
    required = chosen["record"] == "required"
    parameters = {
        "folder": f"{chosen['output']}/bags",
        "task": chosen["task"],
        "seed": int(chosen["seed"]),
        "settings": json.dumps(chosen),
        **({"required": True} if required else {}),
        **_framed(chosen),
    }
    recorder = _watcher("recorder", chosen, parameters)
    return [replace(recorder, respawn=False, needed=True) if required else recorder]


def _monitor(chosen: Mapping[str, str]) -> list[NodeSpec]:
    """The operator's page, in a process that nobody waits for."""
    if chosen["web"] == "false":
        return []
    parameters = {"robot": robot_of(chosen), "web_host": chosen["web_host"]}
    return [_watcher("monitor", chosen, parameters | {"web_port": int(chosen["web_port"])})]


# Started in this order; what runs episodes last, as it waits for the others.
TABLE: tuple[Callable[[Mapping[str, str]], list[NodeSpec]], ...] = (
    _arm,
    _camera,
    _detector,
    _description,
    _curiosity,
    _recorder,
    _monitor,
    _drive,
    _learner,
)


def _spec(
    name: str, chosen: Mapping[str, str], parameters: Mapping[str, Any], respawn: bool = False
) -> NodeSpec:
    module, files = f"{PACKAGE}.nodes.{name}_node", parameter_files(chosen)
    # Of a simulated arm, whose clock is in its namespace; anybody else's is where ROS looks.
    own_clock = "use_sim_time" in parameters and not arm_of(chosen).real
    remappings = {"/clock": "clock"} if own_clock else {}
    withheld = _secrets(chosen, name)
    enclave = f"{chosen['enclave']}/{name}" if chosen["enclave"] else ""
    return NodeSpec(name, name, module, files, parameters, remappings, respawn, withheld, enclave)


def _secrets(chosen: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Environment variables that a node may not read: passwords, and the page's token."""
    from bayes_curiosity_ros.robot.arms.arm import secrets_of_others

    passwords = secrets_of_others(chosen["arm"] if name == "arm" else "")
    return passwords if name == "monitor" else (*passwords, WEB_TOKEN)


def _driven(chosen: Mapping[str, str]) -> bool:
    return int(chosen["demonstrations"]) > 0


def _recorded(chosen: Mapping[str, str]) -> bool:
    return chosen["record"] != "false"


def _watcher(name: str, chosen: Mapping[str, str], parameters: Mapping[str, Any]) -> NodeSpec:
    """A node that a run goes on without, if need be."""
    return replace(_spec(name, chosen, parameters, respawn=True), needed=False)


def _watching(chosen: Mapping[str, str]) -> dict[str, Any]:
    """Parameters of a node that only watches; for any other, time must never stand still."""
    clock = {"use_sim_time": True} if chosen["use_sim_time"] == "true" else {}
    return {"robot": robot_of(chosen), **clock}


def _framed(chosen: Mapping[str, str]) -> dict[str, Any]:
    """What frames begin with, where it is not nothing."""
    prefix = frame_prefix_of(chosen)
    return {"frame_prefix": prefix} if prefix else {}
