"""Parameters that the table works out, and the user's own file beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
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


def check_params_file(path: str, decided: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that a user's parameter file sets nothing that arguments decide.

    ROS has rules for who wins, by the order in which keys first appear; `dry_run:=true` must not
    depend on them.

    Args:
        path: path of the file.
        decided: parameters that arguments decide, by node.

    Raises:
        ConfigError: no such file, none of ROS parameters, or one that sets such a parameter.
    """
    if not Path(path).is_file():
        raise ConfigError(f"params_file {path} does not exist; give another, or leave it out")
    for node, name in _parameters_in(path):
        for known, parameters in decided.items():
            if node in (known, EVERY_NODE) and name in parameters:
                raise ConfigError(
                    f"{path} sets {name} of node {known}, which an argument decides; remove it "
                    "there and give the argument"
                )


def _parameters_in(path: str) -> Iterator[tuple[str, str]]:
    """Node (the last part of its name) and dotted name of every parameter in a file."""
    for key, content in read_yaml(Path(path)).items():
        for node, values in _nodes_in(str(key), content, path):
            for name in _dotted(values):
                yield node.rpartition("/")[2], name


def _nodes_in(key: str, content: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Nodes and their parameters; a namespace may be a level of its own."""
    if not isinstance(content, Mapping) or not content:
        raise ConfigError(f"{path}: {key} has no ros__parameters; see config/bringup/common.yaml")
    for name, values in content.items():
        if name == "ros__parameters":
            yield key, values or {}
        else:
            yield from _nodes_in(f"{key}/{name}", values, path)


def _dotted(values: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _dotted(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"
