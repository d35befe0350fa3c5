"""A bounded memory of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_curiosity_ros.errors import InputError


class Pool:
    """The newest `capacity` rows of a stream, in no particular order."""

    def __init__(self, capacity: int, width: int) -> None:
        """Start empty.

        Args:
            capacity: rows to remember.
            width: numbers per row.
        """
        self.capacity = capacity
        self._rows: np.ndarray = np.empty((0, width), dtype=np.float32)
        self._oldest = 0

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> np.ndarray:
        """All rows: (N, width) float32."""
        return self._rows

    def add(self, rows: np.ndarray) -> None:
        """Remember rows; beyond the capacity, the oldest make room."""
        rows = rows[-self.capacity :]
        free = self.capacity - len(self._rows)
        self._rows = np.concatenate([self._rows, rows[:free]])
        late = rows[free:]
        self._rows[(self._oldest + np.arange(len(late))) % self.capacity] = late
        self._oldest = (self._oldest + len(late)) % self.capacity

    def state_dict(self) -> dict[str, Any]:
        """The rows and where the oldest is."""
        return {"rows": self._rows.copy(), "oldest": self._oldest}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave; more rows or wider ones: rejected, no change."""
        rows = np.array(state["rows"], dtype=np.float32)
        if rows.shape[1] != self._rows.shape[1] or len(rows) > self.capacity:
            raise InputError(
                f"the pool has shape {rows.shape}; expected at most {self.capacity} rows of "
                f"{self._rows.shape[1]}"
            )
        self._rows, self._oldest = rows, int(state["oldest"])
