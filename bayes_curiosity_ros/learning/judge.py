"""A judge of success by what the camera sees, learnt from episodes whose outcome is known.

On a real table nobody may know where the object is. A person marks some episodes
(`learner/mark_success`); a logistic regression on the encoder's latent space learns from them what
success looks like, and says so from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bayes_curiosity_ros.configuration.settings import require_nonnegative, require_positive
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.errors import ConfigError, InputError, ModelFileError
from bayes_curiosity_ros.files import load_state, save_state
from bayes_curiosity_ros.learning.perception import PerceivedTask, Perception
from bayes_curiosity_ros.tasks.task import Task

FORMAT = "bayes_curiosity_judge/1"
NEWTON_STEPS = 50


@dataclass(frozen=True)
class JudgeConfig:
    """How a judge learns.

    Attributes:
        ridge: weight of the squared weights in the loss, per observation.
        shown_steps: last observations of a success that show it.
        unclear_steps: observations before those, which are left out: they show it almost.
        held_out: share of the episodes that it is tried on, and does not learn from.
    """

    ridge: float = 0.01
    shown_steps: int = 1
    unclear_steps: int = 3
    held_out: float = 0.2

    def __post_init__(self) -> None:
        require_positive(self, "ridge", "shown_steps")
        require_nonnegative(self, "unclear_steps")
        if not 0.0 <= self.held_out < 1.0:
            raise ConfigError(f"held_out = {self.held_out}; it must be in [0, 1)")


@dataclass(frozen=True)
class Judged:
    """Observations of one episode, and which of them show success.

    Attributes:
        features: (N, F) what a perception makes of the observations.
        success: (N,) bool.
    """

    features: np.ndarray
    success: np.ndarray

    @staticmethod
    def of(features: np.ndarray, succeeded: bool, config: JudgeConfig) -> Judged:
        """An episode whose outcome is known."""
        labels = np.zeros(len(features), dtype=bool)
        if not succeeded:
            return Judged(features, labels)
        labels[-config.shown_steps :] = True
        end = max(len(features) - config.shown_steps, 0)
        unclear = slice(max(end - config.unclear_steps, 0), end)
        return Judged(np.delete(features, unclear, 0), np.delete(labels, unclear))


class Judge:
    """P(success) = 1 / (1 + exp(-(w·f + b))), f the features in units of their spread.

    Args:
        center: (F,) subtracted from the features.
        scale: (F,) then divided by.
        weights: (F + 1,) w, and b last.
    """

    def __init__(self, center: np.ndarray, scale: np.ndarray, weights: np.ndarray) -> None:
        self.center, self.scale, self.weights = center, scale, weights

    def probability(self, features: np.ndarray) -> np.ndarray:
        """(N,) that these features, (N, F), show success."""
        return _logistic(_rows((features - self.center) / self.scale) @ self.weights)


def train_judge(episodes: Sequence[Judged], config: JudgeConfig) -> Judge:
    """A judge that fits these episodes, successes and the rest counting alike.

    Raises:
        InputError: none succeeded, or nothing but success was seen.
    """
    features = np.concatenate([each.features for each in episodes])
    success = np.concatenate([each.success for each in episodes])
    if success.all() or not success.any():
        raise InputError(
            f"{int(success.sum())} of {len(success)} observations show success; a judge learns "
            "from both kinds: mark some episodes with learner/mark_success"
        )
    center, scale = features.mean(axis=0), features.std(axis=0) + 1e-9
    share = np.where(success, 0.5 / success.mean(), 0.5 / (1 - success.mean()))
    rows = _rows((features - center) / scale)
    return Judge(center, scale, _fitted(rows, success, share, config.ridge))


def _fitted(rows: np.ndarray, success: np.ndarray, share: np.ndarray, ridge: float) -> np.ndarray:
    """Newton's method on the weighted log-loss plus ridge × |w|², the bias left out of that."""
    weights, count = np.zeros(rows.shape[1]), len(rows)
    penalty = np.full(rows.shape[1], ridge)
    penalty[-1] = 0.0
    for _ in range(NEWTON_STEPS):
        probability = _logistic(rows @ weights)
        gradient = rows.T @ (share * (probability - success)) / count + 2 * penalty * weights
        spread = share * probability * (1 - probability)
        hessian = (rows.T * spread) @ rows / count + np.diag(2 * penalty + 1e-9)
        step = np.linalg.solve(hessian, gradient)
        weights -= step / max(1.0, float(np.linalg.norm(step)))
        if np.abs(step).max() < 1e-9:
            break
    return weights


def _rows(features: np.ndarray) -> np.ndarray:
    return np.column_stack([features, np.ones(len(features))])


def _logistic(values: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-np.clip(values, -500, 500)))


def save_judge(path: Path, judge: Judge, encoder: str) -> None:
    """Write a judge: whole, or not at all.

    Args:
        path: path of the file.
        judge: what is written.
        encoder: id of the encoder that it sees with.
    """
    numbers = {
        name: torch.from_numpy(getattr(judge, name)) for name in ("center", "scale", "weights")
    }
    save_state(path, {"format": FORMAT, "encoder": encoder, **numbers})


def load_judge(path: Path, perception: Perception) -> Judge:
    """Read what `save_judge` wrote.

    Raises:
        ModelFileError: missing, damaged, of another kind, or made with another encoder.
    """
    state = load_state(path)
    if state.get("format") != FORMAT:
        raise ModelFileError(f"{path} has format {state.get('format')!r}; expected {FORMAT!r}")
    if state.get("encoder") != perception.encoder_id:
        raise ModelFileError(
            f"{path} sees with encoder {state.get('encoder')!r}, this run with "
            f"{perception.encoder_id!r}; give the model that the judge was made with"
        )
    return Judge(*(state[name].numpy() for name in ("center", "scale", "weights")))


class Watching:
    """Looks at every observation of an episode, and says when it has succeeded.

    Args:
        judge: what knows success.
        perception: what it sees with.
        threshold: probability from which an observation shows success,
        steps: and how many in a row have to.
    """

    def __init__(self, judge: Judge, perception: Perception, threshold: float, steps: int) -> None:
        self._judge, self._perception = judge, perception
        self._threshold, self._steps = threshold, steps
        self._seen = 0

    def begin(self) -> None:
        """An episode begins."""
        self._seen = 0

    def sees_success(self, observation: Observations) -> bool:
        """Whether the episode has succeeded by now."""
        probability = self._judge.probability(self._perception(observation))[0]
        self._seen = self._seen + 1 if probability >= self._threshold else 0
        return self._seen >= self._steps


def perception_of(task: Task) -> Perception:
    """What a judge of a task sees with.

    Raises:
        ConfigError: the task has no camera.
    """
    if not isinstance(task, PerceivedTask):
        raise ConfigError(f"a judge looks through a camera; task {task.name!r} has none")
    return task.perception
