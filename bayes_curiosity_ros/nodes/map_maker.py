"""A map of the curiosity for the task that a learner says it learns."""

from __future__ import annotations

import threading

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.learning.map.points import CuriosityMap
from bayes_curiosity_ros.nodes.door import CheckedNode
from bayes_curiosity_ros.nodes.map_client import MapClient
from bayes_curiosity_ros.robot.config import RobotConfig


class MapMaker:
    """Makes the map's points in a thread, as inverse kinematics of thousands takes seconds.

    Args:
        node: node that asks for the values of the points, once there are any.
    """

    def __init__(self, node: CheckedNode) -> None:
        self._node = node
        self._begun = False
        self._made: CuriosityMap | None = None
        self._client: MapClient | None = None

    def begin(self, task: str, robot: RobotConfig) -> None:
        """Make the points for a task; once."""
        if not self._begun:
            self._begun = True
            threading.Thread(target=self._make, args=(task, robot), daemon=True).start()

    def go_on(self) -> None:
        """Ask for values from now on, once there are points; from the node's own thread."""
        if self._client is None and self._made is not None:
            self._client = MapClient(self._node, self._made)

    def _make(self, task: str, robot: RobotConfig) -> None:
        try:
            self._made = CuriosityMap.over(task, robot)
        except BayesCuriosityError as error:
            self._node.get_logger().warning(f"no map of the curiosity: {error}")
