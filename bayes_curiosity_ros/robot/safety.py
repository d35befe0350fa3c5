"""One filter between what is asked of an arm and what it is told; every arm uses it.

It keeps no memory: what was commanded before comes in, what may be commanded now goes out. And
it never relies on luck: a command is permitted only if, after it, braking at the allowed
deceleration ends in a stop that is within all limits, so there always is a way out.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.clearance import PoseChecker, Violation
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.decisions import REFUSALS, Change, Commanded, Decision

__all__ = ["REFUSALS", "Change", "Commanded", "Decision", "SafetyFilter"]

POSE_CHANGES = {
    Violation.COLLISION: Change.COLLISION,
    Violation.TABLE: Change.TABLE,
    Violation.WORKSPACE: Change.WORKSPACE,
}
TOLERANCE = 1e-9


class SafetyFilter:
    """Requested joint targets in, permitted ones out.

    Args:
        threads: threads to check poses on; 0 for one per core.

    Raises:
        ConfigError: the limits do not fit the arm.
    """

    def __init__(self, robot: RobotConfig, threads: int = 1) -> None:
        config = robot.safety
        self.config = config
        self.checker = PoseChecker(robot, threads=threads)
        world = self.checker.world
        self._names = [joint.name for joint in world.joints]
        self._dt = robot.world.control_step_s
        self._hard = world.lower_rad, world.upper_rad
        self._lower = world.lower_rad + config.joint_margin_rad
        self._upper = world.upper_rad - config.joint_margin_rad
        self._speed = speed_limits(robot, world.max_velocity_rad_s)
        self._step = np.inf if config.max_step_rad is None else config.max_step_rad
        self._acceleration = np.empty(len(self._names))
        self._acceleration[:] = config.max_acceleration_rad_s2
        reach = _reaches(self.checker)
        self._lever = reach[[world.model.body(joint.child).id for joint in world.joints]]
        gripper = robot.arm.gripper
        self._open_rad = 0.0 if gripper is None else gripper.open_rad
        fingers = [world.model.body(joint.child).id for joint in world.fingers]
        self._finger_m = float(reach[fingers].max(initial=0.0))

    @property
    def speed_rad_s(self) -> np.ndarray:
        """(J,) largest speed of each joint in [rad/s]."""
        return self._speed

    def permit(
        self, last: Commanded, requested: np.ndarray, finger_rad: float | None = None
    ) -> Decision:
        """Decide on one command.

        Args:
            last: what was commanded before.
            requested: (J,) joint targets in [rad].
            finger_rad: finger angle after this control step, None where the fingers rest. When
                the command is refused, they stay where they were.
        """
        wanted = np.asarray(requested, dtype=float).ravel()
        wrong = Change.NONE
        if wanted.shape != last.position.shape:
            wrong, wanted = Change.WRONG_LENGTH, last.position
        following = last.finger_rad if finger_rad is None else finger_rad
        target, flags = self.permit_batch(
            last.position[None],
            last.velocity[None],
            wanted[None],
            _alone(last.finger_rad),
            _alone(following),
            wrong,
        )
        velocity = (target[0] - last.position) / self._dt
        changes = Change(int(flags[0]))
        asked = np.asarray(requested, dtype=float)
        explanation = self._explain(last, asked, target[0], following, changes)
        finger = last.finger_rad if changes & REFUSALS else following
        return Decision(Commanded(target[0], velocity, finger), changes, explanation)

    def permit_batch(
        self,
        positions: np.ndarray,
        velocities: np.ndarray,
        requested: np.ndarray,
        fingers: np.ndarray | None = None,
        fingers_after: np.ndarray | None = None,
        refuse: Change = Change.NONE,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Decide on N commands.

        Args:
            positions, velocities: (N, J) what each arm was last told.
            requested: (N, J) joint targets.
            fingers: (N,) finger angles in [rad]; open when None.
            fingers_after: (N,) the same one control step later; unchanged when None.
            refuse: reasons known already to refuse all of them.

        Returns:
            The permitted targets (N, J), and a `Change` for each (N,) int.
        """
        flags = np.full(len(positions), int(refuse))
        finite = np.isfinite(requested).all(axis=1)
        inside = ((positions >= self._hard[0]) & (positions <= self._hard[1])).all(axis=1)
        flags[~finite] |= Change.NOT_FINITE
        flags[~inside] |= Change.OUTSIDE_LIMITS
        wanted = np.where(finite[:, None], requested, positions)
        velocity, limits = self._limit(positions, velocities, wanted)
        refused = (flags & REFUSALS) != 0
        flags[~refused] |= limits[~refused]
        if self.config.collisions and not refused.all():
            ask = np.flatnonzero(~refused)
            for angles in self._finger_angles(fingers, fingers_after):
                asked = None if angles is None else angles[ask]
                flags[ask] |= self._check(positions[ask], velocity[ask], asked)
            refused = (flags & REFUSALS) != 0
        velocity[refused] = self._brake(velocities[refused])
        velocity[~inside] = 0.0
        return positions + velocity * self._dt, flags

    def obstacles(
        self, start: np.ndarray, goal: np.ndarray, finger_rad: float | None = None
    ) -> list[str]:
        """What is in the way of a straight motion in joint space, in words; empty if nothing.

        Args:
            start, goal: (J,) joint angles in [rad].
            finger_rad: finger angle on the way, open when None.
        """
        _, poses = self._path(start[None], (goal - start)[None] / self._dt)
        fingers = None if finger_rad is None else np.full(len(poses), finger_rad)
        touching = np.flatnonzero(self.checker.check(poses, fingers))
        found = self.checker.explain(poses[touching[0]], finger_rad) if len(touching) else []
        return self._outside(goal) + found

    def overspeed(self, moved: np.ndarray, elapsed_s: float) -> str:
        """Which joints moved faster than any permitted command moves them, in words; or nothing.

        What is commanded keeps to the limits; what pushes the arm, or a weak joint of an arm that
        pushes itself off something, does not.

        Args:
            moved: (J,) angles between two measurements in [rad].
            elapsed_s: time between them; a control step counts as no less than one.
        """
        shares = np.abs(moved) / max(elapsed_s, self._dt) / self._speed
        return "; ".join(
            f"{name} moved at {share * limit:.2f} rad/s, {share:.1f} times its limit of "
            f"{limit:.2f}: something pushes the arm"
            for name, share, limit in zip(self._names, shares, self._speed, strict=True)
            if share > self.config.max_overspeed
        )

    def _limit(
        self, position: np.ndarray, before: np.ndarray, wanted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Velocities (N, J) within step, speed, acceleration and joint limits; flags (N,)."""
        flags = np.zeros(len(position), dtype=int)
        velocity = (wanted - position) / self._dt
        change = self._acceleration * self._dt
        bounds = (
            (Change.STEP, -self._step / self._dt, self._step / self._dt),
            (Change.VELOCITY, -self._speed, self._speed),
            (Change.ACCELERATION, before - change, before + change),
            (
                Change.JOINT_LIMIT,
                -self._fastest_stop(position - self._lower),
                self._fastest_stop(self._upper - position),
            ),
        )
        for reason, lower, upper in bounds:
            limited = np.clip(velocity, lower, upper)
            flags[(np.abs(limited - velocity) > TOLERANCE).any(axis=1)] |= reason
            velocity = limited
        return velocity, flags

    def _fastest_stop(self, room: np.ndarray) -> np.ndarray:
        """Largest speed for one control step that braking can still end within `room` [rad].

        From v dt + v² / 2a = room; braking in steps needs no more than v² / 2a.
        """
        room = np.maximum(room, 0.0)
        a, dt = self._acceleration, self._dt
        with np.errstate(invalid="ignore"):
            speed = a * (np.sqrt(dt**2 + 2.0 * room / a) - dt)
        return np.where(np.isfinite(room), speed, np.inf)

    def _finger_angles(
        self, before: np.ndarray | None, after: np.ndarray | None
    ) -> list[np.ndarray | None]:
        """Both ends of the fingers' way, and as many between that no part of a finger moves
        further than the clearance from one to the next; one where they rest."""
        if after is None or (before is not None and np.array_equal(before, after)):
            return [before]
        if before is None:
            before = np.full(len(after), self._open_rad)
        way = after - before
        count = max(1, math.ceil(np.abs(way).max() * self._finger_m / self.checker.clearance_m))
        return [before + way * (index / count) for index in range(count + 1)]

    def _brake(self, velocity: np.ndarray) -> np.ndarray:
        slower = np.maximum(np.abs(velocity) - self._acceleration * self._dt, 0.0)
        return np.sign(velocity) * slower

    def _check(
        self, position: np.ndarray, velocity: np.ndarray, fingers: np.ndarray | None
    ) -> np.ndarray:
        """Flags (N,) of all poses on the way of the command, and of braking after it."""
        flags = np.zeros(len(position), dtype=int)
        owners, poses = [], []
        moving = np.arange(len(position))
        while len(moving):
            owner, path = self._path(position[moving], velocity[moving])
            owners.append(moving[owner])
            poses.append(path)
            position = position + velocity * self._dt
            velocity = self._brake(velocity)
            moving = moving[(velocity[moving] != 0).any(axis=1)]
        owner = np.concatenate(owners)
        found = self.checker.check(
            np.concatenate(poses), None if fingers is None else fingers[owner]
        )
        for violation, change in POSE_CHANGES.items():
            flags[owner[(found & violation) != 0]] |= change
        return flags

    def _path(self, position: np.ndarray, velocity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses from here to one control step ahead, no point of the arm moving further than
        the clearance between two of them; and which row each belongs to."""
        move = velocity * self._dt
        travel = np.abs(move) @ self._lever
        counts = np.maximum(np.ceil(travel / self.checker.clearance_m).astype(int), 1)
        owner = np.repeat(np.arange(len(position)), counts)
        index = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts) + 1
        share = index / counts[owner]
        return owner, position[owner] + share[:, None] * move[owner]

    def _explain(
        self,
        last: Commanded,
        requested: np.ndarray,
        target: np.ndarray,
        finger_rad: float | None,
        changes: Change,
    ) -> str:
        words = []
        if changes & Change.WRONG_LENGTH:
            words.append(f"{requested.size} joint targets for {len(self._names)} joints")
        if changes & Change.NOT_FINITE:
            words.append(f"targets {requested.tolist()} are not all finite")
        if changes & Change.OUTSIDE_LIMITS:
            words += self._outside(last.position)
        limits = changes & (
            Change.STEP | Change.VELOCITY | Change.ACCELERATION | Change.JOINT_LIMIT
        )
        if limits and not changes & REFUSALS:
            names = ", ".join(str(flag.name).lower() for flag in Change if flag & limits)
            words += [
                f"{name} asked for {asked:.4f} rad, given {given:.4f} ({names})"
                for name, asked, given in zip(self._names, requested, target, strict=True)
                if abs(asked - given) > TOLERANCE
            ]
        if changes & (Change.COLLISION | Change.TABLE | Change.WORKSPACE):
            for angle in self._finger_angles(_alone(last.finger_rad), _alone(finger_rad)):
                finger = None if angle is None else float(angle[0])
                words += self._obstacles(replace(last, finger_rad=finger), requested)
        return "; ".join(dict.fromkeys(words))

    def _outside(self, position: np.ndarray) -> list[str]:
        lower, upper = self._hard
        return [
            f"{name} is at {value:.4f} rad, outside {low} … {high}: move it back by hand first"
            for name, value, low, high in zip(self._names, position, lower, upper, strict=True)
            if not low <= value <= high
        ]

    def _obstacles(self, last: Commanded, requested: np.ndarray) -> list[str]:
        velocity, _ = self._limit(last.position[None], last.velocity[None], requested[None])
        position = last.position[None]
        while velocity.any():
            for pose in self._path(position, velocity)[1]:
                words = self.checker.explain(pose, last.finger_rad)
                if words:
                    return words
            position, velocity = position + velocity * self._dt, self._brake(velocity)
        return self.checker.explain(position[0], last.finger_rad)


