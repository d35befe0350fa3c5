"""ROS parameters declared from the dataclasses that the core uses."""

from __future__ import annotations

import dataclasses
import re
import typing
from typing import Any, TypeVar

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node

T = TypeVar("T")


def declare(node: Node, default: T, prefix: str = "") -> T:
    """Declare a parameter for every field of a dataclass and return what was set.

    Nested dataclasses become dotted names. None is written as an empty array or string.

    Args:
        node: where to declare.
        default: an instance; its values are the defaults.
        prefix: what the parameters' names begin with, its dot included.
    """
    descriptions = attribute_descriptions(type(default))
    hints = typing.get_type_hints(type(default))
    values: dict[str, Any] = {}
    for field in dataclasses.fields(default):  # type: ignore[arg-type]
        name, value = prefix + field.name, getattr(default, field.name)
        if dataclasses.is_dataclass(value):
            values[field.name] = declare(node, value, f"{name}.")
            continue
        descriptor = ParameterDescriptor(
            description=descriptions.get(field.name, ""),
            read_only=True,
            dynamic_typing=value is None or value == (),
        )
        set_value = node.declare_parameter(name, _as_parameter(value), descriptor).value
        values[field.name] = _as_field(set_value, hints[field.name])
    return type(default)(**values)


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
