"""A Jaco gen 2 takes hold of a cylinder with its finger action; the only driver in its graph."""

from dataclasses import replace

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped

from bayes_curiosity_ros.robot.arms.trajectory import TrajectoryArm
from bayes_curiosity_ros.tasks.arm.measured import first_row, next_row
from bayes_curiosity_ros.tasks.arm.names import named_arm_task
from support.drivers.running import emulated, profile
from support.graph import eventually, inbox
from support.waiting import WAIT_S

MANY_STEPS = 300  # at a quarter of the speed of simulation
PATIENT = {"settle_s": 5.0}  # a busy machine may deliver a command late


@pytest.mark.slow
def test_it_grasps_with_its_finger_action(background):
    """The scripted expert over the driver; success is the task's own, from what is measured."""
    robot, config = profile("jaco_gen2", **PATIENT)
    task = named_arm_task("grasp", robot, threads=1)
    poses = inbox(background, PoseStamped, "/object_pose", 10)
    with emulated("jaco", "physics"), TrajectoryArm(robot, config, background.node) as arm:

        def seen():
            while poses.qsize() > 1:
                poses.get()
            place = eventually(poses, lambda m: True).pose.position
            spot = np.array([place.x, place.y, place.z])
            return replace(arm.state(WAIT_S), object_position=spot)

        row = first_row(task, seen())
        for _ in range(MANY_STEPS):
            deltas, grips = task.commands(task.expert_at(row))
            arm.move(deltas[0], float(grips[0]), WAIT_S)
            row = next_row(task, row, seen())
            if task.successful(row)[0]:
                break
        assert task.successful(row)[0], (task.lift(row), arm.state(WAIT_S).contacts)
