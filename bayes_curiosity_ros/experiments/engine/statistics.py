"""What the experiments' analyses share: rows by run, the end of a run, the first success."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row

FINAL_SHARE = 0.1


def by_run(rows: Iterable[Row]) -> dict[Cell, dict[int, list[Row]]]:
    """Rows by cell, then by seed, in their order."""
    runs: dict[Cell, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        runs[row.cell][row.seed].append(row)
    return runs


def final_part(timesteps: np.ndarray) -> np.ndarray:
    """Which of these times (K,) are in the last tenth of the run: (K,) bool."""
    return timesteps > (1 - FINAL_SHARE) * timesteps[-1]


def first_success(run: Sequence[Row]) -> float:
    """Steps to the end of a run's first successful episode; infinite: never."""
    steps = run[-1].first_success
    return float(steps) if steps >= 0 else float("inf")
