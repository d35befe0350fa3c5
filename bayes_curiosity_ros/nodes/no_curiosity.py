"""In place of the curiosity node's client where the bonus is no node of its own."""

from __future__ import annotations

import numpy as np
from rclpy.publisher import Publisher

from bayes_curiosity_interfaces.msg import Observation
from bayes_curiosity_ros.curiosity.data import Observations


class NoCuriosity:
    """A `CuriosityClient` that asks no node: nothing is paid, nothing is kept.

    Args:
        observations: the learner's publisher of `observation`.
    """

    topics: tuple[str, ...] = ()
    information = 0.0
    strangers = 0
    claim = None
    price = None

    def __init__(self, observations: Publisher) -> None:
        self._observations = observations

    def wait_until_there(self, timeout_s: float) -> None:
        pass

    def begin(self, episode: int) -> None:
        pass

    def publish(self, observation: Observation) -> None:
        self._observations.publish(observation)

    def finish(
        self, observations: Observations, learnt_from: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        nothing = np.zeros(len(observations))
        return nothing, nothing

    def settle(self) -> None:
        pass

    def reset(self) -> None:
        pass

    def save(self, name: str) -> str:
        return ""

    def load(self, name: str, checksum: str) -> None:
        pass
