"""From serialised messages to Python objects, by the definitions that the bag itself carries."""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

from rosbags.serde import SerdeError
from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore

from bayes_curiosity_ros.bags.definitions import find_definition
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.metadata import Topic

_ENCAPSULATION = 4


def decode(topic: Topic, data: bytes) -> Any:
    """The message; its arrays of numbers are NumPy arrays.

    Raises:
        BagError: its type is unknown, or the bytes are not one.
    """
    store = _store(topic.definition.text, topic.type_name)
    # Not `deserialize_cdr`: it refuses the few bytes that Fast DDS leaves behind a message.
    kind = store.get_msgdef(topic.type_name)
    read = kind.deserialize_cdr_le if data[1:2] == b"\x01" else kind.deserialize_cdr_be
    try:
        message, end = read(data[_ENCAPSULATION:], 0, kind.cls, store)
    except (SerdeError, struct.error, ValueError, IndexError) as error:
        raise BagError(f"a message of {topic.name} is damaged: {error}") from error
    if end > len(data) - _ENCAPSULATION:
        raise BagError(f"a message of {topic.name} is cut off: {len(data)} bytes")
    return message


@lru_cache(maxsize=256)
def _store(text: str, type_name: str) -> Any:
    """A store for this type alone: compiling it takes longer than decoding a thousand messages."""
    text = text or find_definition(type_name).text
    store = get_typestore(Stores.EMPTY)
    try:
        store.register(get_types_from_msg(text, type_name))
    except (TypesysError, SyntaxError) as error:
        raise BagError(f"the definition of {type_name} cannot be read: {error}") from error
    return store
