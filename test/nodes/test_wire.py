"""Messages are read and written as rclpy reads and writes them."""

import math
import sys

import pytest
from builtin_interfaces.msg import Time
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import Bool, String

from bayes_curiosity_interfaces.msg import Action, ArmState, IntrinsicReward, Observation, Status
from bayes_curiosity_ros.nodes import wire
from bayes_curiosity_ros.nodes.wire import BrokenMessageError, fresh, read, write

KINDS = (Action, ArmState, IntrinsicReward, Observation)
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=9)
FLOAT = st.floats(allow_nan=False)
ELEMENTS = {
    "boolean": st.booleans(),
    "double": FLOAT,
    "int32": st.integers(-(2**31), 2**31 - 1),
    "string": TEXT,
    **{f"uint{bits}": st.integers(0, 2**bits - 1) for bits in (8, 16, 32, 64)},
}


def messages(kind):
    """Messages of this kind with anything in them."""
    fields = kind.get_fields_and_field_types()
    return st.fixed_dictionaries({name: values(form) for name, form in fields.items()}).map(
        lambda chosen: kind(**chosen)
    )


def values(form):
    if "/" in form:
        return messages(wire._kind(form))
    element = form.removeprefix("sequence<").removesuffix(">")
    return ELEMENTS[form] if element == form else st.lists(ELEMENTS[element], max_size=5)


@settings(deadline=None)
@given(st.one_of(*map(messages, KINDS)))
def test_messages_come_through_either_way(message):
    kind, ours, theirs = type(message), write(message), serialize_message(message)
    assert len(ours) <= len(theirs)  # Fast DDS leaves a few bytes behind a message
    assert deserialize_message(ours, kind) == message
    assert read(kind, ours) == read(kind, theirs) == deserialize_message(theirs, kind)


@settings(deadline=None)
@given(messages(ArmState), st.floats(0.1, 0.9))
def test_bytes_that_are_cut_off_are_no_message(message, share):
    data = write(message)
    data = data[: int(share * len(data))]
    with pytest.raises(RuntimeError):
        deserialize_message(data, ArmState)
    with pytest.raises(BrokenMessageError, match=f"{len(data)} bytes are no ArmState"):
        read(ArmState, data)


@pytest.mark.parametrize("kind", [*KINDS, String, Bool, Status, Time])
def test_a_fresh_message_is_as_its_constructor_makes_it(kind):
    message = fresh(kind)
    assert message == kind()
    assert repr(message) == repr(kind())


@pytest.mark.parametrize("kind", KINDS)
def test_fresh_messages_share_nothing_that_has_fields(kind):
    first, second = fresh(kind), fresh(kind)
    first.header.stamp.sec, first.header.frame_id = 5, "world"
    assert second == kind()


def test_names_that_change_are_read_and_written_as_they_are():
    for names in (["a", "b"], [], ["a", "longer"], ["a", "b"], ["a"]):
        message = ArmState(joint_names=names, positions=[math.pi])
        assert read(ArmState, serialize_message(message)) == message
        assert deserialize_message(write(message), ArmState) == message


def test_a_fields_type_is_checked():
    message = Action()
    message.step = "three"
    with pytest.raises(Exception, match="integer"):
        write(message)


def test_rclpy_does_it_where_messages_are_made_otherwise(monkeypatch):
    monkeypatch.setattr(sys, "byteorder", "big")
    wire._plan.cache_clear()
    message = Action(episode=3, joint_deltas=[1.0, 2.0])
    assert wire._plan(Action) is None
    assert read(Action, write(message)) == message
    assert fresh(Action) == Action()
    wire._plan.cache_clear()


def test_another_byte_order_is_left_to_rclpy():
    big_endian = b"\x00\x00\x00\x00" + b"\x00\x00\x00\x03" + b"ab\x00"
    assert read(String, big_endian).data == "ab"
