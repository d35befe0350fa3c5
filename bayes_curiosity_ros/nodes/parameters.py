"""ROS parameters declared from the dataclasses that the core uses."""

from __future__ import annotations

import dataclasses
import re
import sys
import typing
from typing import Any, TypeVar

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.exceptions import ParameterException
from rclpy.node import Node

from bayes_curiosity_ros.configuration.settings import SECRET
from bayes_curiosity_ros.errors import ConfigError

T = TypeVar("T")


def declare(node: Node, default: T, prefix: str = "") -> T:
    """Declare a parameter for every field of a dataclass and return what was set.

    Nested dataclasses become dotted names. None is written as an empty array or string. A secret
    is taken and not declared: nobody can ask for it, and no event tells of it.

    Args:
        node: where to declare.
        default: an instance; its values are the defaults.
        prefix: what the parameters' names begin with, its dot included.

    Raises:
        ConfigError: a parameter was set to a value of another type or out of bounds, or a secret
            stands on the command line or is no text.
    """
    descriptions = attribute_descriptions(type(default))
    hints = typing.get_type_hints(type(default))
    values: dict[str, Any] = {}
    for field in dataclasses.fields(default):  # type: ignore[arg-type]
        name, value = prefix + field.name, getattr(default, field.name)
        if dataclasses.is_dataclass(value):
            values[field.name] = declare(node, value, f"{name}.")
            continue
        if field.metadata.get(SECRET):
            values[field.name] = _secret(node, name) or value
            continue
        descriptor = ParameterDescriptor(
            description=descriptions.get(field.name, ""),
            read_only=True,
            dynamic_typing=value is None or value == (),
        )
        set_value = _declared(node, name, _as_parameter(value), descriptor)
        values[field.name] = _as_field(set_value, hints[field.name])
    return type(default)(**values)


def _declared(node: Node, name: str, value: Any, descriptor: ParameterDescriptor) -> Any:
    try:
        return node.declare_parameter(name, value, descriptor).value
    except ParameterException as error:  # 1 where 1.0 is meant, for instance
        raise ConfigError(" ".join(str(error).split())) from error


def _secret(node: Node, name: str) -> str:
    """What a parameter file says of a parameter that is never declared; empty if nothing."""
    if any(f"{name}:=" in word for word in sys.argv):
        raise ConfigError(
            f"{name} is on the command line, which every user of this machine can read: change "
            "the password, and give it by environment variable or parameter file"
        )
    given = node._parameter_overrides.pop(name, None)
    if given is not None and not isinstance(given.value, str):
        raise ConfigError(f"{name} is not text; put it in quotes")
    return "" if given is None else given.value


def attribute_descriptions(cls: type) -> dict[str, str]:
    """The `Attributes:` section of a Google-style docstring, name by name."""
    section = (cls.__doc__ or "").partition("Attributes:\n")[2]
    entries = re.findall(r"^ {8}(\w+): (.*(?:\n {12}.*)*)", section, flags=re.MULTILINE)
    return {name: re.sub(r"\s+", " ", text) for name, text in entries}


def _as_parameter(value: Any) -> Any:
    if value is None:
        return []
    return list(value) if isinstance(value, tuple) else value


def _as_field(value: Any, hint: Any) -> Any:
    is_sequence = not isinstance(value, str) and hasattr(value, "__len__")
    if not is_sequence:
        return value
    if len(value) == 0 and type(None) in typing.get_args(hint):
        return None
    return tuple(value)
