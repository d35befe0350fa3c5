"""From serialised messages to Python objects, by the definitions that the bag itself carries."""

from __future__ import annotations

import struct
from typing import Any

from rosbags.serde import SerdeError
from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore

from bayes_curiosity_ros.episodes.definitions import find_definition
from bayes_curiosity_ros.episodes.errors import BagError
from bayes_curiosity_ros.episodes.metadata import Topic


class Decoder:
    """Decodes messages of a bag's topics; arrays of numbers become NumPy arrays."""

    def __init__(self) -> None:
        self._store = get_typestore(Stores.EMPTY)
        self._known: set[str] = set()

    def decode(self, topic: Topic, data: bytes) -> Any:
        """The message.

        Raises:
            BagError: its type is unknown, or the bytes are not one.
        """
        if topic.type_name not in self._known:
            self._learn(topic)
        # Not `deserialize_cdr`: it refuses the few bytes that Fast DDS leaves behind a message.
        kind = self._store.get_msgdef(topic.type_name)
        decode = kind.deserialize_cdr_le if data[1:2] == b"\x01" else kind.deserialize_cdr_be
        try:
            message, end = decode(data[4:], 0, kind.cls, self._store)
        except (SerdeError, struct.error, ValueError, IndexError) as error:
            raise BagError(f"a message of {topic.name} is damaged: {error}") from error
        if end > len(data) - 4:
            raise BagError(f"a message of {topic.name} is cut off: {len(data)} bytes")
        return message

    def _learn(self, topic: Topic) -> None:
        text = topic.definition.text or find_definition(topic.type_name).text
        try:
            self._store.register(get_types_from_msg(text, topic.type_name))
        except (TypesysError, SyntaxError) as error:
            raise BagError(f"{topic.type_name} of {topic.name}: {error}") from error
        self._known.add(topic.type_name)
