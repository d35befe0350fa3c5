"""One registry of tasks: a name in, a task out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from bayes_curiosity_ros.configuration.registry import Registry
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.tasks.task import Task

TaskT = TypeVar("TaskT", bound=type[Task])


@dataclass(frozen=True)
class TaskEntry:
    """A kind of task.

    Attributes:
        name: what users type.
        make: from keyword arguments, all of which have defaults, to a task.
        title: name in figures.
        horizon: steps after which an episode is truncated.
        environment: its Gymnasium environment, as "module:class", which takes the task's name.
        arm: whether an arm carries it out, so that it can be learnt over ROS.
    """

    name: str
    make: Callable[..., Task]
    title: str
    horizon: int
    environment: str = "bayes_curiosity_ros.tasks.gymnasium_env:TaskEnv"
    arm: bool = False


# The classic tasks first: they need no MuJoCo.
TASKS: Registry[TaskEntry] = Registry(
    "task", TaskEntry, "bayes_curiosity_ros.tasks.classic", "bayes_curiosity_ros.tasks.arm"
)


def register_task(title: str) -> Callable[[TaskT], TaskT]:
    """Decorate a task's class, which has its name and horizon, to register it."""

    def decorate(task: TaskT) -> TaskT:
        TASKS.add(TaskEntry(task.name, task, title, task.horizon))
        return task

    return decorate


def make_task(name: str, **options: Any) -> Task:
    """The task of this name.

    Args:
        name: one of `TASKS`.
        options: keyword arguments of the task's class.

    Raises:
        ConfigError: no such task, which lists the names there are, or no such option.
    """
    try:
        return TASKS[name].make(**options)
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise ConfigError(
            f"task {name}: {error}. Its options are those of {_options(name)}"
        ) from error


def _options(name: str) -> str:
    """Where the options of a task are documented."""
    made: Any = TASKS[name].make
    kind = getattr(made, "func", made)  # a partial of the class
    return f"{kind.__module__}.{kind.__qualname__}; see docs/robot.md"


def arm_task_names() -> tuple[str, ...]:
    """The tasks that an arm carries out, sorted."""
    return tuple(entry.name for entry in TASKS if entry.arm)
