"""A bounded memory of transitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.row_log import RowLog


class Buffer:
    """The last `capacity` transitions; what a bonus said of each is apart, as that changes.

    Args:
        name: of its files beside a checkpoint.
        capacity: transitions kept.
        observation_size: D.
        action_size: A.

    Attributes:
        log: the transitions; fields of a row are `observation`, `action`, `reward` (extrinsic),
            `next_observation`, `terminated` (1 where the episode ended there for good) and `first`
            (of an episode).
        intrinsic: (capacity,) of the same rows.
    """

    def __init__(self, name: str, capacity: int, observation_size: int, action_size: int) -> None:
        self.log = RowLog(name, capacity, row_kind(observation_size, action_size))
        self.intrinsic = np.zeros(capacity, dtype=np.float32)

    def __len__(self) -> int:
        return len(self.log)

    @property
    def added(self) -> int:
        """Transitions so far, those no longer kept included."""
        return self.log.added

    @property
    def oldest(self) -> int:
        """Number of the oldest transition kept, counted from the first one ever."""
        return self.added - len(self)

    def add(self, episodes: Episodes) -> None:
        """Append every step, overwriting the oldest when full."""
        mask = episodes.mask
        steps = np.arange(episodes.horizon)
        last = (steps == episodes.lengths[:, None] - 1) & episodes.terminated[:, None]
        rows: np.ndarray = np.zeros(episodes.steps, self.log.data.dtype)
        rows["observation"] = episodes.observations[:, :-1][mask]
        rows["action"] = np.clip(episodes.actions[mask], -1.0, 1.0)
        rows["reward"] = episodes.rewards[mask]
        rows["next_observation"] = episodes.observations[:, 1:][mask]
        rows["terminated"] = last[mask]
        rows["first"] = np.broadcast_to(steps == 0, mask.shape)[mask]
        self.log.append(rows)

    def price(self, bonus: Bonus, first: int, end: int) -> None:
        """Set the intrinsic reward of the transitions numbered so to what the bonus says now.

        Args:
            bonus: asked episode by episode.
            first: number of an episode's first transition; of the oldest one, the beginning may
                have been overwritten.
            end: number after an episode's last one.
        """
        slots = self.log.slots(first, end)
        begins = np.flatnonzero(self.log.data["first"][slots])
        episodes = np.split(slots, begins[begins > 0])
        self.intrinsic[slots] = bonus.evaluate([self.transitions(each) for each in episodes])

    def episode_end(self, number: int) -> int:
        """The number of the first episode that begins there or later, or of what comes next."""
        while number < self.added and not self.log.data["first"][number % len(self.intrinsic)]:
            number += 1
        return min(number, self.added)

    def transitions(self, slots: np.ndarray) -> Transitions:
        """The transitions in these places, as a bonus sees them."""
        rows = self.log.data[slots]
        return Transitions(
            Observations(rows["observation"].astype(np.float64)),
            rows["action"].astype(np.float64),
            Observations(rows["next_observation"].astype(np.float64)),
        )

    def state_dict(self) -> dict[str, Any]:
        """The transitions kept, and what they were worth last."""
        return {"log": self.log, "intrinsic": self.intrinsic[: len(self)]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.log.load(state["log"])
        self.intrinsic[: len(self)] = np.asarray(state["intrinsic"])


def row_kind(observation_size: int, action_size: int) -> np.dtype:
    """What a transition is made of, in memory and on disk."""
    return np.dtype(
        [
            ("observation", "<f4", (observation_size,)),
            ("action", "<f4", (action_size,)),
            ("reward", "<f4"),
            ("next_observation", "<f4", (observation_size,)),
            ("terminated", "<f4"),
            ("first", "?"),
        ]
    )
