"""The map of the curiosity at times of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.learning.map.points import CuriosityMap, Price

# It is shown every time until it was so often, then more and more seldom: most happens at first.
ALL_SHOWN = 10
LATER = 1.15
NEAR_M, FAR_M = 0.08, 0.25  # distances from where the hand has been
MOST_HANDS = 2000  # places of the hand that distances are measured from


@dataclass(frozen=True)
class Moment:
    """The map at one time.

    Attributes:
        episodes: number of episodes recorded before.
        values: (N,) curiosity c + log β at the points, in [nats].
    """

    episodes: int
    values: np.ndarray


@dataclass(frozen=True)
class MapHistory:
    """The map before a recorded run, at times in it, and after it.

    Attributes:
        map: points of the map.
        spot: (3,) where the object stands in it, in [m].
        moments: the map at times, the first before all episodes, the last after them.
        paths: (T, 3) places of the hand in each episode, in [m].
    """

    map: CuriosityMap
    spot: np.ndarray
    moments: list[Moment] = field(default_factory=list)
    paths: list[np.ndarray] = field(default_factory=list)

    def left(self) -> tuple[float, float]:
        """Shares of the curiosity that are left near where the hand has been, and far from it.

        NaN where there is no such point.
        """
        hands = np.concatenate(self.paths)
        hands = hands[:: math.ceil(len(hands) / MOST_HANDS)]
        away = np.array([np.linalg.norm(hands - each, axis=1).min() for each in self.map.points])
        before, after = self.moments[0].values, self.moments[-1].values
        near, far = away < NEAR_M, away > FAR_M
        shares = [after[some].sum() / before[some].sum() for some in (near, far) if some.any()]
        return (shares[0], shares[1]) if len(shares) == 2 else (math.nan, math.nan)


def gains_of(curiosity: Curiosity) -> Price:
    """What prices observations by c + log β, in [nats], whatever the form of the reward."""
    log_beta = math.log(curiosity.config.regression.noise_precision)

    def price(observations: Observations) -> np.ndarray:
        return curiosity.score(observations).curiosity + log_beta

    return price


def shown(count: int) -> bool:
    """Whether the map is shown after so many episodes or updates: ever more seldom."""
    if count <= ALL_SHOWN:
        return True
    return math.floor(math.log(count, LATER)) > math.floor(math.log(count - 1, LATER))
