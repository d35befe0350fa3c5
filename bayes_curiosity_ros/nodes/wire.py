"""Messages from and to the bytes that travel, for topics that every control step waits for.

To make a message, rclpy calls the constructors of all that is in it, twice, and sets each field by
a property: 10 to 36 µs for one of a step, several times that with cold caches. Here functions that
are written once per type, as `dataclasses` does, take a quarter of that, for equal messages and
bytes. What has no fields, as empty arrays and names, is shared between messages: replace it, never
change it in place.
"""

from __future__ import annotations

import array
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib import import_module
from itertools import groupby
from operator import attrgetter
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.subscription import Subscription

from bayes_curiosity_ros.errors import InputError

HEADER = b"\x00\x01\x00\x00"  # of bytes in plain CDR, little endian
LENGTH = struct.Struct("<I")
NUMBERS = {
    "boolean": "?",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "int32": "i",
    "double": "d",
}


class BrokenMessageError(InputError):
    """Bytes that are no message of their type."""


class WirePublisher(Publisher):
    """A publisher for `create_publisher(..., publisher_class=WirePublisher)`."""

    def publish(self, msg: Any) -> None:
        super().publish(msg if isinstance(msg, bytes) else write(msg))


class Taking:
    """Takes the bytes of messages to a callback, for `create_subscription(..., raw=True)`.

    Args:
        kind: type of the messages.
        callback: called with each message.

    Attributes:
        kind: as given.
        callback: as given.
    """

    def __init__(self, kind: type, callback: Callable[[Any], None]) -> None:
        self.kind, self.callback = kind, callback

    def __call__(self, data: bytes) -> None:
        self.callback(read(self.kind, data))