def _alone(value: float | None) -> np.ndarray | None:
    """A batch of one."""
    return None if value is None else np.array([value])


def speed_limits(robot: RobotConfig, hardware: np.ndarray) -> np.ndarray:
    """(J,) largest speed of each joint in [rad/s], given what the arm itself can do.

    Raises:
        ConfigError: the configured ones are too many, too few or beyond that.
    """
    speeds = robot.safety.max_velocity_rad_s
    if speeds is None:
        return robot.arm.speed_fraction * hardware
    if len(speeds) not in (1, len(hardware)):
        raise ConfigError(
            f"safety.max_velocity_rad_s has {len(speeds)} values for {len(hardware)} joints"
        )
    limits = np.empty(len(hardware))
    limits[:] = speeds
    if (limits > hardware).any():
        raise ConfigError(
            f"safety.max_velocity_rad_s = {speeds} exceeds the arm's own {hardware.tolist()}"
        )
    return limits


def _reaches(checker: PoseChecker) -> np.ndarray:
    """For every body, how far from its origin a point of it or of its children can be, in [m]."""
    model = checker.world.model
    reach = np.zeros(model.nbody)
    for body in range(model.nbody - 1, 0, -1):
        for geom in np.flatnonzero(model.geom_bodyid == body):
            extent = np.linalg.norm(model.geom_pos[geom]) + model.geom_rbound[geom]
            reach[body] = max(reach[body], extent)
        parent = model.body_parentid[body]
        step = np.linalg.norm(model.body_pos[body])
        reach[parent] = max(reach[parent], step + reach[body])
    return reach
