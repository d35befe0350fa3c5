"""What every experiment is made of: cells, jobs, and the rows that come of a job."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bayes_curiosity_ros.learning.trainer import Iteration

WINDOW = 10  # episodes; the paper's
LONG_WINDOW = 100
NOTHING = float("nan")


class Cell(NamedTuple):
    """A task, what learns it, and the method that it explores with."""

    task: str
    learner: str
    method: str

    def __str__(self) -> str:
        return "/".join(self)

    def within(self, folder: Path) -> Path:
        """Folder of the cell's own files: checkpoints and progress of its runs."""
        return folder / "runs" / self.task / self.learner / self.method


@dataclass(frozen=True, order=True)
class Job:
    """One run: a cell and a seed."""

    task: str
    learner: str
    method: str
    seed: int

    @property
    def cell(self) -> Cell:
        """The cell that this run belongs to."""
        return Cell(self.task, self.learner, self.method)


@dataclass(frozen=True)
class Row:
    """Where one run stood at one time.

    Attributes:
        task: what was learnt.
        learner: what learnt it.
        method: how it explored: a bonus with its settings.
        seed: of the run.
        timesteps: environment steps of training so far.
        episodes: whole training episodes so far; -1 where nobody counted.
        success_rate: share of successful ones among the last iteration's training episodes,
            exploration noise included; nan before the first iteration.
        extrinsic_return: mean over the same episodes.
        successes_per_timestep: successes ÷ steps of the 10 most recent training episodes, in
            their fixed order.
        successes_per_timestep_100: the same of the 100 most recent ones.
        intrinsic_reward: mean bonus per step that the last update saw, weight included.
        evaluation_return: mean extrinsic return of episodes without noise; nan where the
            experiment does not evaluate.
        evaluation_success_rate: share of successful ones among the same episodes.
        first_success: training steps to the end of the first successful episode; -1: none yet.
        seconds: wall time, interruptions left out.
    """

    task: str
    learner: str
    method: str
    seed: int
    timesteps: int
    episodes: int = -1
    success_rate: float = NOTHING
    extrinsic_return: float = NOTHING
    successes_per_timestep: float = NOTHING
    successes_per_timestep_100: float = NOTHING
    intrinsic_reward: float = NOTHING
    evaluation_return: float = NOTHING
    evaluation_success_rate: float = NOTHING
    first_success: int = -1
    seconds: float = NOTHING

    @property
    def job(self) -> Job:
        """The run that this row belongs to."""
        return Job(self.task, self.learner, self.method, self.seed)

    @property
    def cell(self) -> Cell:
        """The cell that this row belongs to."""
        return self.job.cell


class Evaluation(NamedTuple):
    """Mean extrinsic return and success rate of episodes without noise; nan for none."""

    mean_return: float = NOTHING
    success_rate: float = NOTHING


Evaluate = Callable[[int], Evaluation]  # given the number of the row, from 0


def no_evaluation(index: int) -> Evaluation:
    """For experiments that do not evaluate."""
    return Evaluation()


class Record:
    """The rows of a run so far, and what the next ones need.

    Args:
        job: the run.
        points: rows of the whole run, evenly spaced over its budget.
        budget: timesteps of the whole run.
        evaluate: evaluates the learner where a row is due.
    """

    def __init__(
        self, job: Job, points: int, budget: int, evaluate: Evaluate = no_evaluation
    ) -> None:
        self.job = job
        self.rows: list[Row] = []
        self._points, self._budget = points, budget
        self._evaluate = evaluate
        self._recent: deque[tuple[int, bool]] = deque(maxlen=LONG_WINDOW)
        self._episodes = 0

    def begin(self, seconds: float) -> None:
        """Add a row before the first iteration, for its evaluation."""
        self.rows.append(self._row(timesteps=0, seconds=seconds))

    def add(self, iteration: Iteration, first_success: int | None, seconds: float) -> None:
        """Take in an iteration; add a row where one is due, and at the end.

        Args:
            iteration: its episodes.
            first_success: timesteps to the first successful episode of the run.
            seconds: wall time so far.
        """
        self._recent.extend(
            zip(iteration.lengths.tolist(), iteration.succeeded.tolist(), strict=True)
        )
        self._episodes += len(iteration.lengths)
        steps = iteration.timesteps
        due = (sum(row.timesteps > 0 for row in self.rows) + 1) * self._budget
        if steps * self._points >= due or steps >= self._budget:
            self.rows.append(self._row_of(iteration, first_success, seconds))

    def _row_of(self, iteration: Iteration, first_success: int | None, seconds: float) -> Row:
        recent = list(self._recent)
        return self._row(
            timesteps=iteration.timesteps,
            success_rate=round(iteration.success_rate, 4),
            extrinsic_return=round(iteration.extrinsic_return, 4),
            successes_per_timestep=round(successes_per_timestep(recent[-WINDOW:]), 6),
            successes_per_timestep_100=round(successes_per_timestep(recent), 6),
            intrinsic_reward=round(iteration.diagnostics.get("intrinsic", NOTHING), 8),
            first_success=-1 if first_success is None else first_success,
            seconds=seconds,
        )

    def _row(self, timesteps: int, seconds: float, **values: Any) -> Row:
        evaluation = self._evaluate(len(self.rows))
        return Row(
            **vars(self.job),
            timesteps=timesteps,
            episodes=self._episodes,
            evaluation_return=round(evaluation.mean_return, 4),
            evaluation_success_rate=round(evaluation.success_rate, 4),
            seconds=round(seconds, 3),
            **values,
        )

    def state_dict(self) -> dict[str, Any]:
        """For a checkpoint."""
        return {
            "rows": [dataclasses.asdict(row) for row in self.rows],
            "recent": [[length, succeeded] for length, succeeded in self._recent],
            "episodes": self._episodes,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.rows = [Row(**row) for row in state["rows"]]
        self._recent.extend((length, succeeded) for length, succeeded in state["recent"])
        self._episodes = int(state["episodes"])


def successes_per_timestep(episodes: list[tuple[int, bool]]) -> float:
    """The paper's metric over (length, succeeded) of some episodes."""
    steps = sum(length for length, _ in episodes)
    return float(np.sum([succeeded for _, succeeded in episodes]) / steps) if steps else 0.0
