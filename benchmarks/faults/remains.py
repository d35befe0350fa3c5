"""What a run left behind, so that two can be compared bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.curiosity.model_file import load_model
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.files import load_state
from bayes_curiosity_ros.learning.checkpoint import CHECKPOINT, MODELS, model_name
from bayes_curiosity_ros.learning.episode_log import LOG


@dataclass(frozen=True)
class Remains:
    """What is left of a run.

    Attributes:
        rows: lines of the episode log.
        policy: state of the learner, its policy included.
        posterior: state of the curiosity's model.
        episodes: numbers of the episodes that are whole in the run's bags.
    """

    rows: list[str]
    policy: Any
    posterior: Any
    episodes: frozenset[int]

    def differences(self, other: Remains) -> list[str]:
        """Names of what differs from another run's; empty where nothing does."""
        found = [] if self.rows == other.rows else [self._first_row(other)]
        names = ("policy", "posterior")
        return found + [n for n in names if not same(getattr(self, n), getattr(other, n))]

    def missing(self, wanted: Remains) -> list[int]:
        """Episodes that the other has whole in its bags, and this one has not."""
        return sorted(wanted.episodes - self.episodes)

    def _first_row(self, other: Remains) -> str:
        pairs = enumerate(zip(self.rows, other.rows, strict=False))
        first = next((number for number, (a, b) in pairs if a != b), None)
        if first is None:
            return f"rows ({len(self.rows)} in place of {len(other.rows)})"
        return f"rows (first in line {first + 1})"


def remains_of(output: Path) -> Remains:
    """Read what a run left in its folder.

    Raises:
        BayesCuriosityError, OSError: something is missing or cannot be read.
    """
    rows = (output / LOG).read_text().splitlines()
    checkpoint = load_state(output / CHECKPOINT)
    model = output / MODELS / model_name(int(checkpoint["extra"]["iteration"]))
    posterior = load_model(model).curiosity.state_dict()
    policy = checkpoint["trainer"]["algorithm"]
    return Remains(rows, policy, posterior, whole_episodes(output / "bags"))


def whole_episodes(folder: Path) -> frozenset[int]:
    """Episodes that ended, with nothing missing, in any bag of a folder."""
    found: set[int] = set()
    for path in sorted(folder.glob("*")):
        try:
            found |= {e.id for e in read_episodes(BagReader(path)) if e.outcome and not e.faults}
        except BayesCuriosityError:
            continue
    return frozenset(found)


def same(one: Any, other: Any) -> bool:
    """Whether nested dicts and lists of tensors, arrays and numbers are equal, bit for bit."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)
