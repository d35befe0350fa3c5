"""Algorithm 2, once, for every task, learner and bonus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.errors import ModelFileError
from bayes_curiosity_ros.learning.algorithm import Algorithm
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.gatherer import Gatherer
from bayes_curiosity_ros.learning.rollout import RunWave, Wave, run_wave
from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class Iteration:
    """What one pass of Algorithm 2 did.

    Attributes:
        timesteps: environment steps so far, this pass included.
        extrinsic_return: mean over the pass's episodes, exploration noise and all.
        success_rate: of the pass's episodes.
        diagnostics: from the learner.
        lengths: (E,) steps of each of the pass's episodes, in their fixed order.
        succeeded: (E,) bool, of the same episodes.
    """

    timesteps: int
    extrinsic_return: float
    success_rate: float
    diagnostics: dict[str, float]
    lengths: np.ndarray
    succeeded: np.ndarray


class Trainer:
    """Episodes with reward e + bonus; the learner learns, then the bonus does.

    Args:
        task: what is learnt.
        algorithm: what learns.
        bonus: what rewards exploration.
        gatherer: where episodes come from.
        run: runs episodes that are evaluated.

    Attributes:
        timesteps: environment steps so far.
        first_success: steps until the end of the first successful episode, or None. Episodes of
            a pass count one after the other, in their fixed order.
    """

    def __init__(
        self,
        task: Task,
        algorithm: Algorithm,
        bonus: Bonus,
        gatherer: Gatherer,
        run: RunWave = run_wave,
    ) -> None:
        self._run = run
        self.task = task
        self.algorithm = algorithm
        self.bonus = bonus
        self.gatherer = gatherer
        self.timesteps = 0
        self.first_success: int | None = None

    def iterate(self) -> Iteration:
        """One pass: explore, learn, remember what was seen."""
        episodes = self.gatherer.gather(self.algorithm.explore())
        diagnostics = self.algorithm.update(episodes, self.bonus)
        self.bonus.update(episodes.split())
        self._count(episodes)
        return Iteration(
            self.timesteps,
            float(episodes.returns().mean()),
            float(episodes.succeeded.mean()),
            diagnostics,
            episodes.lengths,
            episodes.succeeded,
        )

    def _count(self, episodes: Episodes) -> None:
        if self.first_success is None and episodes.succeeded.any():
            first = int(episodes.succeeded.argmax())
            self.first_success = self.timesteps + int(episodes.lengths[: first + 1].sum())
        self.timesteps += episodes.steps

    def evaluate(self, count: int, rng: np.random.Generator) -> Episodes:
        """Episodes without exploration noise; training is not disturbed."""
        return self._run(Wave(self.task, self.algorithm.exploit(), count, rng))

    def state_dict(self) -> dict[str, Any]:
        """All that a later process needs to go on exactly as this one would."""
        return {
            "task": self.task.name,
            "algorithm_kind": type(self.algorithm).__name__,
            "bonus_kind": type(self.bonus).__name__,
            "algorithm": self.algorithm.state_dict(),
            "bonus": self.bonus.state_dict(),
            "gatherer": self.gatherer.state_dict(),
            "timesteps": self.timesteps,
            "first_success": -1 if self.first_success is None else self.first_success,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave.

        Raises:
            ModelFileError: the state is of another task, learner or bonus; nothing changed.
        """
        mine = {
            "task": self.task.name,
            "algorithm_kind": type(self.algorithm).__name__,
            "bonus_kind": type(self.bonus).__name__,
        }
        for key, value in mine.items():
            if state.get(key) != value:
                raise ModelFileError(
                    f"the checkpoint has {key} {state.get(key)!r}, this run {value!r}; "
                    "start it with the same task, algorithm and bonus"
                )
        self.algorithm.load_state_dict(state["algorithm"])
        self.bonus.load_state_dict(state["bonus"])
        self.gatherer.load_state_dict(state["gatherer"])
        self.timesteps = int(state["timesteps"])
        first_success = int(state["first_success"])
        self.first_success = None if first_success < 0 else first_success
