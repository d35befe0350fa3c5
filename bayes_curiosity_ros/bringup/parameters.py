"""Parameters that the table works out, and the user's own file beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from bayes_curiosity_ros.configuration.settings import read_yaml
from bayes_curiosity_ros.errors import ConfigError

EVERY_NODE = "**"


def encoder_parameters(task: str, robot: str) -> dict[str, Any]:
    """Parameters of a curiosity node whose encoder takes what a task gives.

    Args:
        task: name of an arm's task.
        robot: file in config/robots/, or a path.
    """
    from bayes_curiosity_ros.learning.perception import encoder_config
    from bayes_curiosity_ros.robot.config import RobotConfig
    from bayes_curiosity_ros.tasks.arm.names import named_arm_task

    config = encoder_config(named_arm_task(task, RobotConfig.load(robot), threads=1))
    parameters: dict[str, Any] = {"encoder.vector_size": config.vector_size}
    default = type(config)(config.vector_size)
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if value != getattr(default, field.name):
            parameters[f"encoder.{field.name}"] = (
                list(value) if isinstance(value, tuple) else value
            )
    return parameters


def arm_parameters(path: str) -> dict[str, Any]:
    """What a user's parameter file sets of the arm node, by dotted names; nothing without a file.

    Raises:
        ConfigError: no such file, or none of ROS parameters.
    """
    if not path:
        return {}
    _require_file(path)
    found = _parameters_in(path)
    return {name: value for node, name, value in found if node in ("arm", EVERY_NODE)}


def check_params_file(
    path: str, decided: Mapping[str, Mapping[str, Any]], defaults: Collection[str] = ()
) -> None:
    """Check that a user's parameter file sets nothing else than what arguments decide.

    ROS has rules for who wins, by the order in which keys first appear; `dry_run:=true` must not
    depend on them.

    Args:
        path: path of the file.
        decided: parameters that arguments decide, by node.
        defaults: those for which a file that names its node may have another value, which counts
            where the argument is left out.

    Raises:
        ConfigError: no such file, none of ROS parameters, or one that sets such a parameter to
            something else.
    """
    _require_file(path)
    for node, name, value in _parameters_in(path):
        for known, parameters in decided.items():
            allowed = name not in parameters or parameters[name] == value
            allowed |= node == known and name in defaults
            if node in (known, EVERY_NODE) and not allowed:
                raise ConfigError(
                    f"{path} sets {name} of node {known}, which an argument decides; remove it "
                    "there and give the argument"
                )


def _require_file(path: str) -> None:
    if not Path(path).is_file():
        raise ConfigError(f"params_file {path} does not exist; give another, or leave it out")


def _parameters_in(path: str) -> Iterator[tuple[str, str, Any]]:
    """Node (the last part of its name), dotted name and value of every parameter in a file."""
    for key, content in read_yaml(Path(path)).items():
        for node, values in _nodes_in(str(key), content, path):
            for name, value in _dotted(values):
                yield node.rpartition("/")[2], name, value


def _nodes_in(key: str, content: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Nodes and their parameters; a namespace may be a level of its own."""
    if not isinstance(content, Mapping) or not content:
        raise ConfigError(f"{path}: {key} has no ros__parameters; see config/bringup/common.yaml")
    for name, values in content.items():
        if name == "ros__parameters":
            if not isinstance(values, Mapping | None):
                raise ConfigError(f"{path}: ros__parameters of {key} is {values!r}, no mapping")
            yield key, values or {}
        else:
            yield from _nodes_in(f"{key}/{name}", values, path)


def _dotted(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
