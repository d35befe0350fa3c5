"""How many control steps SAC takes until so many episodes succeed: ours and Stable-Baselines3's.

Both have the same task, the same demonstrated episodes in their memories, the same normalised
observations, discount and number of updates per step. Stable-Baselines3's has its own default
networks and settings otherwise, and one memory for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.wrappers import TimeLimit
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback
from tqdm import tqdm

from bayes_curiosity_ros.experiments.engine.build import Ground
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.settings import CellSettings, load_settings
from bayes_curiosity_ros.experiments.engine.work import Work
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.rollout import run_episodes
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.tasks.arm.gymnasium_env import ArmEnv
from bayes_curiosity_ros.tasks.task import Task

WANTED = 0.8
EVALUATE_EVERY = 1000
EPISODES = 50
METHOD = "none"


def ground_of(task: str, folder: Path, budget: int | None = None) -> Ground:
    """What the runs of `experiment memory` on a task start from.

    Args:
        task: name of the task.
        folder: for what they start from.
        budget: control steps in place of the experiment's.
    """
    settings = load_settings(find("config/experiments", "memory.yaml"))
    settings = settings if budget is None else settings.with_timesteps(budget)
    cell = Cell(task, "sac", METHOD)
    return Work({cell: settings.cell(cell)}, folder).ground(cell)


def success(task: Task, behaviour: Any, seed: int, steps: int) -> float:
    """Share of episodes without noise that succeed."""
    rng = np.random.default_rng([seed, 2, steps])
    return float(run_episodes(task, behaviour, EPISODES, rng).succeeded.mean())


def ours(ground: Ground, seed: int) -> float:
    """Control steps until WANTED is reached; infinite if not within the budget."""
    trainer = ground.trainer(seed)
    return _first(
        ground.cell,
        _iterated(trainer),
        lambda steps: success(trainer.task, trainer.algorithm.exploit(), seed, steps),
        f"ours, seed {seed}",
    )


def _iterated(trainer: Trainer) -> Iterator[int]:
    while True:
        trainer.iterate()
        yield trainer.timesteps


def _first(
    cell: CellSettings, steps_taken: Iterator[int], rate: Callable[[int], float], title: str
) -> float:
    due = EVALUATE_EVERY
    with tqdm(total=cell.timesteps, desc=title, disable=None, leave=False) as bar:
        for steps in steps_taken:
            bar.update(min(steps, cell.timesteps) - bar.n)
            if steps >= due:
                due += EVALUATE_EVERY
                if rate(steps) >= WANTED:
                    return float(steps)
            if steps >= cell.timesteps:
                break
    return float("inf")


class Deterministic:
    """Stable-Baselines3's policy without its noise, as a behaviour of ours."""

    def __init__(self, model: SAC, task: Task) -> None:
        self._model, self._task = model, task

    def begin(self, count: int, horizon: int, rng: np.random.Generator) -> None:
        pass

    def act(self, observations: np.ndarray, step: int) -> np.ndarray:
        return self._model.predict(normalised(self._task, observations), deterministic=True)[0]


class Until(BaseCallback):
    """Ends training once enough episodes succeed."""

    def __init__(self, task: Task, seed: int) -> None:
        super().__init__()
        self._task, self._seed = task, seed
        self.steps = float("inf")

    def _on_step(self) -> bool:
        if self.num_timesteps % EVALUATE_EVERY:
            return True
        behaviour = Deterministic(self.model, self._task)  # type: ignore[arg-type]
        if success(self._task, behaviour, self._seed, self.num_timesteps) < WANTED:
            return True
        self.steps = float(self.num_timesteps)
        return False


def theirs(ground: Ground, seed: int) -> float:
    """The same of Stable-Baselines3's SAC."""
    cell = ground.cell
    env = TimeLimit(ArmEnv(cell.cell.task, **cell.options), ground.task.horizon)
    model = SAC(
        "MlpPolicy",
        Normalised(env, ground.task),
        buffer_size=cell.learning.options["buffer_capacity"],
        gamma=cell.learning.options["discount"],
        gradient_steps=round(cell.learning.options["updates_per_step"]),
        learning_starts=0,
        seed=seed,
        device="cpu",
    )
    fill(model, ground.task, ground.demonstrated(seed))
    until = Until(ground.task, seed)
    model.learn(cell.timesteps, callback=until)
    return until.steps


def normalised(task: Task, observations: np.ndarray) -> np.ndarray:
    """Observations as our learners normalise them, which Stable-Baselines3 does not do itself."""
    return ((observations - task.observation_center) / task.observation_scale).astype(np.float32)


class Normalised(gymnasium.ObservationWrapper[np.ndarray, np.ndarray, np.ndarray]):
    """An environment with such observations."""

    def __init__(self, env: gymnasium.Env[Any, Any], task: Task) -> None:
        super().__init__(env)
        self._task = task
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (task.observation_size,))

    def observation(self, observation: np.ndarray) -> np.ndarray:
        return normalised(self._task, observation)


def fill(model: SAC, task: Task, episodes: Episodes) -> None:
    """Demonstrated transitions, into the one memory that it has."""
    buffer = model.replay_buffer
    assert buffer is not None
    seen = normalised(task, episodes.observations)
    for number, length in enumerate(episodes.lengths):
        for step in range(length):
            over = step == length - 1 and bool(episodes.terminated[number])
            buffer.add(
                seen[number, step][None],
                seen[number, step + 1][None],
                episodes.actions[number, step][None].astype(np.float32),
                episodes.rewards[number, step][None],
                np.array([over]),
                [{}],
            )
