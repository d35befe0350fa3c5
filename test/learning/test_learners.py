"""Every learner: solves the identity task, repeats itself, saves and resumes exactly."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.curiosity.bonus import NoBonus
from bayes_curiosity_ros.errors import ConfigError, InputError, ModelFileError
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.learning.checkpoint import load_checkpoint, save_checkpoint
from bayes_curiosity_ros.learning.ddpg import DdpgConfig
from bayes_curiosity_ros.learning.gatherer import Sampling
from bayes_curiosity_ros.learning.imitation import imitate
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.reinforce import ReinforceConfig
from bayes_curiosity_ros.learning.rollout import collect
from bayes_curiosity_ros.tasks.demonstrations import DemonstrationConfig
from bayes_curiosity_ros.tasks.demonstrations import collect as collect_demonstrations
from bayes_curiosity_ros.tasks.registry import make_task
from support.learners import CountingBonus, Identity, make_trainer
from support.python import run_python


def leaves(state):
    """Every array or number in a nested state, in order."""
    if isinstance(state, dict):
        return [leaf for key in sorted(state) for leaf in leaves(state[key])]
    return [state]


def assert_same(left, right):
    for a, b in zip(leaves(left), leaves(right), strict=True):
        if isinstance(a, torch.Tensor):
            assert torch.equal(a, b)
        elif isinstance(a, np.ndarray):
            assert np.array_equal(a, b)
        else:
            assert a == b


@pytest.mark.parametrize(
    ("algorithm", "iterations"),
    [("trpo", 60), ("reinforce", 150), ("ddpg", 60), ("sac", 30), ("ppo", 60)],
)
def test_solves_the_identity_task(algorithm, iterations):
    trainer = make_trainer(algorithm, bonus=NoBonus(), sampling=Sampling(40, 200))
    before = trainer.evaluate(50, np.random.default_rng(9)).returns().mean()
    for _ in range(iterations):
        trainer.iterate()
    after = trainer.evaluate(50, np.random.default_rng(9)).returns().mean()
    assert before < -1.0
    assert after > -0.1


@pytest.mark.parametrize("algorithm", LEARNERS.names())
def test_same_seed_same_state(algorithm):
    first, second, other = (make_trainer(algorithm, seed) for seed in (3, 3, 4))
    for trainer in (first, second, other):
        for _ in range(3):
            trainer.iterate()
    assert_same(first.state_dict(), second.state_dict())
    with pytest.raises(AssertionError):
        assert_same(first.state_dict(), other.state_dict())


@pytest.mark.parametrize("algorithm", LEARNERS.names())
def test_evaluation_does_not_disturb_training(algorithm):
    watched, alone = make_trainer(algorithm), make_trainer(algorithm)
    for _ in range(3):
        watched.evaluate(5, np.random.default_rng(0))
        watched.iterate()
        alone.iterate()
    assert_same(watched.state_dict(), alone.state_dict())


RESUME = """
import torch
torch.set_num_threads(1)
from pathlib import Path
from support.learners import make_trainer
from bayes_curiosity_ros.learning.checkpoint import load_checkpoint, save_checkpoint
trainer = make_trainer({algorithm!r}, seed={seed})
load_checkpoint(Path({source!r}), trainer)
for _ in range(3):
    trainer.iterate()
