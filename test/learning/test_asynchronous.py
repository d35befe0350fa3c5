"""Updates in a thread: as many as are due, from whole states, and never in the way."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.curiosity.bonus import NoBonus
from bayes_curiosity_ros.learning.asynchronous import (
    LATE_S,
    MARGIN_S,
    SENT_S,
    Asynchronous,
    Rhythm,
)
from bayes_curiosity_ros.learning.checkpoint import load_checkpoint, save_checkpoint
from bayes_curiosity_ros.learning.gatherer import Rollouts, Sampling
from bayes_curiosity_ros.learning.rollout import run_episodes
from bayes_curiosity_ros.learning.settings import LearnerConfig, make_trainer
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.learning.trpo import TrpoConfig
from support.learners import Identity, learner_of, make_algorithm
from support.waiting import wait_for

MOST_DUE = 1000


def trainer_of(most_due=MOST_DUE, seed=0):
    task = Identity()
    learner = Asynchronous(make_algorithm("sac", task, seed), most_due)
    rollouts = Rollouts(task, Sampling(40, 200), np.random.default_rng(seed + 1))
    return Trainer(task, learner, NoBonus(), rollouts)


def idle(trainer):
    wait_for(lambda: trainer.algorithm.due == 0, "updates that are due")


def test_all_updates_that_belong_to_the_steps_are_made():
    trainer = trainer_of()
    for _ in range(5):
        trainer.iterate()
    idle(trainer)
    assert trainer.algorithm.state_dict()["updates"] == 5 * 40


def test_it_solves_the_identity_task():
    trainer = trainer_of(most_due=0)
    for _ in range(30):
        trainer.iterate()
    assert trainer.evaluate(50, np.random.default_rng(9)).returns().mean() > -0.1


def test_with_nothing_due_it_is_the_learner_itself():
    task, rng = Identity(), np.random.default_rng(3)
    episodes = run_episodes(task, make_algorithm("sac", task, 0).explore(), 40, rng)
    plain, meanwhile = make_algorithm("sac", task, 0), trainer_of().algorithm
    plain.take(episodes, NoBonus())
    for _ in range(plain.due(episodes.steps)):
        plain.improve(1)
    meanwhile.update(episodes, NoBonus())
    wait_for(lambda: meanwhile.due == 0, "updates that are due")
    ours, theirs = meanwhile.state_dict(), plain.state_dict()
    assert torch.equal(ours["policy"], theirs["policy"])
    assert torch.equal(ours["critics"], theirs["critics"])


def test_who_is_too_far_behind_is_waited_for():
    trainer = trainer_of(most_due=10)
    for _ in range(3):
        trainer.iterate()
        assert trainer.algorithm.due <= 10


def test_an_episode_acts_by_the_policy_that_it_began_with():
    trainer = trainer_of()
    trainer.iterate()
    behaviour = trainer.algorithm.explore()
    before = behaviour.behaviour.policy.network.parameters.clone()
    trainer.iterate()
    idle(trainer)
    assert torch.equal(behaviour.behaviour.policy.network.parameters, before)
    now = trainer.algorithm.explore().behaviour.policy.network.parameters
    assert not torch.equal(now, before)


UPDATE_S = 0.01


@pytest.mark.parametrize(
    ("since_s", "pause_s"),
    [
        (0.0, SENT_S),  # the action is on its way
        (SENT_S, 0.0),
        (0.1 - UPDATE_S - MARGIN_S - 0.001, 0.0),  # there is time for one more
        (0.1 - UPDATE_S, UPDATE_S + MARGIN_S),
        (0.1, MARGIN_S),
        (0.1 + 0.5 * LATE_S, MARGIN_S),
        (0.1 + 1.1 * LATE_S, 0.0),  # there is none to wait for
    ],
)
def test_no_update_is_under_way_when_an_action_is_due(since_s, pause_s):
    rhythm = Rhythm()
    rhythm.acted(5.0)
    rhythm.acted(5.1)
    assert rhythm.pause_s(5.1 + since_s, UPDATE_S) == pytest.approx(pause_s, abs=1e-9)


@pytest.mark.parametrize("period_s", [0.001, 30.0])
def test_steps_without_a_rhythm_are_not_waited_for(period_s):
    rhythm = Rhythm()
    assert not rhythm.pause_s(5.0, UPDATE_S)
    rhythm.acted(5.0)
    rhythm.acted(5.0 + period_s)
    for since_s in (0.0, 0.5 * period_s, period_s):
        assert not rhythm.pause_s(5.0 + period_s + since_s, UPDATE_S)


def test_the_time_between_two_episodes_does_not_hide_the_rhythm():
    rhythm = Rhythm()
    for acted_s in (5.0, 5.1, 9.0):  # 9.0 is the first of an episode
        rhythm.acted(acted_s)
    assert rhythm.pause_s(9.1 - UPDATE_S, UPDATE_S) > 0


def test_updates_keep_out_of_the_way_of_actions():
    """Whatever an update takes: what is short of it ends before an action is due."""
    trainer = trainer_of(most_due=100_000)
    learner, period_s, under_way = trainer.algorithm, 0.1, []
    learner.due = 0
    improve = learner._learner.improve

    def noted(updates):
        under_way.append(time.monotonic())
        error = improve(updates)
        under_way.append(time.monotonic())
        return error

    trainer.iterate()
    idle(trainer)
    learner._learner.improve = noted
    behaviour = learner.explore()
    behaviour.begin(1, 50, np.random.default_rng(0))
    with learner._visit():
        learner.due = 100_000
    acted = []
    for step in range(20):
        time.sleep(period_s)
        behaviour.act(np.zeros((1, 1)), step % 50)
        acted.append(time.monotonic())
    learner.due = 0
    spans = list(zip(under_way[::2], under_way[1::2], strict=False))
    assert len(spans) > 20
    met = sum(begin < now < end for now in acted[3:] for begin, end in spans)
    # Nearly all without pauses; a busy machine may hold up an update or two.
    assert met < len(acted) / 2, f"{met} of {len(acted)} actions were due during an update"


def test_a_checkpoint_has_what_is_due_and_stays_as_it_was(tmp_path):
    trainer = trainer_of()
    trainer.iterate()
    trainer.iterate()
    state = trainer.algorithm.state_dict()
    kept = state["critics"].clone()
    save_checkpoint(tmp_path / "checkpoint.pt", trainer)
    idle(trainer)
    assert torch.equal(state["critics"], kept)
    other = trainer_of(seed=7)
    load_checkpoint(tmp_path / "checkpoint.pt", other)
    idle(other)
    assert other.timesteps == trainer.timesteps
    made = [each.algorithm.state_dict()["updates"] for each in (trainer, other)]
    assert made[0] == made[1]


def test_what_goes_wrong_in_the_thread_is_told_to_who_comes_next(monkeypatch):
    trainer = trainer_of()
    trainer.iterate()
    idle(trainer)

    def fail(updates):
        raise FloatingPointError("as the test says")

    monkeypatch.setattr(trainer.algorithm._learner, "improve", fail)
    with trainer.algorithm._visit():
        trainer.algorithm.due += 1
    wait_for(lambda: trainer.algorithm._error is not None, "failure")
    with pytest.raises(FloatingPointError, match="as the test says"):
        trainer.algorithm.explore()


def test_a_visitor_waits_for_a_few_updates_at_most(monkeypatch):
    trainer = trainer_of()
    trainer.iterate()
    learner, made = trainer.algorithm._learner, threading.Event()

    def slow(updates):
        made.set()
        time.sleep(0.02)
        return 0.0

    monkeypatch.setattr(learner, "improve", slow)
    trainer.algorithm.due = 4000  # 20 s of them
    trainer.algorithm.explore()
    assert made.wait(10.0)
    began_s = time.monotonic()
    for _ in range(10):
        trainer.algorithm.explore()
    assert time.monotonic() - began_s < 5.0
    assert trainer.algorithm.due > 0
    trainer.algorithm.due = 0


def test_a_learner_node_learns_meanwhile_where_it_can():
    task = Identity()
    config = LearnerConfig(learner="sac", asynchronous=True)
    assert isinstance(learner_of(config, task), Asynchronous)
    rollouts = Rollouts(task, Sampling(1, 1), np.random.default_rng(0))
    plain = make_trainer(LearnerConfig(asynchronous=True), TrpoConfig(), task, NoBonus(), rollouts)
    assert not isinstance(plain.algorithm, Asynchronous)
