"""What a curiosity node answers: one process for the whole file, reset before each test."""

import array
import math
import queue
import threading

import numpy as np
import pytest
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import (
    CuriosityState,
    IntrinsicReward,
    Observation,
    ObservationBatch,
    Status,
)
from bayes_curiosity_interfaces.srv import Evaluate
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, save_model
from bayes_curiosity_ros.nodes.background import BackgroundNode, ServiceTimeoutError
from bayes_curiosity_ros.nodes.conversions.images import images_of_frame
from bayes_curiosity_ros.nodes.conversions.observations import batch_of_observations
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from bayes_curiosity_ros.robot.cameras.camera import Frame
from support.curiosity import CURIOSITY, Caller, Mode, vectors
from support.graph import inbox, parameters
from support.processes import started_processes
from support.waiting import WAIT_S

IMAGE_SHAPE = (4, 16, 16)
# A second node, for observations with images.
SEEING = "seeing"


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def nodes(model_folder):
    """Two curiosity nodes; the one that sees is in a namespace."""
    seeing = parameters(encoder__image_shape="[4,16,16]", encoder__vector_size=2)
    with started_processes() as start, BackgroundNode("tester") as background:
        start(CURIOSITY, *parameters(model_folder=str(model_folder), max_batch=100_000))
        start(CURIOSITY, *seeing, "-r", f"__ns:=/{SEEING}")
        yield background


@pytest.fixture
def caller(nodes):
    caller = Caller(nodes)
    caller.reset()
    return caller


def test_answers_equal_the_library(caller):
    curiosity = Curiosity(Encoder(EncoderConfig(9)))
    batch = np.random.default_rng(0).normal(size=(50, 9))
    curiosity.observe(Observations(batch))
    assert caller.update(1, vectors(50, seed=0)).status.code == Status.OK
    expected = curiosity.score(Observations(np.random.default_rng(1).normal(size=(20, 9))))
    answer = caller.evaluate(vectors(20, seed=1))
    np.testing.assert_array_equal(answer.variance, expected.variance)
    np.testing.assert_array_equal(answer.curiosity, expected.curiosity)
    np.testing.assert_array_equal(answer.reward, expected.reward)
    assert answer.observations_seen == 50


def test_an_episode_counts_once(caller):
    caller.update(7, vectors(30))
    before = caller.fingerprint()
    again = caller.update(7, vectors(30, seed=5))
    assert again.status.code == Status.ALREADY_UPDATED
    assert "episode 7" in again.status.message
    assert again.observations_seen == 30
    assert caller.fingerprint() == before
    caller.reset()
    assert caller.update(7, vectors(30)).status.code == Status.OK


def with_value(value: float) -> ObservationBatch:
    batch = vectors(4)
    batch.vectors[13] = value
    return batch


BAD_BATCHES = {
    "nan": (with_value(math.nan), Status.NOT_FINITE, "vectors[1][4] = nan"),
    "infinity": (with_value(-math.inf), Status.NOT_FINITE, "-inf"),
    "huge": (with_value(1e300), Status.NOT_FINITE, "1e+300"),
    "empty": (ObservationBatch(), Status.EMPTY_BATCH, "count = 0"),
    "wrong width": (vectors(4, size=8), Status.WRONG_LENGTH, "(4, 8); expected (count, 9)"),
    "no vectors": (ObservationBatch(count=3), Status.WRONG_LENGTH, "(3, 0)"),
    "wrong count": (
        ObservationBatch(count=5, vectors=array.array("d", range(36))),
        Status.WRONG_LENGTH,
        "36 vector values do not divide into 5 rows",
    ),
    "too large": (vectors(100_001), Status.BATCH_TOO_LARGE, "max_batch = 100000"),
    "unwanted image": (
        batch_of_observations(Observations(np.zeros((2, 9)), np.zeros((2, *IMAGE_SHAPE)))),
        Status.WRONG_IMAGE,
        "image_shape = None",
    ),
    "image bytes missing": (
        ObservationBatch(
            count=1, vectors=array.array("d", range(9)), image_height=16, image_width=16
        ),
        Status.WRONG_IMAGE,
        "color has 0 values; 1 images of 16 × 16 pixels need 768",
    ),
}


