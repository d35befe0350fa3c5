"""YAML into frozen dataclasses: nothing unknown, nothing missing, nothing of another type."""

from __future__ import annotations

import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml

from bayes_curiosity_ros.errors import ConfigError, unknown_name

T = TypeVar("T")
SECRET = "secret"


def secret() -> Any:
    """A field of a dataclass for a password: empty by default, and in no representation."""
    return dataclasses.field(default="", repr=False, metadata={SECRET: True})


class PlainLoader(yaml.SafeLoader):
    """Reads what JSON has too; what looks like a date is a text, as it is for ROS."""


PlainLoader.yaml_implicit_resolvers = {
    first: [pair for pair in pairs if pair[0] != "tag:yaml.org,2002:timestamp"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> Mapping[str, Any]:
    """The mapping in a YAML file, of plain values.

    Raises:
        ConfigError: it is not text, not YAML, not a mapping, or has values of another kind.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), PlainLoader)
        json.dumps(content)  # objects and loops, which YAML can spell
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not YAML of plain values ({_one_line(error)})") from error
    if not isinstance(content, Mapping):
        raise ConfigError(f"{path}: expected a mapping of settings, found {content!s:.200}")
    return content


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def build(cls: type[T], values: Mapping[str, Any], where: str) -> T:
    """An instance of a dataclass from plain values; nested mappings become nested dataclasses.

    Args:
        where: the place to name in an error, such as "jaco.yaml: arm".

    Raises:
        ConfigError: a key is unknown or missing, or a value has another type.
    """
    if not isinstance(values, Mapping):
        raise ConfigError(f"{where}: expected a mapping of settings, found {values!r}")
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    for key in values:
        if key not in fields:
            raise unknown_name(f"setting in {where}:", key, fields)
    missing = [name for name, field in fields.items() if _required(field) and name not in values]
    if missing:
        raise ConfigError(f"{where}: missing {', '.join(missing)}")
    converted = {k: _convert(hints[k], v, f"{where}.{k}") for k, v in values.items()}
    return cls(**converted)


def adjusted(usual: T, own: T | Mapping[str, Any] | None) -> T:
    """Settings as given, or the usual ones: with what a mapping has changed, or as they are.

    Raises:
        ConfigError: a key of the mapping is unknown, or a value has another type.
    """
    if isinstance(own, Mapping):
        return build(type(usual), {**vars(usual), **own}, type(usual).__name__)
    return usual if own is None else own


def _required(field: dataclasses.Field) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing


def _convert(hint: Any, value: Any, where: str) -> Any:
    if isinstance(hint, types.UnionType):
        if value is None:
            return None
        hint = next(part for part in typing.get_args(hint) if part is not types.NoneType)
    if dataclasses.is_dataclass(hint):
        return build(typing.cast(type, hint), value, where)
    if typing.get_origin(hint) is tuple:
        return _convert_tuple(typing.get_args(hint), value, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ConfigError(f"{where} = {value!r}; expected {hint.__name__}")
    return value


def _convert_tuple(parts: tuple[Any, ...], value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{where} = {value!r}; expected a list")
    if parts[-1] is Ellipsis:
        parts = (parts[0],) * len(value)
    if len(parts) != len(value):
        raise ConfigError(f"{where} = {value!r}; expected {len(parts)} values")
    return tuple(_convert(part, item, where) for part, item in zip(parts, value, strict=True))


def require_positive(owner: object, *names: str) -> None:
    """Check that these attributes, numbers or tuples of them, are finite and above zero.

    Raises:
        ConfigError: one is not.
    """
    for name in names:
        _require(owner, name, lambda value: value > 0, "> 0")


def require_nonnegative(owner: object, *names: str) -> None:
    """Check that these attributes, numbers or tuples of them, are finite and at least zero.

    Raises:
        ConfigError: one is not.
    """
    for name in names:
        _require(owner, name, lambda value: value >= 0, "≥ 0")


def require_finite(owner: object, *names: str) -> None:
    """Check that these attributes, numbers or tuples of them, are finite.

    Raises:
        ConfigError: one is not.
    """
    for name in names:
        _require(owner, name, lambda value: True, "a finite number")


def _require(owner: object, name: str, holds: typing.Callable[[float], bool], bound: str) -> None:
    value = getattr(owner, name)
    for number in value if isinstance(value, tuple) else (value,):
        if not math.isfinite(number) or not holds(number):
            raise ConfigError(f"{type(owner).__name__}.{name} = {value}; must be {bound}")