class NeverExecuted(CallbackGroup):
    """Keeps its subscriptions out of the executor's wait set."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        pass


def subscribe_aside(node: Node, kind: type, topic: str, qos: QoSProfile) -> Subscription:
    """A subscription that no executor waits for; `unserved` has what came to it."""
    return node.create_subscription(
        kind,
        topic,
        lambda _: None,
        qos,
        callback_group=NeverExecuted(),
        event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
        raw=True,
    )


def unserved(kind: type, subscription: Subscription) -> Iterator[bytes]:
    """Messages of this type that came to a subscription, and no callback took yet, as bytes."""
    handle = subscription.handle
    with handle:
        while (taken := handle.take_message(kind, True)) is not None:
            yield taken[0]


def fresh(kind: type) -> Any:
    """What `kind()` gives."""
    plan = _plan(kind)
    return kind() if plan is None else plan.build(*plan.blank)


def write(message: Any) -> bytes:
    """What `serialize_message` gives."""
    plan = _plan(message.__class__)
    return serialize_message(message) if plan is None else HEADER + plan.write(message)


def read(kind: type, data: bytes) -> Any:
    """What `deserialize_message` gives; whatever is not as expected is left to that.

    Raises:
        BrokenMessageError: the bytes are no such message.
    """
    plan = _plan(kind)
    if plan is not None and data[:2] == HEADER[:2]:
        try:
            return plan.read(data[len(HEADER) :])
        except (struct.error, ValueError):
            pass
    try:
        return deserialize_message(data, kind)
    except (RuntimeError, MemoryError) as error:
        raise BrokenMessageError(f"{len(data)} bytes are no {kind.__name__}: {error}") from error


class _Array:
    """A sequence of numbers: a length, then as many."""

    def __init__(self, code: str) -> None:
        self._code, self._size = code, struct.calcsize(code)

    def read(self, body: bytes, offset: int) -> tuple[array.array[Any], int]:
        count, offset = _length(body, offset)
        if count:
            offset += -offset % self._size
        end = offset + count * self._size
        return array.array(self._code, _slice(body, offset, end)), end

    def write(self, body: bytearray, numbers: array.array[Any]) -> None:
        body += bytes(-len(body) % 4) + LENGTH.pack(len(numbers))
        if numbers:
            body += bytes(-len(body) % self._size) + numbers


class _Text:
    """A string: a length, its bytes, a zero."""

    def read(self, body: bytes, offset: int) -> tuple[str, int]:
        count, offset = _length(body, offset)
        return _slice(body, offset, offset + count)[:-1].decode(), offset + count

    def write(self, body: bytearray, text: str) -> None:
        data = text.encode()
        body += bytes(-len(body) % 4) + LENGTH.pack(len(data) + 1) + data + b"\x00"


class _Texts:
    """A sequence of strings; mostly the same ones again, as names of joints are."""

    def __init__(self) -> None:
        self._text = _Text()
        self._known: tuple[str, ...] = ()
        self._bytes = LENGTH.pack(0)

    def read(self, body: bytes, offset: int) -> tuple[list[str], int]:
        offset += -offset % 4
        if not body.startswith(self._bytes, offset):
            self._learn(body, offset)
        return list(self._known), offset + len(self._bytes)

    def write(self, body: bytearray, texts: Sequence[str]) -> None:
        if tuple(texts) != self._known:
            written = bytearray(LENGTH.pack(len(texts)))
            for text in texts:
                self._text.write(written, text)
            self._known, self._bytes = tuple(texts), bytes(written)
        body += bytes(-len(body) % 4) + self._bytes

    def _learn(self, body: bytes, start: int) -> None:
        count, offset = _length(body, start)
        texts: list[str] = []
        for _ in range(count):
            text, offset = self._text.read(body, offset)
            texts.append(text)
        self._known, self._bytes = tuple(texts), body[start:offset]


def _length(body: bytes, offset: int) -> tuple[int, int]:
    """A length, and where it ends."""
    offset += -offset % 4
    return LENGTH.unpack_from(body, offset)[0], offset + 4


def _slice(body: bytes, start: int, end: int) -> bytes:
    if end > len(body):
        raise ValueError(f"{len(body)} bytes; at least {end} were announced")
    return body[start:end]


def _structs(codes: str) -> list[struct.Struct]:
    """Numbers next to each other, by where they begin: each is aligned to its size."""
    found = []
    for offset in range(8):
        form = "<"
        for code in codes:
            gap = -offset % struct.calcsize(code)
            form += f"{gap}x{code}"
            offset += gap + struct.calcsize(code)
        found.append(struct.Struct(form))
    return found


class _Plan:
    """The functions that make, read and write messages of one type.

    Attributes:
        blank: values of all that is in a message, in order, as its constructor leaves them.
        build: makes a message of such values.
        read: makes a message of bytes.
        write: makes bytes of a message.
    """

    def __init__(self, kind: Any) -> None:
        leaves = dict(_leaves(kind))
        self.blank = [attrgetter(path)(kind()) for path in leaves]
        self._known: dict[str, Any] = {"new": object.__new__}
        names = ", ".join(map(_name, leaves))
        self.build = self._defined("build", names, [*self._building(kind, "made", ""), "made"])
        parts = [self._part(leaves, paths) for paths in _neighbours(leaves)]
        reading, writing = ([line for part in parts for line in part[i]] for i in (0, 1))
        self.read = self._defined("read", "body", ["at = 0", *reading, f"build({names})"])
        self.write = self._defined("write", "made", ["body = bytearray()", *writing, "body"])

    def _building(self, kind: Any, made: str, path: str) -> Iterator[str]:
        """Lines that make a message without its constructor, and all messages in it."""
        fields = kind.get_fields_and_field_types()
        yield f"{made} = new({self._call(kind)})"
        for slot in kind.__slots__:
            if slot[1:] not in fields:
                yield f"{made}.{slot} = {self._call(getattr(kind(), slot))}"
            elif "/" in fields[slot[1:]]:
                nested = f"{made}{slot}"
                yield from self._building(_kind(fields[slot[1:]]), nested, f"{path}{slot}.")
                yield f"{made}.{slot} = {nested}"
            else:
                yield f"{made}.{slot} = {_name(path + slot)}"

    def _part(self, leaves: dict[str, str], paths: list[str]) -> tuple[list[str], list[str]]:
        """Lines that read neighbours, and lines that write them."""
        names, values = ", ".join(map(_name, paths)), ", ".join(f"made.{each}" for each in paths)
        if leaves[paths[0]] in NUMBERS:
            structs = self._call(_structs("".join(NUMBERS[leaves[path]] for path in paths)))
            reading = f"form = {structs}[at % 8]; {names}, = form.unpack_from(body, at)"
            return (
                [reading, "at += form.size"],
                [f"body += {structs}[len(body) % 8].pack({values})"],
            )
        part = self._call(_other(leaves[paths[0]]))
        return [f"{names}, at = {part}.read(body, at)"], [f"{part}.write(body, {values})"]

    def _call(self, value: Any) -> str:
        """The name by which functions know a value."""
        name = f"known_{len(self._known)}"
        self._known[name] = value
        return name

    def _defined(self, name: str, arguments: str, lines: list[str]) -> Callable[..., Any]:
        """A function of these lines, which returns the last."""
        body = "\n    ".join([*lines[:-1], f"return {lines[-1]}"])
        exec(f"def {name}({arguments}):\n    {body}", self._known)
        function: Callable[..., Any] = self._known[name]
        return function


@cache
def _plan(kind: Any) -> _Plan | None:
    """None where messages are not made as those that we know."""
    slots = {f"_{name}" for name in kind.get_fields_and_field_types()}
    known = sys.byteorder == "little" and slots <= set(kind.__slots__)
    return _Plan(kind) if known and all(map(_is_known, _forms(kind))) else None


def _forms(kind: Any) -> Iterator[str]:
    """Types of all that is in a message, as ROS writes them; arrays of messages are one."""
    for form in kind.get_fields_and_field_types().values():
        yield from _forms(_kind(form)) if "/" in form and "<" not in form else [form]


def _is_known(form: str) -> bool:
    return form.removeprefix("sequence<").removesuffix(">") in (*NUMBERS, "string")


def _leaves(kind: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Path and type of all that is in a message and has no fields."""
    for name, form in kind.get_fields_and_field_types().items():
        if "/" in form:
            yield from _leaves(_kind(form), f"{path}_{name}.")
        else:
            yield f"{path}_{name}", form


def _neighbours(leaves: dict[str, str]) -> Iterator[list[str]]:
    """Paths of numbers that follow each other, together; of all else, alone."""
    for numbers, group in groupby(leaves, lambda path: leaves[path] in NUMBERS):
        paths = list(group)
        yield from [paths] if numbers else [[path] for path in paths]


def _name(path: str) -> str:
    return path.replace(".", "")


def _kind(form: str) -> Any:
    package, name = form.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def _other(form: str) -> _Array | _Text | _Texts:
    element = form.removeprefix("sequence<").removesuffix(">")
    if element == "string":
        return _Text() if form == element else _Texts()
    return _Array(NUMBERS[element])