save_checkpoint(Path({target!r}), trainer)
"""


@pytest.mark.parametrize("algorithm", LEARNERS.names())
def test_two_processes_equal_one_bit_for_bit(algorithm, tmp_path):
    whole = make_trainer(algorithm, seed=1)
    for index in range(5):
        whole.iterate()
        if index == 1:
            save_checkpoint(tmp_path / "half", whole)
    save_checkpoint(tmp_path / "whole", whole)
    script = RESUME.format(
        algorithm=algorithm,
        seed=77,  # everything must come from the checkpoint, nothing from the seed
        source=str(tmp_path / "half"),
        target=str(tmp_path / "resumed"),
    )
    run_python(script)
    resumed = make_trainer(algorithm, seed=5)
    load_checkpoint(tmp_path / "resumed", resumed)
    assert_same(resumed.state_dict(), whole.state_dict())


def test_checkpoint_of_another_task_changes_nothing(tmp_path):
    other = make_trainer("trpo", task=make_task("pendulum"), sampling=Sampling(2, 10))
    save_checkpoint(tmp_path / "other", other)
    trainer = make_trainer("trpo")
    before = trainer.algorithm.policy.parameters.clone()
    with pytest.raises(ModelFileError, match=r"task 'pendulum'.*'identity'"):
        load_checkpoint(tmp_path / "other", trainer)
    assert torch.equal(before, trainer.algorithm.policy.parameters)


def test_checkpoint_of_another_learner_or_a_damaged_one(tmp_path):
    save_checkpoint(tmp_path / "ddpg", make_trainer("ddpg"))
    with pytest.raises(ModelFileError, match="Ddpg"):
        load_checkpoint(tmp_path / "ddpg", make_trainer("trpo"))
    (tmp_path / "damaged").write_bytes((tmp_path / "ddpg").read_bytes()[:200])
    with pytest.raises(ModelFileError, match="damaged"):
        load_checkpoint(tmp_path / "damaged", make_trainer("ddpg"))
    with pytest.raises(ModelFileError, match="does not exist"):
        load_checkpoint(tmp_path / "nothing", make_trainer("ddpg"))


def test_a_buffer_overwrites_the_oldest_and_keeps_terminal_flags():
    task = make_task("mountaincar")
    trainer = make_trainer("ddpg", task=task, sampling=Sampling(1, 10))
    buffer = trainer.algorithm.buffer
    trainer.iterate()
    assert len(buffer) == 200
    assert not buffer.log.data["terminated"].any()  # the clock is no terminal state


def test_intrinsic_reward_reaches_the_learner():
    """With no extrinsic difference at all, the policy must follow the bonus."""

    class WantsPositive(CountingBonus):
        def evaluate(self, episodes):
            return np.concatenate([episode.actions[:, 0] for episode in episodes])

    class Flat(Identity):
        def reward(self, states):
            return np.zeros(len(states))

    for algorithm in LEARNERS.names():
        trainer = make_trainer(
            algorithm, task=Flat(), bonus=WantsPositive(), sampling=Sampling(40, 200)
        )
        for _ in range(25):
            trainer.iterate()
        episodes = trainer.evaluate(20, np.random.default_rng(0))
        assert episodes.actions.mean() > 0.3, algorithm


def test_collect_finishes_every_episode_and_reaches_the_minimum():
    task = make_task("mountaincar")

    class Expert:
        def begin(self, count, horizon, rng):
            pass

        def act(self, observations, step):
            return task.expert(observations)

    episodes = collect(task, Expert(), 3, 1000, np.random.default_rng(0))
    assert episodes.steps >= 1000
    assert episodes.terminated.all()
    assert episodes.succeeded.all()
    assert episodes.lengths.max() < 200
    np.testing.assert_allclose(episodes.returns(), 100.0 - episodes.lengths)


def test_first_success_counts_episodes_in_order():
    trainer = make_trainer("trpo")
    assert trainer.first_success is None
    while trainer.first_success is None:
        trainer.iterate()
    assert 0 < trainer.first_success <= trainer.timesteps


def test_imitation_follows_the_expert():
    task = make_task("mountaincar")
    rng = np.random.default_rng(0)
    shown = collect_demonstrations(task, DemonstrationConfig(2000, 0.1, parallel=20), rng=rng)
    observations, actions = shown.vectors, shown.actions
    policy = GaussianPolicy(task.observation_center, task.observation_scale, 1, rng)
    before = np.mean((policy.mean_actions(observations) - actions) ** 2)
    loss = imitate(policy, observations, actions, rng)
    after = np.mean((policy.mean_actions(observations) - actions) ** 2)
    assert after < 0.2 * before
    assert loss < 0.5


def test_imitation_rejects_unequal_lengths():
    policy = GaussianPolicy(np.zeros(1), np.ones(1), 1, np.random.default_rng(0))
    with pytest.raises(InputError, match="3 observations for 2 actions"):
        imitate(policy, np.zeros((3, 1)), np.zeros((2, 1)), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (DdpgConfig, {"discount": 1.0}),
        (DdpgConfig, {"polyak": 0.0}),
        (DdpgConfig, {"minibatch": 0}),
        (DdpgConfig, {"noise_correlation": 1.0}),
        (DdpgConfig, {"actor_rate": 0.0}),
        (ReinforceConfig, {"learning_rate": 0.0}),
        (ReinforceConfig, {"gae_lambda": 2.0}),
        (Sampling, {"parallel": 0}),
    ],
)
def test_bad_settings_are_named(kind, bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        kind(**bad)
