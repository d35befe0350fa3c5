"""The curiosity node as its callers see it: a process of its own, over real DDS."""

import array
import math
import queue
import signal
import threading
import time

import numpy as np
import pytest
from sensor_msgs.msg import Image
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import (
    CuriosityState,
    IntrinsicReward,
    Observation,
    ObservationBatch,
    Status,
)
from bayes_curiosity_interfaces.srv import Evaluate, ModelFile, Reset, Update
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, save_model
from bayes_curiosity_ros.nodes.conversions.observations import batch_of_observations
from bayes_curiosity_ros.nodes.curiosity_node import EPISODE_QOS, LATCHED_QOS
from support.graph import parameters

NODE = "bayes_curiosity_ros.nodes.curiosity_node"
IMAGE_SHAPE = (4, 16, 16)


class Caller:
    """The services of one curiosity node."""

    def __init__(self, background):
        self.background = background

    def evaluate(self, batch):
        return self.background.call(
            Evaluate, "curiosity/evaluate", Evaluate.Request(observations=batch)
        )

    def update(self, episode, batch):
        request = Update.Request(episode=episode, observations=batch)
        return self.background.call(Update, "curiosity/update", request)

    def save(self, path):
        return self.background.call(ModelFile, "curiosity/save", ModelFile.Request(path=path))

    def load(self, path):
        return self.background.call(ModelFile, "curiosity/load", ModelFile.Request(path=path))

    def fingerprint(self):
        """Answers that any change of the posterior would change."""
        answer = self.evaluate(vectors(64, seed=77))
        return answer.variance.tobytes(), answer.observations_seen, answer.model_id


def vectors(count: int, seed: int = 0, size: int = 9) -> ObservationBatch:
    return batch_of_observations(
        Observations(np.random.default_rng(seed).normal(size=(count, size)))
    )


@pytest.fixture
def caller(start, background, tmp_path):
    start(NODE, *parameters(model_folder=str(tmp_path), max_batch=100_000))
    return Caller(background)


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
    caller.background.call(Reset, "curiosity/reset", Reset.Request())
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


def test_model_files_round_trip_with_their_episodes(caller, tmp_path):
    caller.update(5, vectors(30))
    before = caller.fingerprint()
    saved = caller.save("arm.safetensors")
    assert saved.status.code == Status.OK
    assert saved.path == str(tmp_path / "arm.safetensors")
    caller.update(6, vectors(30, seed=1))
    assert caller.fingerprint() != before
    assert caller.load("arm.safetensors").status.code == Status.OK
    assert caller.fingerprint() == before
    assert caller.update(5, vectors(3)).status.code == Status.ALREADY_UPDATED
    assert caller.update(6, vectors(3)).status.code == Status.OK


def test_bad_model_files_are_rejected_and_change_nothing(caller, tmp_path):
    caller.update(1, vectors(30))
    before = caller.fingerprint()
    (tmp_path / "corrupt").write_bytes(b"\x00" * 100)
    (tmp_path / "folder").mkdir()
    other = SavedModel(Curiosity(Encoder(EncoderConfig(2))))
    save_model(tmp_path / "other", other)
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


def received(background, kind, topic, qos) -> queue.Queue:
    messages: queue.Queue = queue.Queue()
    background.node.create_subscription(kind, topic, messages.put, qos)
    return messages


def published_until_answered(background, message, rewards) -> IntrinsicReward:
    """Publish again until discovery is done; the answer names its step."""
    publisher = background.node.create_publisher(Observation, "observation", EPISODE_QOS)
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        publisher.publish(message)
        try:
            return rewards.get(timeout=0.2)
        except queue.Empty:
            continue
    raise AssertionError("no intrinsic reward within 10 s")


def test_observations_are_answered_with_their_own_episode_and_step(caller, background):
    rewards = received(background, IntrinsicReward, "intrinsic_reward", EPISODE_QOS)
    row = np.random.default_rng(3).normal(size=9)
    message = Observation(episode=4, step=17, vector=array.array("d", row))
    message.header.stamp.sec = 123
    answer = published_until_answered(background, message, rewards)
    expected = caller.evaluate(batch_of_observations(Observations(row[None])))
    assert (answer.episode, answer.step, answer.header.stamp.sec) == (4, 17, 123)
    assert answer.status.code == Status.OK
    assert answer.variance == expected.variance[0]
    assert answer.reward == expected.reward[0]


def test_bad_observation_is_answered_with_a_reason(caller, background):
    rewards = received(background, IntrinsicReward, "intrinsic_reward", EPISODE_QOS)
    answer = published_until_answered(background, Observation(vector=[math.nan] * 9), rewards)
    assert answer.status.code == Status.NOT_FINITE


