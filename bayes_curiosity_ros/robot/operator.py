"""A person at the arm: who drives, where the hand is wanted, and the next step of the way there.

No safety function: what comes of it passes supervisor and safety filter as learners' actions do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from bayes_curiosity_ros.configuration.settings import require_positive
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.joystick import JoystickConfig, Stick
from bayes_curiosity_ros.robot.kinematics import Kinematics, KinematicsConfig, Pose, turned
from bayes_curiosity_ros.robot.safety import speed_limits
from bayes_curiosity_ros.robot.supervision import NotReadyError

# A step that is too long for the hand is made shorter than it may be by this share: how far the
# hand comes is not quite proportional to how far the joints turn.
SHORTER = 0.98
TAKE_FIRST = "nobody drives; call operator/take first"


class Driver(IntEnum):
    """Who acts; the numbers are those of ArmState.msg and ArmStatus.msg."""

    POLICY = 0
    OPERATOR = 1


@dataclass(frozen=True)
class OperatorConfig:
    """How a person drives.

    Attributes:
        hand_speed_m_s: largest speed of the hand.
        hand_turn_rad_s: largest speed at which the hand turns.
        stale_s: the arm stands when nothing was heard of the person for so long.
        silence_s: control goes back when nothing was heard for so long.
        joystick: which axis and button of a joystick does what.
    """

    hand_speed_m_s: float = 0.25
    hand_turn_rad_s: float = 1.0
    stale_s: float = 0.5
    silence_s: float = 10.0
    joystick: JoystickConfig = field(default_factory=JoystickConfig)

    def __post_init__(self) -> None:
        require_positive(self, "hand_speed_m_s", "hand_turn_rad_s", "stale_s", "silence_s")
        if self.silence_s < self.stale_s:
            raise ConfigError(
                f"operator.silence_s = {self.silence_s} is below stale_s = {self.stale_s}: the "
                "arm stands before control goes back"
            )


class Operator:
    """Makes steps of what a person wants, while one drives.

    Wishes and changes of the driver may come from other threads than the one that asks for steps.

    Args:
        robot: the arm and its table.
        config: how a person drives.
        clock: monotonic time in [s].

    Attributes:
        driver: who acts now.
        gripper: what the gripper was told last, 0 open … 1 closed; it stays so until a joystick
            opens or closes it.
        control_step_s: time of a step.
    """

    def __init__(
        self, robot: RobotConfig, config: OperatorConfig, clock: Callable[[], float]
    ) -> None:
        self.config = config
        self.driver = Driver.POLICY
        self.gripper = 0.0
        self.control_step_s = self._dt = robot.world.control_step_s
        self._clock = clock
        self._kinematics = Kinematics(robot, KinematicsConfig(turn_free=False))
        hardware = self._kinematics.world.max_velocity_rad_s
        self._most_rad = speed_limits(robot, hardware) * self._dt
        self._lock = threading.Lock()
        self._wish: Pose | np.ndarray | None = None
        self._spent: Pose | None = None  # wanted in an episode that is over
        self._heard_s = 0.0

    def take(self) -> None:
        """A person drives from now on; nothing moves before they say where to.

        Raises:
            NotReadyError: somebody does already.
        """
        with self._lock:
            if self.driver == Driver.OPERATOR:
                raise NotReadyError("a person drives already; operator/give first")
            self.driver, self._heard_s = Driver.OPERATOR, self._clock()
            self._wish = self._spent = None

    def give(self) -> None:
        """The learner acts again; nothing where it did anyway."""
        with self._lock:
            self.driver, self._wish = Driver.POLICY, None

    def aim(self, hand: Pose) -> None:
        """The person wants the hand there; what was wanted before an episode began asks nothing.

        Whoever drives says again and again where they want the hand. After a reset has taken it
        elsewhere, the arm does not set off again before they have wanted something new.

        Raises:
            NotReadyError: nobody drives.
        """
        self._want(None if self._is_spent(hand) else hand)

    def steer(self, stick: Stick) -> None:
        """The person moves a joystick; without its button held it asks for nothing.

        Raises:
            NotReadyError: the button is held, and nobody drives.
        """
        if stick.held:
            self._want(stick.ways)
            self.gripper = self.gripper if stick.gripper is None else stick.gripper
            return
        with self._lock:
            if isinstance(self._wish, np.ndarray):
                self._wish = None

    def forget(self) -> None:
        """An episode begins: what was wanted before does not count, and the gripper is open."""
        with self._lock:
            if isinstance(self._wish, Pose):
                self._spent = self._wish
            self._wish = None
        self.gripper = 0.0

    def is_silent(self) -> bool:
        """Whether a person drives of whom nothing was heard for too long."""
        with self._lock:
            return self.driver == Driver.OPERATOR and self._age_s() > self.config.silence_s

    def wants_motion(self, joints: np.ndarray, still_rad: float) -> bool:
        """Whether the next step from these joint angles, (J,), moves a joint by more than this."""
        return bool(np.abs(self.step(joints)).max() > still_rad)

    def step(self, joints: np.ndarray) -> np.ndarray:
        """Joint changes, (J,) in [rad], of one control step from these joint angles, (J,).

        None where nothing is wanted, or was said too long ago.
        """
        with self._lock:
            fresh = self.driver == Driver.OPERATOR and self._age_s() <= self.config.stale_s
            wish = self._wish if fresh else None
        if wish is None:
            return np.zeros(len(joints))
        hand = self._kinematics.forward(joints)
        deltas = self._kinematics.step(joints, self._next(hand, wish), self._dt)
        return self._slowed(joints, hand, deltas)

    def _want(self, wish: Pose | np.ndarray | None) -> None:
        with self._lock:
            if self.driver != Driver.OPERATOR:
                raise NotReadyError(TAKE_FIRST)
            self._wish, self._heard_s = wish, self._clock()
            self._spent = self._spent if wish is None else None

    def _is_spent(self, hand: Pose) -> bool:
        with self._lock:
            return self._spent is not None and hand.equals(self._spent)

    def _age_s(self) -> float:
        return self._clock() - self._heard_s

    def _next(self, hand: Pose, wish: Pose | np.ndarray) -> Pose:
        """Where the hand should be after a step: no further than it may go."""
        most_m, most_rad = (
            self.config.hand_speed_m_s * self._dt,
            self.config.hand_turn_rad_s * self._dt,
        )
        if isinstance(wish, Pose):
            way, turn = wish.position - hand.position, hand.turn_to(wish)
        else:
            way, turn = wish[:3] * most_m, wish[3:] * most_rad
        return Pose(
            hand.position + _at_most(way, most_m), turned(hand.rotation, _at_most(turn, most_rad))
        )

    def _slowed(self, joints: np.ndarray, hand: Pose, deltas: np.ndarray) -> np.ndarray:
        """The same way, as far as joints and hand may go; all joints slow down together."""
        deltas = deltas / max(1.0, float((np.abs(deltas) / self._most_rad).max()))
        most_m = self.config.hand_speed_m_s * self._dt
        while (way_m := self._way_m(joints + deltas, hand)) > most_m:
            deltas = deltas * (SHORTER * most_m / way_m)
        return deltas

    def _way_m(self, joints: np.ndarray, hand: Pose) -> float:
        """How far the hand comes, in [m]."""
        return float(np.linalg.norm(self._kinematics.forward(joints).position - hand.position))


def _at_most(vector: np.ndarray, length: float) -> np.ndarray:
    """The vector, no longer than this."""
    return vector * min(1.0, length / max(float(np.linalg.norm(vector)), 1e-12))