def test_bad_batches_are_rejected_and_change_nothing(caller):
    caller.update(1, vectors(30))
    before = caller.fingerprint()
    for name, (batch, code, words) in BAD_BATCHES.items():
        for answer in (caller.evaluate(batch), caller.update(2, batch)):
            assert (name, answer.status.code) == (name, code)
            assert words in answer.status.message, name
        assert caller.fingerprint() == before, name


def test_model_files_round_trip_with_their_episodes(caller, model_folder):
    caller.update(5, vectors(30))
    before = caller.fingerprint()
    saved = caller.save("arm.safetensors")
    assert saved.status.code == Status.OK
    assert saved.path == str(model_folder / "arm.safetensors")
    caller.update(6, vectors(30, seed=1))
    assert caller.fingerprint() != before
    assert caller.load("arm.safetensors", "another").status.code == Status.BAD_FILE
    assert caller.load("arm.safetensors", saved.checksum).status.code == Status.OK
    assert caller.fingerprint() == before
    assert caller.update(5, vectors(3)).status.code == Status.ALREADY_UPDATED
    assert caller.update(6, vectors(3)).status.code == Status.OK


def test_bad_model_files_are_rejected_and_change_nothing(caller, model_folder):
    caller.update(1, vectors(30))
    before = caller.fingerprint()
    (model_folder / "corrupt").write_bytes(b"\x00" * 100)
    (model_folder / "folder").mkdir()
    other = SavedModel(Curiosity(Encoder(EncoderConfig(2))))
    save_model(model_folder / "other", other)
    (model_folder / "out").symlink_to(model_folder.parent)
    (model_folder.parent / "outside").write_text("somebody's")
    foreign = (str(model_folder.parent / "outside"), "../outside", "out/outside")
    for path in (*foreign, "x" * 300):
        for answer in (caller.save(path), caller.load(path)):
            assert answer.status.code == Status.BAD_FILE, path
    assert (model_folder.parent / "outside").read_text() == "somebody's"
    for path, words in (
        ("corrupt", "damaged"),
        ("other", "vector_size = 2; this node works with 9"),
        ("absent", "does not exist"),
        ("", "path is empty"),
    ):
        answer = caller.load(path)
        assert answer.status.code == Status.BAD_FILE
        assert words in answer.status.message
        assert caller.fingerprint() == before
    answer = caller.save("folder")
    assert answer.status.code == Status.BAD_FILE
    assert "cannot write" in answer.status.message


def published_until_answered(background, message, rewards, prefix="") -> IntrinsicReward:
    """Publish again until discovery is done; the answer names its step."""
    topic = f"{prefix}observation"
    publisher = background.node.create_publisher(Observation, topic, EPISODE_QOS)
    for _ in range(int(5 * WAIT_S)):
        publisher.publish(message)
        try:
            answer = rewards.get(timeout=0.2)
            while (answer.episode, answer.step) != (message.episode, message.step):
                answer = rewards.get(timeout=0.2)  # those to repeated messages come first
            return answer
        except queue.Empty:
            continue
    raise AssertionError(f"no intrinsic reward within {WAIT_S} s")


def test_observations_are_answered_with_their_own_episode_and_step(caller):
    rewards = inbox(caller.background, IntrinsicReward, "intrinsic_reward")
    row = np.random.default_rng(3).normal(size=9)
    message = Observation(episode=4, step=0, vector=array.array("d", row))
    message.header.stamp.sec = 123
    answer = published_until_answered(caller.background, message, rewards)
    expected = caller.evaluate(batch_of_observations(Observations(row[None])), Mode.EPISODE)
    assert (answer.episode, answer.step, answer.header.stamp.sec) == (4, 0, 123)
    assert answer.status.code == Status.OK
    assert answer.variance == expected.variance[0]
    assert answer.reward == expected.reward[0]


