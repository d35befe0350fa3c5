"""The learner over the graph: what it learns there is what it learns without ROS."""

import signal

import numpy as np
import pytest

from bayes_curiosity_interfaces.msg import (
    ArmStatus,
    CuriosityState,
    EpisodeSummary,
    LearnerStatus,
    Observation,
    Status,
)
from bayes_curiosity_interfaces.srv import Update
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.learning.cell import TaskCell
from bayes_curiosity_ros.learning.episode_log import read_log
from bayes_curiosity_ros.learning.gathered import GatheredBonus
from bayes_curiosity_ros.learning.gatherer import CellGatherer
from bayes_curiosity_ros.learning.perception import encoder_config
from bayes_curiosity_ros.learning.settings import LearnerConfig, make_trainer
from bayes_curiosity_ros.learning.trpo import TrpoConfig
from bayes_curiosity_ros.nodes.conversions.observations import batch_of_observations
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from support.driver import ARM, Driver
from support.graph import WAIT_S, eventually, inbox, parameters

CAMERA, CURIOSITY, LEARNER = (
    f"bayes_curiosity_ros.nodes.{name}_node" for name in ("camera", "curiosity", "learner")
)


def learner_options(folder, **options):
    given = {"folder": folder, "operator_confirmed": "true", "timesteps": 60}
    return parameters(**(given | {"iteration_steps": 30} | options))


@pytest.fixture
def stack(start, tmp_path):
    """All nodes but the learner."""
    start(ARM)
    start(CURIOSITY, *parameters(curiosity__weight=0.5))

    def learner(**options):
        return start(LEARNER, *learner_options(tmp_path, **options))

    return learner


class InProcess:
    """The audience of a run without ROS: a curiosity here, in place of the node."""

    def __init__(self, config: LearnerConfig) -> None:
        self.raw = config.make_task()
        self.task = config.perceive(self.raw)
        self.cell = TaskCell(self.task)
        encoder = Encoder(encoder_config(self.raw))
        self.curiosity = Curiosity(encoder, CuriosityConfig(weight=0.5))
        self.paid = GatheredBonus()
        self.rows = []

    def begin(self, episode):
        self.seen, self.rewards = [], []

    def see(self, step, observation):
        states = self.cell.states
        images = self.raw.images(states) if self.raw.visual else None
        self.seen.append(Observations(self.raw.observe(states), images))
        if step == 0:
            self.stream = self.curiosity.begin(self.seen[0])
        else:
            self.rewards.append(self.stream.take(self.seen[-1]).reward[0])

    def end(self, episode, timesteps):
        self.curiosity.observe(Observations.concatenate(self.seen))
        rewards = np.array(self.rewards)
        self.paid.add(rewards)
        self.rows.append((episode.steps, float(episode.returns()[0]), float(rewards.sum())))

    def abort(self, error):
        raise AssertionError(error)


def in_process(timesteps: int, iteration_steps: int, name: str = "reach"):
    """The same run without ROS: episodes, and the posterior they leave."""
    config = LearnerConfig(task=name, timesteps=timesteps, iteration_steps=iteration_steps)
    audience = InProcess(config)
    task = audience.task
    gatherer = CellGatherer(task, audience.cell, audience, config.seed, iteration_steps)
    trainer = make_trainer(config, TrpoConfig(), task, audience.paid, gatherer)
    while trainer.timesteps < timesteps:
        trainer.iterate()
    return audience.rows, audience.curiosity.regression


def test_the_same_seed_gives_the_same_episodes_with_and_without_ros(stack, background, tmp_path):
    """Learning included: what the second iteration does depends on all of the first."""
    states = inbox(background, CuriosityState, "curiosity/state", LATCHED_QOS)
    output = (process := stack()).communicate(timeout=WAIT_S)[0]
    assert process.returncode == 0, output
    expected, regression = in_process(60, 30)
    rows = read_log(tmp_path / "episodes.csv")
    assert [(r.steps, r.extrinsic_return, r.intrinsic_return) for r in rows] == expected
    # Every episode is in the posterior, once.
    state = eventually(states, lambda m: m.episodes == len(rows))
    assert state.observations == sum(row.steps + 1 for row in rows) == regression.count
    np.testing.assert_allclose(state.log_determinant, regression.log_determinant)


def test_the_same_images_give_the_same_episodes_with_and_without_ros(start, tmp_path):
    """Frames of the camera node, joint angles of the arm node: bit for bit what rays give here."""
    start(CAMERA, *parameters(task="visual_reach"))
    start(ARM, *parameters(task="visual_reach"))
    shape = {"encoder__vector_size": 6, "encoder__image_shape": "[4, 64, 64]"}
    shape["encoder__image_trunk"] = "keypoints"
    start(CURIOSITY, *parameters(curiosity__weight=0.5, **shape))
    learner = start(LEARNER, *learner_options(tmp_path, task="visual_reach"))
    output = learner.communicate(timeout=WAIT_S)[0]
    assert learner.returncode == 0, output
    expected, _ = in_process(60, 30, "visual_reach")
    rows = read_log(tmp_path / "episodes.csv")
    assert [(r.steps, r.extrinsic_return, r.intrinsic_return) for r in rows] == expected


def test_a_resumed_run_goes_on_exactly(stack, tmp_path):
    assert stack(timesteps=60).wait(WAIT_S) == 0
    assert stack(timesteps=120, resume="true").wait(WAIT_S) == 0
    expected, _ = in_process(120, 30)
    rows = read_log(tmp_path / "episodes.csv")
    assert [(row.steps, row.extrinsic_return) for row in rows] == [row[:2] for row in expected]


def test_an_episode_that_is_stopped_is_not_learnt_from(stack, background, tmp_path):
    summaries = inbox(background, EpisodeSummary, "episode")
    progress = inbox(background, LearnerStatus, "learner/status", LATCHED_QOS)
    observations = inbox(background, Observation, "observation")
    learner = stack(timesteps=100_000, iteration_steps=100_000)
    eventually(observations, lambda m: m.episode >= 2)
    driver = Driver(background)
    assert driver.trigger("stop").success
    aborted = eventually(summaries, lambda m: m.outcome == EpisodeSummary.ABORTED)
    eventually(progress, lambda m: "waiting for the arm" in m.reason)
    assert driver.trigger("release").success
    eventually(summaries, lambda m: m.episode > aborted.episode)
    learner.send_signal(signal.SIGINT)
    assert learner.wait(WAIT_S) == 0
    eventually(driver.status, lambda m: m.state == ArmStatus.STOPPED and "SIGINT" in m.reason)
    # An episode that is in the posterior cannot be offered again.
    codes = {id: offer_again(background, id) for id in (1, aborted.episode, aborted.episode + 1)}
    assert codes == {
        1: Status.ALREADY_UPDATED,
        aborted.episode: Status.OK,
        aborted.episode + 1: Status.ALREADY_UPDATED,
    }
    logged = {row.episode for row in read_log(tmp_path / "episodes.csv")}
    assert {1, aborted.episode + 1} <= logged
    assert aborted.episode not in logged


def offer_again(background, episode: int) -> int:
    """The answer to an update with this episode's id."""
    batch = batch_of_observations(Observations(np.zeros((1, 9))))
    request = Update.Request(episode=episode, observations=batch)
    return background.call(Update, "curiosity/update", request, WAIT_S).status.code
