"""One registry of tasks: a name in, a task out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

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


def _arm_task(kind: str, visual: bool) -> Task:
    # Imported when asked for: the classic tasks need no MuJoCo.
    from bayes_curiosity_ros.tasks.arm.grasp import Grasp
    from bayes_curiosity_ros.tasks.arm.reach import Reach

    return {"reach": Reach, "grasp": Grasp}[kind](visual=visual)


ARM_TASKS: dict[str, Callable[[], Task]] = {
    "reach": partial(_arm_task, "reach", visual=False),
    "grasp": partial(_arm_task, "grasp", visual=False),
    "visual_reach": partial(_arm_task, "reach", visual=True),
    "visual_grasp": partial(_arm_task, "grasp", visual=True),
}


def make_task(name: str) -> Task:
    """The task of this name.

    Raises:
        ConfigError: no such task; the message lists the names there are.
    """
    tasks = TASKS | ARM_TASKS
    if name not in tasks:
        raise unknown_name("task", name, tasks)
    return tasks[name]()
