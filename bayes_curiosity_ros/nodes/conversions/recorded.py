"""Recorded messages as today's types are: bags outlive a change of their messages."""

from __future__ import annotations

import array
from functools import lru_cache
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message, serialize_message

from bayes_curiosity_ros.bags.decode import decode
from bayes_curiosity_ros.bags.definitions import Definition, find_definition
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.metadata import Topic
from bayes_curiosity_ros.bags.peek import STEP_TYPES, with_run
from bayes_curiosity_ros.nodes.taps import message_class
from bayes_curiosity_ros.runs import NOBODY


def message_of_record(topic: Topic, data: bytes) -> Any:
    """The message; fields that its type did not have yet are as a new message has them.

    Raises:
        BagError: it is damaged.
    """
    kind = message_class(topic.type_name)
    if not is_as_recorded(topic.definition):
        return _adopted(kind, decode(topic, data))
    return deserialize_message(data, kind)


def replayed_bytes(topic: Topic, data: bytes) -> bytes:
    """What is published again: of no run, as a run that is over must not be mistaken for one."""
    if not is_as_recorded(topic.definition):
        data = bytes(serialize_message(message_of_record(topic, data)))
    return with_run(topic.type_name, data, NOBODY) if topic.type_name in STEP_TYPES else data


@lru_cache(maxsize=256)
def is_as_recorded(definition: Definition) -> bool:
    """Whether a type is still what it was when it was recorded, as far as one can know."""
    try:
        installed = find_definition(definition.type_name)
    except BagError:
        return True
    if definition.type_hash and installed.type_hash:
        return definition.type_hash == installed.type_hash
    return definition.text in ("", installed.text)


def _adopted(kind: Any, recorded: Any) -> Any:
    """A message of this type with what is recorded of it."""
    message = kind()
    for name, form in kind.get_fields_and_field_types().items():
        if hasattr(recorded, name):
            setattr(message, name, _value(form, getattr(message, name), getattr(recorded, name)))
    return message


def _value(form: str, blank: Any, recorded: Any) -> Any:
    """A field's value as rclpy takes it."""
    element = form.removeprefix("sequence<").split(">")[0].split("[")[0].split(",")[0]
    if "/" in element:
        package, name = element.split("/")
        kind = message_class(f"{package}/msg/{name}")
        if form == element:
            return _adopted(kind, recorded)
        return [_adopted(kind, each) for each in recorded]
    if isinstance(blank, array.array):
        return array.array(blank.typecode, np.asarray(recorded).tobytes())
    if isinstance(recorded, np.ndarray) and not isinstance(blank, np.ndarray):
        return recorded.tolist()
    return recorded
