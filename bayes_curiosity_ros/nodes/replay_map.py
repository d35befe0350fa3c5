"""The map of the curiosity at the times of a bag that is being replayed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from sensor_msgs.msg import PointCloud2

from bayes_curiosity_ros.bags.episode import Episode
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.learning.map.moments import MapHistory
from bayes_curiosity_ros.monitor.map_history import history_of
from bayes_curiosity_ros.nodes.conversions.clouds import cloud_of
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.map_client import TOPIC
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from bayes_curiosity_ros.robot.frames import WORLD


class ReplayMap:
    """Publishes the map as the episode in view has left it.

    The posterior is rebuilt from the bag in a thread, as `bayes-curiosity map` does it; that takes
    as long as the bag is. The map before the first episode is published first: it is the
    brightest, by which the page has its colours.

    Args:
        node: node that publishes.
        bag: folder of the bag.

    Attributes:
        episode: number of the episode in view; -1 before there is one.
    """

    def __init__(self, node: CheckedNode, bag: Path) -> None:
        self.episode = -1
        self._node, self._bag = node, bag
        self._numbers: dict[int, int] = {}  # of episodes before and with one, by its number
        self._history: MapHistory | None = None
        self._shown: int | None = None
        self._clouds = node.create_publisher(PointCloud2, TOPIC, LATCHED_QOS)
        threading.Thread(target=self._rebuild, daemon=True).start()

    def go_on(self) -> None:
        """Publish the map that belongs to the episode in view, unless it was the last one."""
        if self._history is None:
            return
        count = 0 if self._shown is None else self._numbers.get(self.episode, 0)
        times = [each.episodes for each in self._history.moments]
        wanted = max(index for index, time in enumerate(times) if time <= count)
        if wanted != self._shown:
            self._publish(self._history, wanted)
            self._shown = wanted

    def _publish(self, history: MapHistory, moment: int) -> None:
        cloud = cloud_of(history.map.points, history.moments[moment].values, WORLD)
        cloud.header.stamp = self._node.get_clock().now().to_msg()
        self._clouds.publish(cloud)

    def _rebuild(self) -> None:
        namespace = self._node.get_namespace().strip("/")
        try:
            self._history = history_of(self._bag, namespace=namespace, tell=self._numbered)
        except BayesCuriosityError as error:
            self._node.get_logger().warning(f"no map of the curiosity: {error}")

    def _numbered(self, episodes: Iterator[Episode]) -> Iterator[Episode]:
        for count, episode in enumerate(episodes, 1):
            self._numbers[episode.id] = count
            yield episode
