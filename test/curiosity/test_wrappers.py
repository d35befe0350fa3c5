"""Wrappers: every transition seen once, none across a reset, rewards kept apart."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from bayes_curiosity_ros.curiosity.bonus import BONUSES, BonusInputs, NoBonus, Unordered
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.rnd import Rnd, RndConfig
from bayes_curiosity_ros.curiosity.wrappers.gymnasium import BonusVectorWrapper
from bayes_curiosity_ros.errors import ConfigError


class Counting(gymnasium.Env[Any, Any]):
    """Observation (name, episode, step): what a bonus was shown can be read off it."""

    def __init__(self, name: int, length: int, kind: str = "box") -> None:
        self.name, self.length, self.kind = name, length, kind
        self.episode, self.count = -1, 0
        vector = spaces.Box(-np.inf, np.inf, (3,), dtype=np.float64)
        image = spaces.Box(0, 255, (4, 16, 16), dtype=np.uint8)
        self.observation_space = (
            vector if kind == "box" else spaces.Dict({"vector": vector, "image": image})
        )
        self.action_space = (
            spaces.Discrete(3) if kind == "discrete" else spaces.Box(-1.0, 1.0, (2,))
        )

    def _observe(self) -> Any:
        vector = np.array([self.name, self.episode, self.count], dtype=np.float64)
        if self.kind == "box":
            return vector
        return {"vector": vector, "image": np.full((4, 16, 16), self.count, dtype=np.uint8)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.episode, self.count = self.episode + 1, 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.count += 1
        ended = self.count == self.length
        even = self.episode % 2 == 0
        return self._observe(), 10.0, ended and even, ended and not even, {}


class Recording(NoBonus):
    """Rewards the step number reached, and remembers all that it was shown."""

    def __init__(self) -> None:
        self.evaluated: list[Transitions] = []
        self.updates: list[list[Transitions]] = []

    def evaluate(self, episodes: Sequence[Transitions]) -> np.ndarray:
        self.evaluated.extend(episodes)
        reached = [step.next_observations.vectors[:, 2] for step in episodes]
        return np.concatenate(reached) / 100.0

    def begin(self, first: Observations) -> Unordered:
        return Unordered(self)  # type: ignore[arg-type]

    def update(self, episodes: Sequence[Transitions]) -> None:
        self.updates.append(list(episodes))


def makers(lengths: Sequence[int], kind: str = "box") -> list[Callable[[], Counting]]:
    return [
        lambda name=name, length=length: Counting(name, length, kind)  # type: ignore[misc]
        for name, length in enumerate(lengths)
    ]


def check_whole_episode(episode: Transitions, length: int) -> None:
    """First to last observation of one environment's one episode, nothing else."""
    before, after = episode.observations.vectors, episode.next_observations.vectors
    assert len(np.unique(np.concatenate([before, after])[:, :2], axis=0)) == 1
    np.testing.assert_array_equal(before[:, 2], np.arange(length))
    np.testing.assert_array_equal(after[:, 2], np.arange(1, length + 1))


def check_evaluated(bonus: Recording) -> None:
    """Each step was evaluated once, from an observation to the next of the same episode."""
    before = np.concatenate([t.observations.vectors for t in bonus.evaluated])
    after = np.concatenate([t.next_observations.vectors for t in bonus.evaluated])
    np.testing.assert_array_equal(after - before, np.tile([0.0, 0.0, 1.0], (len(before), 1)))
    assert len(np.unique(after, axis=0)) == len(after)


@pytest.mark.parametrize("kind", ["box", "dict"])
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
@pytest.mark.parametrize("vector_env", [SyncVectorEnv, AsyncVectorEnv])
def test_gymnasium_sees_whole_episodes_in_env_order(
    kind: str, mode: AutoresetMode, vector_env: Any
) -> None:
    bonus = Recording()
    envs = BonusVectorWrapper(vector_env(makers([2, 3, 2], kind), autoreset_mode=mode), bonus)
    envs.reset(seed=0)
    for _ in range(13):
        envs.step(envs.action_space.sample())
    envs.close()
    check_evaluated(bonus)
    for update in bonus.updates:
        names = [int(episode.observations.vectors[0, 0]) for episode in update]
        assert names == sorted(names)
        for name, episode in zip(names, update, strict=True):
            check_whole_episode(episode, length=(2, 3, 2)[name])
            if kind == "dict":
                images = episode.next_observations.images
                assert images is not None
                np.testing.assert_array_equal(
                    images[:, 0, 0, 0], episode.next_observations.vectors[:, 2]
                )
    period = 3 if mode is AutoresetMode.NEXT_STEP else 2  # NEXT_STEP spends a step on the reset
    finished = [int(e.observations.vectors[0, 0]) for update in bonus.updates for e in update]
    assert finished.count(0) == finished.count(2) == (13 + period - 2) // period


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_gymnasium_keeps_rewards_apart(mode: AutoresetMode) -> None:
    envs = BonusVectorWrapper(SyncVectorEnv(makers([2]), autoreset_mode=mode), Recording())
    envs.reset()
    seen = [envs.step(envs.action_space.sample()) for _ in range(4)]
    expected = {
        AutoresetMode.NEXT_STEP: [0.01, 0.02, 0.0, 0.01],
        AutoresetMode.SAME_STEP: [0.01, 0.02, 0.01, 0.02],
    }[mode]
    for (_, rewards, _, _, info), intrinsic in zip(seen, expected, strict=True):
        assert info["intrinsic_reward"][0] == intrinsic
        assert rewards[0] == info["extrinsic_reward"][0] + intrinsic
        assert info["extrinsic_reward"][0] == (10.0 if intrinsic else 0.0)