def test_late_joiners_get_the_state(caller, background):
    caller.update(1, vectors(30))
    state = received(background, CuriosityState, "curiosity/state", LATCHED_QOS).get(timeout=10)
    assert (state.observations, state.episodes, state.trained) == (30, 1, False)
    assert len(state.model_id) == 12
    assert state.form == "nonnegative"


def image_message(pixels: np.ndarray, encoding: str) -> Image:
    height, width = pixels.shape[:2]
    return Image(
        height=height,
        width=width,
        encoding=encoding,
        step=pixels.nbytes // height,
        data=array.array("B", pixels.tobytes()),
    )


def test_images_by_topic_equal_images_by_service(start, background):
    start(NODE, *parameters(encoder__image_shape="[4,16,16]", encoder__vector_size=2))
    caller = Caller(background)
    rng = np.random.default_rng(0)
    color = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
    depth = rng.random((16, 16), dtype=np.float32)
    message = Observation(
        vector=[0.1, 0.2],
        color=image_message(color, "rgb8"),
        depth=image_message(depth, "32FC1"),
    )
    rewards = received(background, IntrinsicReward, "intrinsic_reward", EPISODE_QOS)
    answer = published_until_answered(background, message, rewards)
    images = np.concatenate([color.transpose(2, 0, 1) / 255.0, depth[None]])[None]
    by_service = caller.evaluate(
        batch_of_observations(Observations(np.array([[0.1, 0.2]]), images))
    )
    assert answer.status.code == Status.OK
    assert answer.variance == by_service.variance[0]
    message.color.encoding = "bgr8"
    answer = published_until_answered(background, message, rewards)
    while answer.status.code == Status.OK:  # answers to repeated good messages come first
        answer = rewards.get(timeout=5.0)
    assert answer.status.code == Status.WRONG_IMAGE
    assert "bgr8" in answer.status.message


def test_a_large_batch_lets_others_in(start, background):
    """While the largest batch is scored, small requests are answered in between."""
    start(NODE)
    caller = Caller(background)
    small = vectors(1)
    caller.evaluate(small)
    large = vectors(65_536)
    started = time.monotonic()
    caller.evaluate(large)
    alone = time.monotonic() - started
    done = threading.Event()
    client = background.node.create_client(Evaluate, "curiosity/evaluate")
    assert client.wait_for_service(5.0)
    future = client.call_async(Evaluate.Request(observations=large))
    future.add_done_callback(lambda _: done.set())
    waits = []
    while not done.is_set():
        started = time.monotonic()
        caller.evaluate(small)
        waits.append(time.monotonic() - started)
    assert len(waits) >= 3
    assert np.median(waits) < 0.5 * alone


def test_untrained_start_warns_and_a_saved_model_does_not(start, background, tmp_path):
    process = start(NODE)
    Caller(background).evaluate(vectors(1))
    process.send_signal(signal.SIGINT)
    assert "random and frozen" in process.communicate(timeout=10)[0]
    trained = Curiosity(Encoder(EncoderConfig(2)))
    save_model(tmp_path / "trained", SavedModel(trained))
    process = start(NODE, *parameters(model=str(tmp_path / "trained")))
    assert Caller(background).evaluate(vectors(1, size=2)).status.code == Status.OK
    process.send_signal(signal.SIGINT)
    assert "random and frozen" not in process.communicate(timeout=10)[0]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("times", [1, 2])
def test_signals_end_it_cleanly(start, background, sent, times):
    process = start(NODE)
    Caller(background).evaluate(vectors(1))
    for _ in range(times):
        process.send_signal(sent)
    output = process.communicate(timeout=10)[0]
    assert process.returncode == 0, output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"curiosity__form": "raw"}, "unknown form 'raw'; choose one of: nonnegative, paper"),
        ({"encoder__vector_size": 0}, "vector_size = 0"),
        ({"model": "/no/such/file"}, "does not exist"),
        ({"max_batch": 0}, "max_batch = 0"),
    ],
)
def test_bad_parameters_end_it_with_one_line(start, options, words):
    process = start(NODE, *parameters(**options))
    output = process.communicate(timeout=20)[0]
    assert process.returncode == 2
    assert words in output
    assert "Traceback" not in output


def test_an_absent_service_is_named(background):
    from bayes_curiosity_ros.nodes.background import ServiceTimeoutError

    with pytest.raises(ServiceTimeoutError, match="nobody/home"):
        background.call(Trigger, "nobody/home", Trigger.Request(), timeout_s=0.2)