def test_an_episode_by_topic_is_one_by_service(caller):
    """In its order; a step that comes again is answered as before, one too early not at all."""
    rewards = inbox(caller.background, IntrinsicReward, "intrinsic_reward")
    rows = np.random.default_rng(4).normal(size=(4, 9))
    expected = caller.evaluate(batch_of_observations(Observations(rows)), Mode.EPISODE)

    def answered(step):
        message = Observation(episode=9, step=step, vector=array.array("d", rows[step]))
        return published_until_answered(caller.background, message, rewards)

    assert [answered(step).reward for step in range(3)] == list(expected.reward[:3])
    assert answered(1).reward == expected.reward[1]
    following = caller.evaluate(batch_of_observations(Observations(rows[3:])), Mode.NEXT, 9)
    assert answered(3).reward == expected.reward[3] == following.reward[0]
    early = Observation(episode=9, step=7, vector=array.array("d", rows[0]))
    answer = published_until_answered(caller.background, early, rewards)
    assert answer.status.code == Status.WRONG_STEP
    assert "expected step 4" in answer.status.message


def test_bad_observation_is_answered_with_a_reason(caller):
    rewards = inbox(caller.background, IntrinsicReward, "intrinsic_reward")
    answer = published_until_answered(
        caller.background, Observation(vector=[math.nan] * 9), rewards
    )
    assert answer.status.code == Status.NOT_FINITE


def test_late_joiners_get_the_state(caller):
    caller.update(1, vectors(30))
    latched = inbox(caller.background, CuriosityState, "curiosity/state", LATCHED_QOS)
    state = latched.get(timeout=WAIT_S)
    while state.trained:  # of a node of an earlier file, on its way out; ours is not
        state = latched.get(timeout=WAIT_S)
    assert (state.observations, state.episodes, state.trained) == (30, 1, False)
    assert len(state.model_id) == 12
    assert state.form == "nonnegative"


def test_images_by_topic_equal_images_by_service(nodes):
    rng = np.random.default_rng(0)
    color = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
    depth = rng.random((16, 16), dtype=np.float32)
    message = Observation(vector=[0.1, 0.2])
    message.color, message.depth = images_of_frame(Frame(color, depth, 0.0))
    rewards = inbox(nodes, IntrinsicReward, f"{SEEING}/intrinsic_reward")
    answer = published_until_answered(nodes, message, rewards, f"{SEEING}/")
    images = np.concatenate([color.transpose(2, 0, 1) / 255.0, depth[None]])[None]
    by_service = Caller(nodes, SEEING).evaluate(
        batch_of_observations(Observations(np.array([[0.1, 0.2]]), images)), Mode.EPISODE
    )
    assert answer.status.code == Status.OK
    assert answer.variance == by_service.variance[0]
    message.color.encoding = "bgr8"
    answer = published_until_answered(nodes, message, rewards, f"{SEEING}/")
    while answer.status.code == Status.OK:  # answers to repeated good messages come first
        answer = rewards.get(timeout=WAIT_S)
    assert answer.status.code == Status.WRONG_IMAGE
    assert "bgr8" in answer.status.message


def test_a_large_batch_lets_others_in(caller):
    """While the largest batch is scored, small requests are answered in between."""
    small, large = vectors(1), Evaluate.Request(observations=vectors(65_536))
    caller.evaluate(small)
    done = threading.Event()
    client = caller.background.node.create_client(Evaluate, "curiosity/evaluate")
    assert client.wait_for_service(WAIT_S)
    future = client.call_async(large)
    future.add_done_callback(lambda _: done.set())
    between = 0
    while not done.is_set():
        caller.evaluate(small)
        between += 1
    assert between >= 3


def test_an_absent_service_is_named(nodes):
    with pytest.raises(ServiceTimeoutError, match="nobody/home"):
        nodes.call(Trigger, "nobody/home", Trigger.Request(), timeout_s=0.2)
