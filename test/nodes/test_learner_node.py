"""The learner over the graph: what it learns there is what it learns without ROS."""

import signal

import numpy as np
import pytest

from bayes_curiosity_interfaces.msg import (
    ArmState,
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
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from support.driver import ARM, Driver
from support.events import events_of, numbers_of
from support.graph import WAIT_S, eventually, inbox, parameters, wait_for

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
    start(CURIOSITY, *parameters(curiosity__weight=0.5, model_folder=tmp_path / "models"))

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
    shape["model_folder"] = tmp_path / "models"
    start(CURIOSITY, *parameters(curiosity__weight=0.5, **shape))
    learner = start(LEARNER, *learner_options(tmp_path, task="visual_reach"))
    output = learner.communicate(timeout=WAIT_S)[0]
    assert learner.returncode == 0, output
    expected, _ = in_process(60, 30, "visual_reach")
    rows = read_log(tmp_path / "episodes.csv")
    assert [(r.steps, r.extrinsic_return, r.intrinsic_return) for r in rows] == expected


def test_a_resumed_run_goes_on_exactly_even_from_an_older_generation(stack, tmp_path):
    assert stack(timesteps=90).wait(WAIT_S) == 0
    spoil(tmp_path / "checkpoint.pt")
    (tmp_path / "episodes.csv").write_bytes((tmp_path / "episodes.csv").read_bytes() + b"7,1")
    output = (process := stack(timesteps=120, resume="true")).communicate(timeout=WAIT_S)[0]
    assert process.returncode == 0, output
    assert "checkpoint.pt is damaged: its checksum does not fit" in output
    assert "Going on from" in output
    expected, _ = in_process(120, 30)
    rows = read_log(tmp_path / "episodes.csv")
    assert [(row.steps, row.extrinsic_return) for row in rows] == [row[:2] for row in expected]


def test_events_are_those_of_the_episodes_and_change_none_of_them(stack, tmp_path):
    pytest.importorskip("tensorboard")
    for options in ({"timesteps": 60}, {"timesteps": 90, "resume": "true"}):
        output = (process := stack(log="tensorboard", **options)).communicate(timeout=WAIT_S)[0]
        assert process.returncode == 0, output
    expected, _ = in_process(90, 30)
    rows = read_log(tmp_path / "episodes.csv")
    assert [(row.steps, row.extrinsic_return) for row in rows] == [row[:2] for row in expected]
    numbers = numbers_of(tmp_path / "tensorboard")
    found = numbers["episode/extrinsic_return"]
    assert [step for step, _ in found] == [row.timesteps for row in rows]
    np.testing.assert_allclose([v for _, v in found], [row.extrinsic_return for row in rows])
    assert all(speed > 0 for _, speed in numbers["run/steps_per_second"])
    # The map before the first iteration and after each, in the second process too.
    pictures = events_of(tmp_path / "tensorboard").Images("curiosity/map")
    assert [each.step for each in pictures] == iteration_ends(rows, 30)


def iteration_ends(rows, iteration_steps):
    """Control steps before the first iteration and after each one."""
    ends = [0]
    for row in rows:
        if row.timesteps - ends[-1] >= iteration_steps:
            ends.append(row.timesteps)
    return ends


def spoil(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


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
    assert learner.wait(WAIT_S) == 128 + signal.SIGINT  # launch alone gets 0
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


def refused(process) -> str:
    """What a learner said that could not begin: one line, and nothing was touched."""
    output = process.communicate(timeout=WAIT_S)[0]
    assert process.returncode == 2, output
    assert "Traceback" not in output
    return output


def test_a_second_stack_and_strangers_leave_the_first_run_as_it_would_be_alone(
    stack, start, background, tmp_path
):
    progress = inbox(background, LearnerStatus, "learner/status", LATCHED_QOS)
    observations = inbox(background, Observation, "observation")
    first = stack(timesteps=100_000)
    run = eventually(observations, lambda m: m.step == 1).run
    assert run != 0
    # A second learner in the same folder, and one on the same arm.
    assert f"another process is writing to {tmp_path}: {first.pid}" in refused(stack())
    options = learner_options(tmp_path / "second", seed=1)
    assert f"the arm is in use by run {run:016x}; end that learner" in refused(
        start(LEARNER, *options)
    )
    # Somebody's own node, of no run: nothing of it reaches arm or posterior.
    driver = Driver(background)
    assert driver.reset().status.code == Status.OTHER_RUN
    assert offer_again(background, 10_000) == Status.OTHER_RUN
    strangers = [ArmState(episode=e, step=1, run=5) for e in range(1, 2000)]
    foreign = background.node.create_publisher(ArmState, "arm/state", EPISODE_QOS)
    wait_for(lambda: foreign.get_subscription_count() > 0, "a learner that hears arm/state")
    for state in strangers:
        foreign.publish(state)
    driver.act(1, 0)
    eventually(progress, lambda m: "messages of other runs ignored" in m.reason)
    assert eventually(driver.status, lambda m: m.strangers > 1).run == run
    # A whole stack besides, with a learner of its own that would read the first one's answers.
    kept = parameters(model_folder=str(tmp_path / "others"))
    others = [start(ARM, *parameters(task="grasp")), start(CURIOSITY, *kept)]
    wait_for(lambda: background.node.count_services("arm/claim") == 2, "a second arm")
    wait_for(lambda: background.node.count_services("curiosity/claim") == 2, "a second curiosity")
    second = start(LEARNER, *options)
    output = second.communicate(timeout=WAIT_S)[0]
    # It is refused, or has the second stack to itself; it never does so without a word.
    assert second.returncode in (0, 2), output
    assert "in use by run" in output or "another stack is in this ROS domain" in output
    seen = eventually(observations, lambda m: True).episode
    eventually(observations, lambda m: m.episode > seen + 10)
    for other in others:
        other.terminate()
        other.communicate(timeout=WAIT_S)
    eventually(observations, lambda m: m.episode > seen + 20)
    first.send_signal(signal.SIGINT)
    output = first.communicate(timeout=WAIT_S)[0]
    assert (first.returncode, "aborted" in output) == (128 + signal.SIGINT, False), output
    rows = read_log(tmp_path / "episodes.csv")
    expected, _ = in_process(rows[-1].timesteps, 30)
    found = [(r.steps, r.extrinsic_return, r.intrinsic_return) for r in rows]
    assert found == expected[: len(found)]
    # It has left: the curiosity serves whoever comes.
    assert offer_again(background, 10_000) == Status.OK
