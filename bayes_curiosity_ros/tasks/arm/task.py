"""What reach and grasp share: the cell, the placements, the commands, the camera."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from bayes_curiosity_ros.configuration.settings import (
    adjusted,
    require_finite,
    require_nonnegative,
    require_positive,
)
from bayes_curiosity_ros.errors import ConfigError, InputError
from bayes_curiosity_ros.robot.cameras.raycast import RaycastCamera
from bayes_curiosity_ros.robot.composition import CONTACT_CLASSES
from bayes_curiosity_ros.robot.config import ArmConfig, RobotConfig
from bayes_curiosity_ros.robot.kinematic import make_stepper
from bayes_curiosity_ros.robot.limits import require_finite_command
from bayes_curiosity_ros.robot.randomization import Randomization
from bayes_curiosity_ros.robot.rows import RowLayout
from bayes_curiosity_ros.robot.stepper import Stepper
from bayes_curiosity_ros.robot.world import build_world
from bayes_curiosity_ros.tasks.registry import TASKS, TaskEntry
from bayes_curiosity_ros.tasks.task import Task


@dataclass(frozen=True)
class Placement:
    """Where an episode starts.

    Attributes:
        square_center_m: middle of the square on the table that the cylinder is put in.
        square_side_m: its side.
        joint_noise_rad: the arm starts within this of where it is parked, in every joint.
        turn_rad: the arm is parked turned about its base by this, added to the first joint.
        start_rad: joint angles where the arm is parked, before the turn; the robot's ready pose
            when empty.
    """

    square_center_m: tuple[float, float] = (0.45, 0.0)
    square_side_m: float = 0.40
    joint_noise_rad: float = 0.05
    turn_rad: float = 0.0
    start_rad: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        require_finite(self, "square_center_m", "turn_rad", "start_rad")
        require_positive(self, "square_side_m")
        require_nonnegative(self, "joint_noise_rad")

    def parked(self, arm: ArmConfig) -> ArmConfig:
        """The arm with its ready pose where episodes start.

        Raises:
            ConfigError: `start_rad` has not one angle per joint.
        """
        if len(self.start_rad) not in (0, len(arm.joints)):
            raise ConfigError(
                f"Placement.start_rad has {len(self.start_rad)} angles; the arm of {arm.urdf} has "
                f"{len(arm.joints)} joints"
            )
        first, *others = self.start_rad or arm.ready_rad
        return replace(arm, ready_rad=(first + self.turn_rad, *others))


class ArmTask(Task):
    """N simulated cells. A state is a row of `robot.rows`; an action is in [-1, 1].

    The first J actions are joint-angle changes, 1 being `max_delta_rad` of that joint; a task
    with a gripper has one more, -1 open and 1 closed. A row whose episode has ended stays as
    it is. The vector observation is the joint angles, and the object's position unless the
    task is visual: then `images` shows it.

    Args:
        robot: the cell; its object is made tangible or not by the task, and its arm's ready
            pose is where the placement parks it.
        placement: where episodes start, or what of the task's own placement is different.
        threads: threads to step on; 0 for one per core.
        randomization: worlds to draw an episode's from; None for always the same.
        visual: replace the object's position by an RGBD image.
        horizon: steps after which an episode is truncated; the task's own when None.
        dynamics: "physics" or "kinematic", in place of the robot's `world.dynamics`.
        physics_step_s: one MuJoCo step in [s], in place of the robot's `world.physics_step_s`.

    Attributes:
        grips: whether the object can be touched and there is a gripper to hold it with.
        commands_gripper: whether the last action is the gripper's.
        embedding_from: see `TaskEntry`; named as where the object's position is observed.

    Raises:
        ConfigError: a setting is out of bounds, the parked arm touches something, or the robot
            has no gripper and the task needs one.
    """

    grips: bool
    extra_columns: int
    usual_placement = Placement()
    embedding_from = ""

    def __init__(
        self,
        robot: RobotConfig | None = None,
        placement: Placement | Mapping[str, Any] | None = None,
        threads: int = 0,
        randomization: Randomization | None = None,
        visual: bool = False,
        horizon: int | None = None,
        dynamics: str | None = None,
        physics_step_s: float | None = None,
    ) -> None:
        self.placement = adjusted(self.usual_placement, placement)
        changes = {"dynamics": dynamics, "physics_step_s": physics_step_s}
        self.robot = robot = self._settle(robot or RobotConfig.load(), changes)
        configs = randomization.variants(robot) if randomization else (robot,)
        worlds = [build_world(config) for config in configs]
        self.stepper: Stepper = make_stepper(worlds, threads, self.extra_columns)
        self.layout: RowLayout = self.stepper.layout
        self.visual = visual
        self.name = f"visual_{type(self).name}" if visual else type(self).name
        self.horizon = _horizon(type(self).horizon if horizon is None else horizon)
        self._camera: RaycastCamera | None = None
        self._describe_spaces()
        self._require_clear_start()

    @property
    def commands_gripper(self) -> bool:
        return self.grips

    def _settle(self, robot: RobotConfig, changes: dict[str, Any]) -> RobotConfig:
        """The robot as this task has it."""
        if self.grips and robot.arm.gripper is None:
            raise ConfigError(f"task {self.name!r} needs a gripper; {robot.arm.urdf} has none")
        given = {name: value for name, value in changes.items() if value is not None}
        touched = replace(robot.world.object, tangible=self.grips)
        world = replace(robot.world, object=touched, **given)
        return replace(robot, arm=self.placement.parked(robot.arm), world=world)

    def _require_clear_start(self) -> None:
        """A wrong pose would end every episode at its first step."""
        pose = np.array(self.robot.arm.ready_rad)
        fault = self._beyond_limits(pose) or self._touched(pose)
        if fault:
            raise ConfigError(
                f"{self.name}: parked at {np.round(pose, 3).tolist()} rad {fault}; change "
                "Placement.start_rad or turn_rad, or arm.ready_rad of the robot"
            )

    def _beyond_limits(self, pose: np.ndarray) -> str:
        world, margin = self.stepper.world, self.robot.safety.joint_margin_rad
        inside = (pose >= world.lower_rad + margin) & (pose <= world.upper_rad - margin)
        if inside.all():
            return ""
        return f"{self.robot.arm.joints[int(inside.argmin())]} is within {margin} rad of its limit"

    def _touched(self, pose: np.ndarray) -> str:
        spot = [*self.placement.square_center_m, self.robot.world.object.height_m / 2]
        row = self.stepper.initial(pose[None], np.array([spot]))
        found = dict(zip(CONTACT_CLASSES, self.stepper.contacts(row)[0], strict=True))
        if found["self"]:
            return "the arm touches itself"
        return "the arm touches the table" if found["scene"] else ""

    def _describe_spaces(self) -> None:
        joints = len(self.robot.arm.joints)
        center = [*self.robot.arm.ready_rad]
        scale, bound = [1.0] * joints, [2 * np.pi + 2.0] * joints
        if not self.visual:
            half = self.placement.square_side_m / 2
            center += [*self.placement.square_center_m, self.robot.world.object.height_m / 2]
            scale += [half, half, half]
            bound += [10.0] * 3
        self.observation_size = len(center)
        self.action_size = joints + int(self.commands_gripper)
        self.observation_center = np.array(center)
        self.observation_scale = np.array(scale)
        self.observation_bound = np.array(bound)

    @property
    def max_delta_rad(self) -> np.ndarray:
        """(J,) what an action of 1 means, in [rad]."""
        return self.stepper.max_delta_rad

    def initial_states(self, count: int, rng: np.random.Generator) -> np.ndarray:
        place = self.placement
        shift = rng.uniform(-0.5, 0.5, (count, 2)) * place.square_side_m
        noise = rng.uniform(-1, 1, (count, len(self.robot.arm.joints))) * place.joint_noise_rad
        variants = np.zeros(count, int)
        if len(self.stepper.worlds) > 1:
            variants[:] = rng.integers(len(self.stepper.worlds), size=count)
        heights = np.array([w.config.world.object.height_m for w in self.stepper.worlds])
        spots = np.column_stack([shift + place.square_center_m, heights[variants] / 2])
        states = self.stepper.initial(noise + self.robot.arm.ready_rad, spots, variants)
        self.begin(states)
        return states

    def advance(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        deltas, grips = self.commands(actions, states)
        going = ~self.terminal(states)
        if going.all():
            following = self.stepper.advance(states, deltas, grips)
            self.account(following)
            return following
        following = states.copy()
        if going.any():
            rows = self.stepper.advance(states[going], deltas[going], grips[going])
            self.account(rows)
            following[going] = rows
        return following

    def commands(
        self, actions: np.ndarray, states: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Joint changes in [rad], (N, J), and gripper commands from 0 to 1, (N,).

        Args:
            actions: (N, A).
            states: (N, S) at which they are taken; a hand that closes by itself needs them.

        Raises:
            InputError: actions have another shape or are not finite, or states are missing.
        """
        if actions.ndim != 2 or actions.shape[1] != self.action_size:
            raise InputError(
                f"actions have shape {actions.shape}; {self.name} takes (N, {self.action_size})"
            )
        require_finite_command("action", actions)
        joints = len(self.robot.arm.joints)
        deltas = actions[:, :joints].clip(-1.0, 1.0) * self.max_delta_rad
        if self.commands_gripper:
            return deltas, (np.clip(actions[:, -1], -1, 1) + 1) / 2
        return deltas, self.reflex(len(actions), states)

    def actions_of(self, deltas: np.ndarray, grips: np.ndarray) -> np.ndarray:
        """What actions, (N, A), command these joint changes in [rad], (N, J), and grips, (N,)."""
        actions = np.clip(deltas / self.max_delta_rad, -1.0, 1.0)
        return np.column_stack([actions, 2 * grips - 1]) if self.commands_gripper else actions

    def reflex(self, count: int, states: np.ndarray | None) -> np.ndarray:
        """What a hand that no action commands does at these states, from 0 to 1: (N,)."""
        return np.zeros(count)

    def observe(self, states: np.ndarray) -> np.ndarray:
        return self.layout.joints(states) if self.visual else self.full_observation(states)

    def images(self, states: np.ndarray) -> np.ndarray:
        """What the camera sees: (N, 4, H, W) uint8, RGB and depth, 255 being `max_depth_m`."""
        return self.camera.images(states)

    @property
    def camera(self) -> RaycastCamera:
        """The camera over these cells, made when first asked for."""
        if self._camera is None:
            self._camera = RaycastCamera(self.stepper.worlds, self.layout, self.stepper.threads)
        return self._camera

    def collided(self, states: np.ndarray) -> np.ndarray:
        """Whether the arm touched itself or the scene: (N,) bool."""
        return self.layout.collided(states)

    def failed(self, states: np.ndarray) -> np.ndarray:
        """Whether an episode ended badly: (N,) bool."""
        return self.collided(states)

    @abstractmethod
    def achieved(self, states: np.ndarray) -> np.ndarray:
        """Whether the goal is reached, whatever else happened: (N,) bool."""

    def successful(self, states: np.ndarray) -> np.ndarray:
        return self.achieved(states) & ~self.failed(states)

    def terminal(self, states: np.ndarray) -> np.ndarray:
        return self.achieved(states) | self.failed(states)

    def failure_reasons(self, states: np.ndarray) -> Sequence[str]:
        """A word per row for what went wrong, "" where nothing did."""
        touching = self.layout.touching
        own, scene = touching(states, "self"), touching(states, "scene")
        reasons = np.where(own, "self-collision", np.where(scene, "scene collision", ""))
        return [str(reason) for reason in reasons]

    def expert(self, observations: np.ndarray) -> np.ndarray:
        if self.visual:
            raise InputError(
                f"the expert of {self.name} needs the object's position; use expert_at(states)"
            )
        return self.act(observations)

    def expert_at(self, states: np.ndarray) -> np.ndarray:
        """The expert's actions, (N, A), at these states, whatever a policy would see of them."""
        return self.act(self.full_observation(states))

    def full_observation(self, states: np.ndarray) -> np.ndarray:
        """Joint angles and object position, (N, J + 3)."""
        parts = self.layout.joints(states), self.layout.object_position(states)
        return np.concatenate(parts, axis=1)

    @abstractmethod
    def begin(self, states: np.ndarray) -> None:
        """Fill the task's own columns of rows at the start of an episode."""

    @abstractmethod
    def account(self, states: np.ndarray) -> None:
        """Bring the task's own columns up to date after a control step."""

    @abstractmethod
    def act(self, observations: np.ndarray) -> np.ndarray:
        """The expert: joint angles and object position, (N, J + 3), to actions, (N, A)."""


def _horizon(steps: int) -> int:
    if steps < 1:
        raise ConfigError(f"horizon = {steps}; an episode has at least 1 step")
    return steps


ArmTaskT = TypeVar("ArmTaskT", bound=type[ArmTask])


def register_arm_task(title: str, visual_title: str) -> Callable[[ArmTaskT], ArmTaskT]:
    """Decorate an arm task's class to register it, seen as coordinates and as images.

    Args:
        title: name in figures.
        visual_title: name in figures where the object's position is replaced by images.
    """
    environment = "bayes_curiosity_ros.tasks.arm.gymnasium_env:ArmEnv"

    def decorate(task: ArmTaskT) -> ArmTaskT:
        seen = partial(task, visual=True)
        for prefix, make, shown_as in ("", task, title), ("visual_", seen, visual_title):
            TASKS.add(
                TaskEntry(
                    f"{prefix}{task.name}",
                    make,
                    shown_as,
                    task.horizon,
                    environment,
                    arm=True,
                    embedding_from=task.embedding_from and f"{prefix}{task.embedding_from}",
                )
            )
        return task

    return decorate
