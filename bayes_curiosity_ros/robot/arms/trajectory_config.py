"""Settings of arms behind a driver: what it is called, what it executes, how it is spoken to."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from bayes_curiosity_ros.configuration.settings import require_finite, require_nonnegative
from bayes_curiosity_ros.errors import ConfigError, unknown_name

INTERFACES = ("trajectory_topic", "trajectory_action", "forward_position", "forward_velocity")
EXECUTES = ("positions", "velocities")
VELOCITY_UNITS = {"rad_s": 1.0, "deg_s": math.pi / 180}
GRIPPERS = (
    "none",
    "float64",
    "gripper_command",
    "parallel_gripper_command",
    "set_fingers_position",
)
MAX_OVERLAP_S = 0.1


@dataclass(frozen=True)
class GripperLink:
    """How a driver's gripper is spoken to.

    Attributes:
        interface: "none"; "float64" for a topic of std_msgs/Float64; or an action:
            "gripper_command" and "parallel_gripper_command" of control_msgs,
            "set_fingers_position" of kinova_msgs.
        name: the topic or action.
        open: what the driver calls open, in its own unit.
        closed: what the driver calls closed, in its own unit.
        joint: the driver's name of the gripper's joint, for parallel_gripper_command.
        max_effort: largest effort in the driver's unit; 0 for the driver's own.
        timeout_s: longest wait for fingers that must come to rest before the arm moves.
    """

    interface: str = "none"
    name: str = ""
    open: float = 0.0
    closed: float = 1.0
    joint: str = ""
    max_effort: float = 0.0
    timeout_s: float = 3.0

    def __post_init__(self) -> None:
        require_finite(self, "open", "closed")
        require_nonnegative(self, "max_effort", "timeout_s")
        if self.interface not in GRIPPERS:
            raise unknown_name("gripper.interface", self.interface, GRIPPERS)
        if self.interface != "none" and not self.name:
            raise ConfigError(f"gripper.interface = {self.interface!r} needs gripper.name")
        if self.open == self.closed:
            raise ConfigError(f"gripper.open = gripper.closed = {self.open}; they must differ")

    def unit(self, share: float) -> float:
        """The driver's number for 0 open … 1 closed."""
        return self.open + (self.closed - self.open) * share


@dataclass(frozen=True)
class TrajectoryConfig:
    """How a driver names things, what it executes, and how often it reports.

    Attributes:
        interface: "trajectory_topic" for trajectory_msgs/JointTrajectory on a topic;
            "trajectory_action" for control_msgs/FollowJointTrajectory; "forward_position" and
            "forward_velocity" for ros2_control's forward command controllers, which take
            std_msgs/Float64MultiArray and are told to stand still by us.
        command_topic: topic, or name of the action, that the driver takes commands from.
        state_topic: topic that the driver publishes sensor_msgs/JointState on.
        driver_joints: the driver's names of the joints, from base to hand; empty where they
            are those of the robot file.
        driver_fingers: the driver's names of the finger joints, where its joint states have them.
            Without, the safety filter reckons with every angle that the fingers may have.
        other_joints: joints in the same messages that are not on this arm. Any joint that is in
            none of these lists is taken for a gripper's that the robot file does not know of.
        velocity_unit: "rad_s" or "deg_s", of the driver's joint states.
        executes: what the driver executes of a trajectory's points, "positions" or "velocities".
        tick_s: period in which a driver that executes velocities sends them; 0 if it has none.
        overlap_s: how long the arm goes on, ever slower, when the next step is late. Without, it
            stops at the end of every step. It needs joint states twice in a control step.
        settle_s: how long a step may take beyond its time until the arm rests at its end, where a
            command comes late to its driver; only without overlap_s.
        stream_hz: how often the forward controllers are told.
        state_timeout_s: joint states older than this stop the arm; two periods of the driver's
            at least.
        gripper: how the gripper is spoken to.
    """

    command_topic: str = "joint_trajectory_controller/joint_trajectory"
    state_topic: str = "driver/joint_states"
    interface: str = "trajectory_topic"
    driver_joints: tuple[str, ...] = ()
    driver_fingers: tuple[str, ...] = ()
    other_joints: tuple[str, ...] = ()
    velocity_unit: str = "rad_s"
    executes: str = "positions"
    tick_s: float = 0.0
    overlap_s: float = 0.0
    settle_s: float = 0.0
    stream_hz: float = 100.0
    state_timeout_s: float = 0.15
    gripper: GripperLink = field(default_factory=GripperLink)

    def __post_init__(self) -> None:
        require_nonnegative(self, "tick_s", "overlap_s", "settle_s")
        for name, known in (
            ("interface", INTERFACES),
            ("executes", EXECUTES),
            ("velocity_unit", VELOCITY_UNITS),
        ):
            if getattr(self, name) not in known:
                raise unknown_name(f"trajectory.{name}", getattr(self, name), known)
        self._check_bounds()

    @property
    def to_rad_s(self) -> float:
        """Factor from the driver's velocities to [rad/s]."""
        return VELOCITY_UNITS[self.velocity_unit]

    @property
    def velocities(self) -> bool:
        """Whether the driver is told how fast to go, not where."""
        return self.executes == "velocities" or self.interface == "forward_velocity"

    def _check_bounds(self) -> None:
        for name, low, high in (
            ("state_timeout_s", 0.0, 0.5),
            ("stream_hz", 20.0, 1000.0),
        ):
            if not low < getattr(self, name) <= high:
                raise ConfigError(
                    f"trajectory.{name} = {getattr(self, name)}; must be in ({low}, {high}]"
                )
        if self.overlap_s and self.settle_s:
            raise ConfigError(
                f"trajectory.overlap_s = {self.overlap_s} and settle_s = {self.settle_s}: an arm "
                "that goes on does not come to rest; set one of them to 0"
            )
        if self.overlap_s > MAX_OVERLAP_S:
            raise ConfigError(
                f"trajectory.overlap_s = {self.overlap_s} exceeds {MAX_OVERLAP_S}: the arm would "
                "go too far beyond where it was permitted to go"
            )
