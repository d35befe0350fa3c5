"""Episodes one by one, in a cell that may fail."""

import numpy as np
import pytest

from bayes_curiosity_ros.curiosity.bonus import NoBonus
from bayes_curiosity_ros.learning.cell import EpisodeAbortedError, EpisodeLostError, TaskCell
from bayes_curiosity_ros.learning.gatherer import CellGatherer
from bayes_curiosity_ros.learning.sac import SacConfig
from bayes_curiosity_ros.learning.settings import LearnerConfig, make_trainer
from support.learners import Identity, make_algorithm

MIN_STEPS, FAILS = 20, (7, 11, 12)


class FailingCell(TaskCell):
    """Fails at some of its steps, counted from the first one ever."""

    def __init__(self, task, error, at):
        super().__init__(task)
        self.error, self.at, self.steps = error, at, 0

    def receive(self):
        self.steps += 1
        if self.steps in self.at:
            raise self.error("as the test says")
        return super().receive()


class DrivenCell(TaskCell):
    """A person takes one step in some of its episodes."""

    def __init__(self, task, driven):
        super().__init__(task)
        self.driven = driven

    def reset(self, episode, seed):
        self.operator_steps = int(episode in self.driven)
        return super().reset(episode, seed)

    def receive(self):
        self.acted = np.array([0.25]) if self.operator_steps else None
        return super().receive()


class Audience:
    """Hears everything."""

    def __init__(self):
        self.began, self.ended, self.aborted = [], [], 0

    def begin(self, episode):
        self.began.append(episode)

    def see(self, step, observation):
        pass

    def end(self, episode, timesteps):
        self.ended.append((self.began[-1], timesteps))

    def abort(self, error):
        self.aborted += 1


def gathered(error=EpisodeLostError, at=(), max_aborts=5):
    task, audience = Identity(), Audience()
    cell = FailingCell(task, error, at)
    gatherer = CellGatherer(task, cell, audience, 3, MIN_STEPS, max_aborts)
    episodes = gatherer.gather(make_algorithm("trpo", task, 0).explore())
    return episodes, audience, gatherer


def test_an_episode_that_was_lost_is_run_again_bit_for_bit_under_its_number():
    plain, heard, before = gathered()
    again, told, after = gathered(at=FAILS)
    assert told.aborted == len(FAILS)
    assert told.ended == heard.ended
    assert after.state_dict() == before.state_dict()
    for name in ("observations", "actions", "rewards", "lengths"):
        np.testing.assert_array_equal(getattr(again, name), getattr(plain, name))


def test_an_episode_that_was_stopped_is_not_tried_again():
    _, told, gatherer = gathered(EpisodeAbortedError, at=FAILS[:1])
    assert [episode for episode, _ in told.ended] == [1, 3, 4, 5]
    assert gatherer.timesteps == MIN_STEPS


def test_a_cell_that_fails_again_and_again_ends_the_run():
    with pytest.raises(EpisodeAbortedError, match="2 episodes in a row"):
        gathered(at=range(1, 100), max_aborts=2)


def test_what_a_person_did_is_told_but_not_learnt_from():
    """The other episodes are those that they would have been, bit for bit."""
    task, audience = Identity(), Audience()
    gatherer = CellGatherer(task, DrivenCell(task, {2, 3}), audience, 3, MIN_STEPS)
    episodes = gatherer.gather(make_algorithm("trpo", task, 0).explore())
    plain, heard, _ = gathered()
    counted = [timesteps for _, timesteps in heard.ended]
    assert [number for number, _ in audience.ended] == [1, 2, 3, 4, 5, 6]
    assert [steps for _, steps in audience.ended] == [5, 5, 5, *counted[1:]]
    assert gatherer.timesteps == episodes.steps == MIN_STEPS
    np.testing.assert_array_equal(episodes.observations[0], plain.observations[0])
    np.testing.assert_array_equal(episodes.observations[1], plain.observations[3])


def test_what_a_person_did_goes_to_a_learner_that_remembers():
    task = Identity()
    gatherer = CellGatherer(task, DrivenCell(task, {2}), Audience(), 3, MIN_STEPS)
    config = LearnerConfig(learner="sac")
    trainer = make_trainer(config, SacConfig(), task, NoBonus(), gatherer)
    gatherer.gather(trainer.algorithm.explore())
    shown = trainer.algorithm.shown.log.kept()
    assert len(shown) == task.horizon
    assert (shown["action"] == 0.25).all()  # as the person acted, not as the policy would have


def test_a_learner_with_a_memory_learns_after_every_episode():
    assert LearnerConfig(learner="sac").gathered_steps == 1
    assert LearnerConfig(learner="trpo").gathered_steps == LearnerConfig().iteration_steps
