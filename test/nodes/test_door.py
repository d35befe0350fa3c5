"""What comes to a node is as described, or stays out; what a callback raises ends nothing."""

import asyncio
import contextlib
import importlib
import inspect
import math
import timeit
from pathlib import Path

import numpy as np
import pytest
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo
from std_msgs.msg import String
from std_srvs.srv import Trigger

import bayes_curiosity_ros.nodes
from bayes_curiosity_interfaces.msg import ArmState, IntrinsicReward, ObservationBatch, Status
from bayes_curiosity_interfaces.srv import Evaluate, ModelFile
from bayes_curiosity_ros.bags.demonstrate import Demonstrator, MotionConfig
from bayes_curiosity_ros.errors import ImageError, InputError, NotFiniteError
from bayes_curiosity_ros.nodes.bounds import FLOATS, Between, Cut, Text, Within
from bayes_curiosity_ros.nodes.conversions.observations import observations_of_batch
from bayes_curiosity_ros.nodes.descriptions import TABLE, checked, description_of
from bayes_curiosity_ros.nodes.door import CheckedInputs, Door
from bayes_curiosity_ros.nodes.status import LONGEST, status_of
from support.hostile import broken, hostile, set_field

MODULES = sorted(Path(bayes_curiosity_ros.nodes.__file__).parent.glob("*_node.py"))
FIELDS = [
    pytest.param(kind, field, id=f"{kind.__name__}.{field.name}")
    for kind in TABLE
    for field in description_of(kind).fields
]
TOO_MUCH = {Within: math.nan, Between: 1e9, Text: "x" * 200_000}


@pytest.fixture
def said():
    return []


@pytest.fixture
def door(said):
    return Door(said.append, said.append)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_every_node_has_its_inputs_behind_a_door(path):
    module = importlib.import_module(f"bayes_curiosity_ros.nodes.{path.stem}")
    classes = [each for _, each in inspect.getmembers(module, inspect.isclass)]
    nodes = [
        each for each in classes if issubclass(each, Node) and each.__module__ == module.__name__
    ]
    assert nodes
    assert all(issubclass(each, CheckedInputs) for each in nodes)


def test_what_nobody_has_described_comes_to_no_node(door):
    with pytest.raises(TypeError, match="Parameter has no description"):
        door.checking("words", type("Parameter", (), {}), print)


@pytest.mark.parametrize("kind", TABLE)
def test_a_message_as_its_constructor_makes_it_is_let_in(kind):
    assert checked(kind()) == kind()


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_no_field_is_let_in_beyond_its_bound(kind, field):
    message, kept = kind(), type(field.bound) in TOO_MUCH
    value = TOO_MUCH.get(type(field.bound), "x" * 5_000_000)
    if kept or isinstance(field.bound, Cut):
        many = field.many and (np.full(9, value) if "[" in field.form else [value])
        set_field(message, field.name, many if field.many else value)
    if kept:
        with pytest.raises(InputError, match=field.name.replace(".", r"\.")):
            checked(message)
    elif isinstance(field.bound, Cut):
        checked(message)
        assert len(str(message)) < 2000


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_every_number_and_text_has_a_bound_or_a_place_that_checks_it(kind, field):
    number = field.element in FLOATS and not isinstance(field.bound, Within | Between)
    text = field.element == "string" and not isinstance(field.bound, Text | Cut)
    if kind is CameraInfo and number:
        assert field.name in ("d", "r", "p")  # that nobody reads
    elif number or text:
        assert "." in field.bound.where


@pytest.mark.parametrize("kind", TABLE)
def test_whatever_is_in_a_message_it_is_let_in_or_an_input_error(kind):
    rng = np.random.default_rng(0)
    for _ in range(50):
        with contextlib.suppress(InputError):
            checked(hostile(kind, rng))


@pytest.mark.parametrize("kind", TABLE)
def test_broken_bytes_are_rejected_and_counted(kind, door):
    rng = np.random.default_rng(0)
    every = [data for _ in range(20) for data in broken(kind(), rng)]
    let_in = [door.let_in("here", kind, data) for data in every]
    assert not door.failed
    assert door.rejected["here"] == sum(message is None for message in let_in)
    if kind().get_fields_and_field_types():
        assert door.rejected["here"] >= 20


def test_an_array_of_many_numbers_is_looked_at_whole():
    answer = Evaluate.Response(reward=[1e8] * 5000)
    assert checked(answer) is answer
    answer.reward[4999] = math.inf
    with pytest.raises(NotFiniteError, match=r"reward\[4999\] = inf"):
        checked(answer)


def fail(*arguments):
    raise KeyError("nobody thought of it")


async def fail_later(*arguments):
    fail()


def test_what_a_callback_raises_is_told_whole_once_and_then_counted(door, said):
    called = door.checking("words", String, fail)
    for _ in range(5):
        called(String(data="hello"))
    door.guarded("look", fail)()
    assert door.failed == {"words": 5, "look": 1}
    traces = [words for words in said if "Traceback" in words]
    assert len(traces) == 2
    assert len(said) == 3  # once more for the topic, in one line
    assert door.counts == {"failed words": 5, "failed look": 1}


def test_what_means_the_end_is_not_held_up(door):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        door.guarded("look", interrupted)()


@pytest.mark.parametrize("call", [fail, fail_later])
def test_a_service_that_fails_is_answered(door, call):
    async def asked(kind):
        answer = door.answering("evaluate", kind, call)(kind.Request(), kind.Response())
        return await answer if inspect.isawaitable(answer) else answer

    answer = asyncio.run(asked(Evaluate))
    assert answer.status.code == Status.REJECTED
    assert "KeyError" in answer.status.message
    trigger = asyncio.run(asked(Trigger))
    assert not trigger.success
    assert "nobody thought of it" in trigger.message
    assert door.failed == {"evaluate": 2}


def test_a_request_that_does_not_fit_is_answered_before_the_callback(door):
    load = door.answering("load", ModelFile, fail)
    answer = load(ModelFile.Request(path="x" * 5000), ModelFile.Response())
    assert answer.status.code == Status.WRONG_LENGTH
    assert "5000 characters; at most 4096" in answer.status.message
    assert door.rejected == {"load": 1}
    assert not door.failed


def test_what_a_status_says_is_short():
    status = status_of(NotFiniteError("x" * 9999))
    assert (status.code, len(status.message)) == (Status.NOT_FINITE, LONGEST)


def test_sizes_whose_product_is_beyond_all_integers_are_no_images():
    batch = ObservationBatch(count=1 << 31, image_height=1 << 31, image_width=1 << 31)
    with pytest.raises(ImageError, match="need"):
        observations_of_batch(batch)


def test_a_gripper_that_is_nowhere_is_not_demonstrated():
    demonstrator = Demonstrator(MotionConfig(joints=("a",), gripper_joint="g", with_object=False))
    demonstrator.take_joints(["a", "g"], [0.1, 0.5])
    with pytest.raises(InputError, match="not finite"):
        demonstrator.take_joints(["a", "g"], [0.2, math.nan])
    first = demonstrator.begin()
    assert (first.vector.tolist(), first.gripper) == ([0.1], 0.5)


@pytest.mark.parametrize("kind", [ArmState, IntrinsicReward])
def test_a_check_of_a_control_step_takes_microseconds(kind):
    message, check = kind(), description_of(kind).check
    assert min(timeit.repeat(lambda: check(message), number=1000, repeat=5)) < 1000 * 50e-6
