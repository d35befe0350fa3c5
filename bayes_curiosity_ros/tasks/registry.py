"""One registry of tasks: a name in, a task out."""

from __future__ import annotations

from collections.abc import Callable

from bayes_curiosity_ros.errors import unknown_name
from bayes_curiosity_ros.tasks.classic.acrobot import Acrobot
from bayes_curiosity_ros.tasks.classic.mountaincar import MountainCar
from bayes_curiosity_ros.tasks.classic.pendulum import Pendulum
from bayes_curiosity_ros.tasks.classic.swingup import Swingup
from bayes_curiosity_ros.tasks.task import Task

TASKS: dict[str, Callable[[], Task]] = {
    "mountaincar": MountainCar,
    "swingup": Swingup,
    "pendulum": Pendulum,
    "acrobot": Acrobot,
}


def make_task(name: str) -> Task:
    """The task of this name.

    Raises:
        ConfigError: no such task; the message lists the names there are.
    """
    if name not in TASKS:
        raise unknown_name("task", name, TASKS)
    return TASKS[name]()
