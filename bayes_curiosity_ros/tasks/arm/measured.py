"""A task over an arm that is elsewhere: what is measured of it becomes a row of the task.

Reward, success and end are then those of the simulated task, by the same code.
"""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.robot.arms.arm import ArmState
from bayes_curiosity_ros.robot.composition import CONTACT_CLASSES
from bayes_curiosity_ros.tasks.arm.task import ArmTask


def first_row(task: ArmTask, state: ArmState) -> np.ndarray:
    """The row, (1, S), of an episode's start."""
    row = _row(task, state)
    task.begin(row)
    return row


def next_row(task: ArmTask, before: np.ndarray, state: ArmState) -> np.ndarray:
    """The row, (1, S), one control step after `before`."""
    row = _row(task, state)
    row[:, task.layout.extra] = before[:, task.layout.extra]
    task.account(row)
    return row


def _row(task: ArmTask, state: ArmState) -> np.ndarray:
    if state.object_position is None:
        raise InputError(
            f"{task.name} needs the object's position and the arm's state does not have it; "
            "is a detector publishing object_pose?"
        )
    layout = task.layout
    row = task.stepper.initial(state.joints[None], state.object_position[None])
    if layout.object_axis_columns is not None and state.object_orientation is not None:
        row[0, layout.object_axis_columns] = state.object_orientation
    row[0, layout.contacts] = [kind in state.contacts for kind in CONTACT_CLASSES]
    return row
