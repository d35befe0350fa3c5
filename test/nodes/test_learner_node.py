"""The learner over the graph: what it learns there is what it learns without ROS."""

import signal
import time

import numpy as np
import pytest

from bayes_curiosity_interfaces.msg import (
    ArmStatus,
    CuriosityState,
    EpisodeSummary,
    Observation,
)
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.learning.cell import TaskCell, run_episode
from bayes_curiosity_ros.learning.episode_log import read_log
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.perception import encoder_config
from bayes_curiosity_ros.learning.settings import LearnerConfig, make_trainer
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from support.driver import ARM, Driver
from support.graph import eventually, inbox, parameters

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


def rows_of(observations: Observations) -> list[Observations]:
    return [observations[index : index + 1] for index in range(len(observations))]


class Watched(TaskCell):
    """A cell that tells what a curiosity node would be sent."""

    def raw(self, task) -> Observations:
        images = task.images(self._states) if task.visual else None
        return Observations(task.observe(self._states), images)


def in_process(timesteps: int, iteration_steps: int, name: str = "reach"):
    """The same run without ROS: episodes and curiosity of each."""
    config = LearnerConfig(task=name, timesteps=timesteps, iteration_steps=iteration_steps)
    raw = config.make_task()
    task = config.perceive(raw)
    trainer = make_trainer(config, task)
    curiosity = Curiosity(Encoder(encoder_config(raw)), CuriosityConfig(weight=0.5))
    rows, episode = [], 0
    while trainer.timesteps < timesteps:
        parts = []
        while sum(part.steps for part in parts) < iteration_steps:
            episode += 1
            cell, visited = Watched(task), []
            part = run_episode(
                task,
                cell,
                trainer.algorithm.explore(),
                config.seed,
                episode,
                lambda step, _, cell=cell, visited=visited: visited.append(cell.raw(raw)),
            )
            seen = Observations.concatenate(visited)
            # Row by row, as the node scores them: a batch may differ in the last bit.
            rewards = np.array([curiosity.score(row).reward[0] for row in rows_of(seen)])[1:]
            curiosity.observe(seen)
            trainer.bonus.add(rewards)
            parts.append(part)
            rows.append((int(part.lengths[0]), float(part.returns()[0]), float(rewards.sum())))
        trainer.learn(Episodes.concatenate(parts))
    return rows, curiosity.regression


def test_the_same_seed_gives_the_same_episodes_with_and_without_ros(stack, background, tmp_path):
    """Learning included: what the second iteration does depends on all of the first."""
    states = inbox(background, CuriosityState, "curiosity/state", LATCHED_QOS)
    output = (process := stack()).communicate(timeout=90)[0]
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
    output = learner.communicate(timeout=180)[0]  # four processes start on a busy machine
    assert learner.returncode == 0, output
    expected, _ = in_process(60, 30, "visual_reach")
    rows = read_log(tmp_path / "episodes.csv")
    assert [(r.steps, r.extrinsic_return, r.intrinsic_return) for r in rows] == expected


def test_a_resumed_run_goes_on_exactly(stack, tmp_path):
    assert stack(timesteps=60).wait(90) == 0
    assert stack(timesteps=120, resume="true").wait(90) == 0
    expected, _ = in_process(120, 30)
    rows = read_log(tmp_path / "episodes.csv")
    assert [(row.steps, row.extrinsic_return) for row in rows] == [row[:2] for row in expected]


def test_an_episode_that_is_stopped_is_not_learnt_from(stack, background):
    summaries = inbox(background, EpisodeSummary, "episode")
    states = inbox(background, CuriosityState, "curiosity/state", LATCHED_QOS)
    observations = inbox(background, Observation, "observation")
    learner = stack(timesteps=100_000, iteration_steps=100_000)
    eventually(observations, lambda m: m.episode >= 2)
    driver = Driver(background)
    assert driver.trigger("stop").success
    aborted = eventually(summaries, lambda m: m.outcome == EpisodeSummary.ABORTED)
    time.sleep(0.3)
    assert driver.trigger("release").success
    eventually(summaries, lambda m: m.episode > aborted.episode + 1)
    learner.send_signal(signal.SIGINT)
    assert learner.wait(10) == 0
    eventually(driver.status, lambda m: m.state == ArmStatus.STOPPED and "SIGINT" in m.reason)
    finished = 0
    while not summaries.empty():
        finished = max(finished, summaries.get().episode)
    learnt = eventually(states, lambda m: m.episodes >= finished - 1)
    assert learnt.episodes <= finished  # the aborted one is not among them