def test_gymnasium_without_autoreset() -> None:
    bonus = Recording()
    inner = SyncVectorEnv(makers([2, 5]), autoreset_mode=AutoresetMode.DISABLED)
    envs = BonusVectorWrapper(inner, bonus)
    envs.reset()
    for _ in range(4):
        _, _, terminations, truncations, _ = envs.step(envs.action_space.sample())
        ended = terminations | truncations
        if ended.any():
            envs.reset(options={"reset_mask": ended})
    check_evaluated(bonus)
    assert [len(update) for update in bonus.updates] == [1, 1]
    envs.reset()
    assert len(bonus.updates) == 3, "an episode cut short by a reset has been seen too"
    check_whole_episode(bonus.updates[-1][0], length=4)


def test_discrete_actions_are_one_hot() -> None:
    bonus = Recording()
    envs = BonusVectorWrapper(SyncVectorEnv(makers([4, 4], "discrete")), bonus)
    envs.reset()
    envs.step(np.array([2, 0]))
    actions = [step.actions[0].tolist() for step in bonus.evaluated]
    assert actions == [[0, 0, 1], [1, 0, 0]]


def test_spaces_that_cannot_be_read_are_named() -> None:
    envs = SyncVectorEnv([lambda: gymnasium.make("FrozenLake-v1")])
    with pytest.raises(ConfigError, match=r"Discrete\(16\)"):
        BonusVectorWrapper(envs, NoBonus())


def test_a_missing_autoreset_mode_is_named() -> None:
    envs = SyncVectorEnv(makers([2]))
    envs.metadata = {}
    with pytest.raises(ConfigError, match="autoreset_mode"):
        BonusVectorWrapper(envs, NoBonus())


def sb3_env(lengths: Sequence[int], bonus: Any, kind: str = "box") -> Any:
    vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
    from bayes_curiosity_ros.curiosity.wrappers.sb3 import BonusVecEnvWrapper

    return BonusVecEnvWrapper(vec_env.DummyVecEnv(makers(lengths, kind)), bonus)


@pytest.mark.parametrize("kind", ["box", "dict"])
def test_sb3_sees_whole_episodes_in_env_order(kind: str) -> None:
    bonus = Recording()
    envs = sb3_env([2, 3, 2], bonus, kind)
    envs.reset()
    for _ in range(12):
        envs.step(np.zeros((3, 2)))
    check_evaluated(bonus)
    finished = [int(e.observations.vectors[0, 0]) for update in bonus.updates for e in update]
    assert sorted(finished) == [0] * 6 + [1] * 4 + [2] * 6
    for update in bonus.updates:
        names = [int(episode.observations.vectors[0, 0]) for episode in update]
        assert names == sorted(names)
        for name, episode in zip(names, update, strict=True):
            check_whole_episode(episode, length=(2, 3, 2)[name])


def test_sb3_keeps_rewards_apart() -> None:
    envs = sb3_env([2], Recording())
    envs.reset()
    for intrinsic in (0.01, 0.02, 0.01):
        _, rewards, _, infos = envs.step(np.zeros((1, 2)))
        assert infos[0]["extrinsic_reward"] == 10.0
        assert infos[0]["intrinsic_reward"] == intrinsic
        assert rewards[0] == pytest.approx(10.0 + intrinsic)


class Drifting(gymnasium.Env[Any, Any]):
    """Observations that differ from environment to environment."""

    observation_space = spaces.Box(-np.inf, np.inf, (3,), dtype=np.float64)
    action_space = spaces.Box(-1.0, 1.0, (2,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.np_random.normal(size=3), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.np_random.normal(size=3), 0.0, False, bool(self.np_random.random() < 0.2), {}


@pytest.mark.parametrize("name", ["curiosity", "rnd", "vime"])
def test_environments_together_earn_what_each_earns_by_itself(name: str) -> None:
    encoder = Encoder(EncoderConfig(3, fourier_features=16))
    bonus = BONUSES[name].make({}, BonusInputs(3, 2, 0, lambda: encoder))
    envs = BonusVectorWrapper(SyncVectorEnv([Drifting] * 5), bonus)
    envs.reset(seed=0)
    for _ in range(30):
        streams = [copy.deepcopy(episode) for episode in envs._episodes._episodes]
        observations, _, _, _, info = envs.step(actions := envs.action_space.sample())
        for index, episode in enumerate(streams):
            alone = 0.0
            if episode is not None:
                reached = Observations(observations[index : index + 1])
                step = Transitions(episode.last, actions[index : index + 1], reached)
                alone = episode.stream.reward(step)
            assert info["intrinsic_reward"][index] == pytest.approx(alone, rel=1e-5, abs=1e-7)


def test_a_real_bonus_in_a_real_environment() -> None:
    bonus = Rnd(RndConfig(2), torch.Generator().manual_seed(0))
    inner = gymnasium.make_vec("MountainCarContinuous-v0", num_envs=3, max_episode_steps=20)
    envs = BonusVectorWrapper(inner, bonus)
    envs.reset(seed=0)
    for _ in range(50):
        _, _, _, _, info = envs.step(envs.action_space.sample())
        assert np.isfinite(info["intrinsic_reward"]).all()
    assert bonus._vector_moments.count == 2 * 3 * 21


@pytest.mark.slow
def test_the_sb3_example_runs(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("stable_baselines3")
    root = Path(__file__).resolve().parents[2]
    subprocess.run(
        [sys.executable, "examples/sb3_ppo.py", "--steps", "8192"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        check=True,
        timeout=300,
    )
    assert "PPO + curiosity: extrinsic return" in capfd.readouterr().out
