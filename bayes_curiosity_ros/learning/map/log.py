"""Pictures of the map in the event files of a run."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import Normalize

from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.learning.event_log import EventLog
from bayes_curiosity_ros.learning.map.figure import frame_of, scale_of
from bayes_curiosity_ros.learning.map.moments import MapHistory, Moment, shown
from bayes_curiosity_ros.learning.map.points import CuriosityMap, Price
from bayes_curiosity_ros.learning.perception import simulated, vectors_for
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.tasks.arm.task import ArmTask

TAG = "curiosity/map"
LABEL = "bonus of a step, weight included"


class MapLog:
    """Draws the map at the beginning and as a run goes on, more and more seldom.

    Colours are the same in all its pictures, by the first map, which is the brightest.

    Args:
        map_: points, and what is observed there.
        price: bonus of each of some observations now.
        events: event files that the pictures go to.
    """

    def __init__(self, map_: CuriosityMap, price: Price, events: EventLog) -> None:
        self._history = MapHistory(map_, map_.usual_object)
        self._price, self._events = price, events
        self._scale: Normalize | None = None

    def look(self, count: int, timesteps: int) -> None:
        """Draw the map, if it is due.

        Args:
            count: number of times that it could have been drawn before in this run.
            timesteps: control steps of the run so far.
        """
        if not shown(count):
            return
        moment = Moment(0, self._history.map.values(self._price, self._history.spot))
        self._scale = self._scale or scale_of([moment])
        title = f"after {timesteps:,} control steps"
        picture = frame_of(self._history, moment, self._scale, title, LABEL)
        self._events.add_picture(TAG, picture, timesteps)


def map_log_of(trainer: Trainer, events: EventLog, price: Price | None = None) -> MapLog | None:
    """Pictures of the curiosity that a run explores with; None where there is nothing to draw.

    Args:
        trainer: the run.
        events: event files that the pictures go to.
        price: bonus of each of some observations, of a curiosity elsewhere; if None, that of the
            trainer's own, where it is one.
    """
    task, price = simulated(trainer.task), price or _own_price(trainer)
    if not isinstance(task, ArmTask) or price is None:
        return None
    return MapLog(CuriosityMap.of(task), price, events)


def _own_price(trainer: Trainer) -> Price | None:
    bonus = trainer.bonus
    if not isinstance(bonus, Curiosity):
        return None

    def price(observations: Observations) -> np.ndarray:
        return bonus.score(Observations(vectors_for(trainer.task, observations))).reward

    return price
