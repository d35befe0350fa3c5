"""What remembered transitions are worth to a bonus that goes on learning.

A bonus is a property of what is known *now*: a first visit's reward, kept for ever, would be paid
for ever. Within an update what is known stays the same, so that pricing before its minibatches are
drawn is pricing when they are. Where the curiosity is a node of its own, its rewards stay as they
came.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.learning.buffer import Buffer
from bayes_curiosity_ros.learning.gathered import GatheredBonus

RELABELS = ("never", "bounded", "always")


class Pricing(ABC):
    """Prices what is new in a buffer, and some of what is not."""

    def __init__(self) -> None:
        self._priced = 0  # transitions that were priced when they came

    def price(self, buffer: Buffer, bonus: Bonus) -> float:
        """Bring a buffer's intrinsic rewards up to date; the mean of those that are new."""
        if not len(buffer):
            return 0.0
        new = max(self._priced, buffer.oldest)
        if isinstance(bonus, GatheredBonus) or not self.all_again(buffer):
            self._price_new(buffer, bonus, new)
        else:
            buffer.price(bonus, buffer.oldest, buffer.added)
        self._priced = buffer.added
        slots = buffer.log.slots(new, buffer.added)
        return float(buffer.intrinsic[slots].mean()) if len(slots) else 0.0

    def _price_new(self, buffer: Buffer, bonus: Bonus, first: int) -> None:
        if first < buffer.added:
            if not isinstance(bonus, GatheredBonus):
                self.some_again(buffer, bonus, buffer.added - first)
            buffer.price(bonus, first, buffer.added)

    @abstractmethod
    def all_again(self, buffer: Buffer) -> bool:
        """Whether all of the buffer is due."""

    def some_again(self, buffer: Buffer, bonus: Bonus, new: int) -> None:
        """Price what is due besides so many new transitions: nothing."""
        return

    def state_dict(self) -> dict[str, Any]:
        """All state."""
        return {"priced": self._priced}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self._priced = int(state["priced"])


class Refreshing(Pricing):
    """Prices all again whenever the memory has grown enough.

    Args:
        growth: of the number of transitions so far, as a share.
    """

    def __init__(self, growth: float) -> None:
        super().__init__()
        self._growth = growth
        self._refreshed = 0

    def all_again(self, buffer: Buffer) -> bool:
        due = buffer.added >= (1 + self._growth) * self._refreshed
        self._refreshed = buffer.added if due else self._refreshed
        return due

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"refreshed": self._refreshed}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self._refreshed = int(state["refreshed"])


class Relabelling(Pricing):
    """Prices old episodes again in turns: each costs the same however large the memory is.

    Args:
        relabel: "never" leaves a transition at what it was worth when it came. "bounded" prices,
            besides what is new, `per_step` older transitions for each new one, in whole episodes,
            from the oldest to the newest and round again. "always" prices all.
        per_step: see "bounded".

    Raises:
        ConfigError: there is no such way, or the number is negative.
    """

    def __init__(self, relabel: str, per_step: float) -> None:
        super().__init__()
        if relabel not in RELABELS:
            raise unknown_name("relabel", relabel, RELABELS)
        if not per_step >= 0:
            raise ConfigError(f"relabel_per_step = {per_step} must be ≥ 0")
        self._relabel = relabel
        self._per_step = per_step
        self._next = 0  # number of the transition that is due next
        self._end = 0  # number after the last one of this round

    def all_again(self, buffer: Buffer) -> bool:
        return self._relabel == "always"

    def some_again(self, buffer: Buffer, bonus: Bonus, new: int) -> None:
        if self._relabel == "never":
            return
        if not buffer.oldest <= self._next < self._end:  # round again, up to what is old by now
            self._next, self._end = buffer.oldest, buffer.added - new
        due = buffer.episode_end(self._next + round(self._per_step * new))
        first, self._next = self._next, min(due, self._end)
        if self._next > first:
            buffer.price(bonus, first, self._next)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"next": self._next, "end": self._end}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self._next, self._end = int(state["next"]), int(state["end"])
