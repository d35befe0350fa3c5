"""Sets of whole numbers that mostly follow each other: small, however many there are."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

import numpy as np


class Spans:
    """Numbers from 0 to 2⁶⁴ - 1, as stretches from a first to a last one.

    Args:
        numbers: those to begin with, in any order.
    """

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for number in numbers:
            self.add(number)

    @staticmethod
    def of(numbers: np.ndarray) -> Spans:
        """Those of an array (N,) of unsigned numbers in rising order.

        Raises:
            ValueError: they are in another order, or no such array.
        """
        if numbers.ndim != 1 or numbers.dtype.kind != "u" or (numbers[1:] <= numbers[:-1]).any():
            raise ValueError("these are no unsigned numbers in rising order")
        spans, after = Spans(), np.flatnonzero(np.diff(numbers) != 1) + 1
        stretches = np.split(numbers, after) if len(numbers) else []
        spans._firsts = [int(each[0]) for each in stretches]
        spans._lasts = [int(each[-1]) for each in stretches]
        return spans

    def array(self) -> np.ndarray:
        """All of them, (N,) uint64 in rising order."""
        parts = [
            np.uint64(first) + np.arange(last - first + 1, dtype=np.uint64) for first, last in self
        ]
        return np.concatenate([np.empty(0, np.uint64), *parts])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spans) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # they change

    def __len__(self) -> int:
        return sum(last - first + 1 for first, last in self)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number) - 1
        return at >= 0 and number <= self._lasts[at]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._lasts, strict=True)

    def add(self, number: int) -> None:
        """Take one in."""
        if number in self:
            return
        at = bisect_right(self._firsts, number)
        self._firsts.insert(at, number)
        self._lasts.insert(at, number)
        self._join(at)
        self._join(at - 1)

    def _join(self, at: int) -> None:
        """Make one of two neighbours that touch."""
        if 0 <= at < len(self._firsts) - 1 and self._lasts[at] + 1 == self._firsts[at + 1]:
            del self._firsts[at + 1], self._lasts[at]


def span(first: int, last: int) -> str:
    """A stretch in words."""
    return str(first) if first == last else f"{first}…{last}"
