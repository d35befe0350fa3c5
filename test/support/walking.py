"""A pretended run whose hand goes about one place, for maps of the curiosity."""

import numpy as np

from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.learning.map.points import CuriosityMap
from bayes_curiosity_ros.robot.config import RobotConfig
from support.pretended import Run

COUNT = 300  # points that it chooses from
SPOT = (0.45, 0.05, 0.07)
PLACE = (0.4, 0.0, 0.3)


def walking(episodes=4, steps=20, encoder=None, **options):
    """A run whose hand goes about `PLACE`, with the object at `SPOT`."""
    run = Run(episodes, steps, **options)
    map_ = CuriosityMap.over("reach", RobotConfig.load(), COUNT)
    nearest = np.argsort(np.linalg.norm(map_.points - PLACE, axis=1))[: steps + 1]
    rng = np.random.default_rng(1)
    for vectors in run.vectors:
        vectors[:, :6] = map_.joints[rng.permutation(nearest)] + rng.normal(
            0, 0.01, (steps + 1, 6)
        )
        vectors[:, 6:] = SPOT
    if encoder is not None:
        run.curiosity = Curiosity(encoder)
    return run
