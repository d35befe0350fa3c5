"""The words that descriptions of messages are made of, and the checks that they become.

A `Description` goes once through the fields of a type, those of messages in it included. Each has
a bound: its own where one is given, else that of its type. A check of a message of a control step
takes 1 to 3 µs: numbers are looked at together, one by one only where the root of their squares,
which is NaN if one of them is, is beyond the limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import chain
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np

from bayes_curiosity_ros.errors import LengthError, NotFiniteError

Check: TypeAlias = Callable[[Any], None]
Get: TypeAlias = Callable[[Any], Any]

FLOATS = ("float", "double")
# Arrays of more numbers than this are handed to NumPy, as a whole.
FEW = 64
FORM = re.compile(r"(?:sequence<)?(?P<element>[\w/]+)(?:<\d+>)?(?P<many>\[\d+\]|(?:, \d+)?>)?")


@dataclass(frozen=True)
class Within:
    """Numbers that are finite and within ±`limit`, at most `most` of them in an array."""

    limit: float = 1e9
    most: int = 1000


@dataclass(frozen=True)
class Between:
    """One number from `low` to `high`."""

    low: float
    high: float


@dataclass(frozen=True)
class Text:
    """At most `length` characters; in an array at most `most` texts."""

    length: int = 500
    most: int = 100


@dataclass(frozen=True)
class Cut:
    """A sentence for people; what is longer than `length` characters loses the rest."""

    length: int = 500


@dataclass(frozen=True)
class Many:
    """At most `most` elements, whatever numbers they are; messages each with bounds of `each`."""

    most: int
    each: Mapping[str, Bound] = field(default_factory=dict)


@dataclass(frozen=True)
class Inside:
    """Anything: the node's core checks it, and its answer says what is wrong.

    Attributes:
        where: name of the module that does.
    """

    where: str


Bound: TypeAlias = Within | Between | Text | Cut | Many | Inside


class Description:
    """What messages of one type may hold.

    Args:
        kind: type of the messages.
        bounds: bounds of fields that those of their types are not right for, by their names;
            `pose.position` is a field of a message in this one, or all of its fields.
    """

    def __init__(self, kind: Any, bounds: Mapping[str, Bound] | None = None) -> None:
        self.kind = kind
        bounds = dict(bounds or {})
        self.fields = list(_fields(kind, bounds))
        known = " ".join(f"{field.name}." for field in self.fields)
        assert all(f"{name}." in known for name in bounds), f"{kind} lacks one of {bounds}"
        self._checks = list(_checks(self.fields))

    def check(self, message: Any) -> None:
        """Let a message in; sentences that are too long are cut.

        Raises:
            InputError: a field is out of its bounds; the message says which, and the bound.
        """
        for check in self._checks:
            check(message)


@dataclass(frozen=True)
class Field:
    """A field of a message, or of a message in it.

    Attributes:
        name: its name, with those of the messages that it is in.
        form: its type, as ROS writes it.
        bound: what it may hold.
        path: where its value is kept in a message.
    """

    name: str
    form: str
    bound: Bound
    path: str

    @property
    def element(self) -> str:
        """Type of one element; of the field itself, if it is no array."""
        return _parsed(self.form)[0]

    @property
    def many(self) -> bool:
        """Whether it is an array."""
        return _parsed(self.form)[1]


def _parsed(form: str) -> tuple[str, bool]:
    """The type of one element, and whether there are many."""
    found = FORM.fullmatch(form)
    assert found is not None, f"no such type: {form}"
    return found["element"], found["many"] is not None


def _fields(
    kind: Any, bounds: Mapping[str, Bound], outer: str = "", path: str = ""
) -> Iterator[Field]:
    """All fields that are no messages, and those of messages."""
    forms = kind.get_fields_and_field_types()
    # rclpy's properties take several times longer than the slots behind them.
    slots = all(f"_{own}" in kind.__slots__ for own in forms)
    for own, form in forms.items():
        name, at = outer + own, f"{path}_{own}" if slots else path + own
        element, many = _parsed(form)
        if "/" in element and not many:
            given = bounds.get(name)
            inner = {} if given is None else {f"{name}.{each}": given for each in _names(element)}
            yield from _fields(_kind(element), inner | dict(bounds), f"{name}.", f"{at}.")
        else:
            yield Field(name, form, bounds.get(name) or _usual(element, many), at)


def _names(element: str) -> list[str]:
    return list(_kind(element).get_fields_and_field_types())


def _usual(element: str, many: bool) -> Bound:
    """The bound of a type."""
    if "string" in element:
        return Text()
    if element in FLOATS:
        return Within()
    return Many(1000 if many else 1)


def _kind(element: str) -> Any:
    package, name = element.split("/")
    return getattr(import_module(f"{package}.msg"), name)


def _checks(fields: Sequence[Field]) -> Iterator[Check]:
    """The checks of all fields; of numbers and of texts with the same bound one for all."""
    makers: Mapping[tuple[type, bool], Callable[[Sequence[Field], Any], Check]] = {
        (Within, False): _numbers,
        (Within, True): _arrays,
        (Text, False): _texts,
    }
    groups: dict[Any, list[Field]] = {}
    for each in fields:
        if (type(each.bound), each.many) in makers:
            groups.setdefault((each.bound, each.many), []).append(each)
        elif isinstance(each.bound, Between):
            yield _number(each, each.bound)
        elif isinstance(each.bound, Cut):
            yield _cut(each, each.bound.length)
        elif each.many and isinstance(each.bound, Text | Many):
            yield _array(each, each.bound.most, _elements(each, each.bound))
    for (bound, many), group in groups.items():
        yield makers[type(bound), many](group, bound)


def _array(field: Field, most: int, elements: Check) -> Check:
    get = attrgetter(field.path)

    def check(message: Any) -> None:
        values = get(message)
        if len(values) > most:
            raise LengthError(f"{field.name} has {len(values)} elements; at most {most}")
        if len(values):
            elements(values)

    return check


def _elements(field: Field, bound: Text | Many) -> Check:
    """Check of the elements of an array."""
    if isinstance(bound, Text):
        return lambda texts: _require_short(field.name, texts, bound.length)
    if "/" not in field.element:
        return lambda values: None
    description = Description(_kind(field.element), bound.each)

    def check(messages: Any) -> None:
        for message in messages:
            description.check(message)

    return check


def _arrays(fields: Sequence[Field], bound: Within) -> Check:
    get, limit, few = _together(fields), bound.limit, min(bound.most, FEW)
    alone = [_array(each, bound.most, _all_within(each, limit)) for each in fields]

    def check(message: Any) -> None:
        arrays = get(message)
        if max(map(len, arrays)) > few or not math.hypot(*chain(*arrays)) <= limit:
            for each in alone:
                each(message)

    return check


def _all_within(field: Field, limit: float) -> Check:
    return lambda values: _require_within(field.name, values, limit)


def _numbers(fields: Sequence[Field], bound: Within) -> Check:
    get, names, limit = _together(fields), [each.name for each in fields], bound.limit

    def check(message: Any) -> None:
        values = get(message)
        if not math.hypot(*values) <= limit:
            for name, value in zip(names, values, strict=True):
                _require_within(name, [value], limit)

    return check


def _require_within(name: str, values: Sequence[float], limit: float) -> None:
    within = np.abs(np.asarray(values)) <= limit
    if not within.all():
        index = int(np.argmin(within))
        place = f"[{index}]" if len(values) > 1 else ""
        raise NotFiniteError(
            f"{name}{place} = {values[index]}; it must be finite and within ±{limit:g}"
        )


def _number(field: Field, bound: Between) -> Check:
    get = attrgetter(field.path)

    def check(message: Any) -> None:
        if not bound.low <= get(message) <= bound.high:
            raise NotFiniteError(
                f"{field.name} = {get(message)}; it must be in {bound.low} … {bound.high}"
            )

    return check


def _texts(fields: Sequence[Field], bound: Text) -> Check:
    get, names = _together(fields), ", ".join(each.name for each in fields)
    return lambda message: _require_short(names, get(message), bound.length)


def _require_short(name: str, texts: Sequence[str], length: int) -> None:
    longest = max(map(len, texts))
    if longest > length:
        raise LengthError(f"{name}: a text of {longest} characters; at most {length}")


def _cut(field: Field, length: int) -> Check:
    get = attrgetter(field.path)
    owner, _, slot = field.path.rpartition(".")
    owner_of = attrgetter(owner) if owner else lambda message: message

    def check(message: Any) -> None:
        text = get(message)
        if len(text) > length:
            setattr(owner_of(message), slot, f"{text[: length - 1]}…")

    return check


def _together(fields: Sequence[Field]) -> Get:
    """Gets the values of several fields at once."""
    get = attrgetter(*(each.path for each in fields))
    return get if len(fields) > 1 else lambda message: (get(message),)
