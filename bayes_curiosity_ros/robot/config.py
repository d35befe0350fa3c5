"""Settings of the arm and its world: frozen, checked when made, read from `config/robots/`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.configuration.settings import (
    build,
    read_yaml,
    require_finite,
    require_nonnegative,
    require_positive,
)
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.resources import find

Point = tuple[float, float, float]
Color = tuple[float, float, float]
DYNAMICS = ("physics", "kinematic")


@dataclass(frozen=True)
class GripperConfig:
    """Fingers that close together on one command, each with a springy tip.

    Attributes:
        fingers: driven joints.
        tips: passive joints, held at zero by a spring; left out, they are rigid.
        open_rad: finger angle of command 0.
        closed_rad: finger angle of command 1.
        stiffness_nm_rad: gain of the finger servo; its torque is bounded by the URDF's effort.
    """

    fingers: tuple[str, ...]
    tips: tuple[str, ...] = ()
    open_rad: float = 0.2
    closed_rad: float = 1.2
    armature_kg_m2: float = 0.01
    stiffness_nm_rad: float = 10.0
    damping_nm_s: float = 0.4
    tip_stiffness_nm_rad: float = 0.5
    tip_damping_nm_s: float = 0.05

    def __post_init__(self) -> None:
        require_positive(self, "armature_kg_m2", "stiffness_nm_rad", "damping_nm_s")
        require_nonnegative(self, "tip_stiffness_nm_rad", "tip_damping_nm_s")
        require_finite(self, "open_rad", "closed_rad")
        if not self.fingers:
            raise ConfigError("gripper.fingers is empty; leave out `gripper` for an arm without")

    @property
    def travel_rad(self) -> float:
        """Angle of a finger from open to closed in [rad]."""
        return self.closed_rad - self.open_rad


@dataclass(frozen=True)
class ArmConfig:
    """Which arm: its description, and what a description does not say.

    Attributes:
        urdf: file in `urdf/`, or a path.
        srdf: file in `urdf/`, or a path; None when no pair may touch.
        joints: the controlled joints, from base to hand.
        end_effector: link at the tool centre, z out of the palm.
        ready_rad: where an episode starts.
        armature_kg_m2: reflected rotor inertia per joint.
        friction_nm: dry friction per joint.
        servo_rad_s: natural frequency of the critically damped position servo.
        speed_fraction: share of the URDF's velocity limit that commands may use; the rest is
            for the servo's transients.
        gripper: None for a bare flange.
    """

    urdf: str
    joints: tuple[str, ...]
    end_effector: str
    ready_rad: tuple[float, ...]
    armature_kg_m2: tuple[float, ...]
    srdf: str | None = None
    friction_nm: tuple[float, ...] = ()
    servo_rad_s: float = 60.0
    speed_fraction: float = 0.65
    gripper: GripperConfig | None = None

    @property
    def all_joints(self) -> tuple[str, ...]:
        """The controlled joints, then those of the gripper."""
        gripper = self.gripper
        return self.joints if gripper is None else self.joints + gripper.fingers + gripper.tips

    def __post_init__(self) -> None:
        require_positive(self, "armature_kg_m2", "servo_rad_s", "speed_fraction")
        require_nonnegative(self, "friction_nm")
        require_finite(self, "ready_rad")
        if not self.friction_nm:
            object.__setattr__(self, "friction_nm", (0.0,) * len(self.joints))
        for name in ("ready_rad", "armature_kg_m2", "friction_nm"):
            if len(getattr(self, name)) != len(self.joints):
                raise ConfigError(
                    f"arm.{name} has {len(getattr(self, name))} values "
                    f"for {len(self.joints)} joints"
                )
        if self.speed_fraction > 0.9:
            raise ConfigError(
                f"arm.speed_fraction = {self.speed_fraction} exceeds 0.9: the servo's transients "
                "could break the velocity limit"
            )


@dataclass(frozen=True)
class TableConfig:
    """A table whose top is the plane z = 0, the arm's mounting plane."""

    center_m: tuple[float, float] = (0.35, 0.0)
    size_m: tuple[float, float] = (1.1, 1.2)
    thickness_m: float = 0.04
    color: Color = (0.72, 0.62, 0.48)

    def __post_init__(self) -> None:
        require_finite(self, "center_m", "color")
        require_positive(self, "size_m", "thickness_m")

    def contains(self, point: Point) -> bool:
        """Whether a point lies inside the slab."""
        offset = np.abs(np.subtract(point[:2], self.center_m))
        inside = bool(np.all(offset <= np.array(self.size_m) / 2))
        return inside and -self.thickness_m <= point[2] <= 0.0


@dataclass(frozen=True)
class ObjectConfig:
    """The cylinder.

    Attributes:
        tangible: False makes it a marker that nothing can touch.
    """

    radius_m: float = 0.03
    height_m: float = 0.14
    mass_kg: float = 0.1
    friction: float = 1.0
    color: Color = (0.82, 0.16, 0.12)
    tangible: bool = True

    def __post_init__(self) -> None:
        require_positive(self, "radius_m", "height_m", "mass_kg", "friction")
        require_finite(self, "color")


@dataclass(frozen=True)
class CameraConfig:
    """A fixed RGBD camera with square pixels, looking from a point at another.

    Attributes:
        position_m: optical centre in the world.
        target_m: the point in the middle of the image.
        fovy_deg: vertical field of view.
        max_depth_m: reported where a ray meets nothing, and the farthest depth reported.
    """

    position_m: Point = (1.05, -0.45, 0.65)
    target_m: Point = (0.42, 0.0, 0.10)
    fovy_deg: float = 42.0
    width: int = 64
    height: int = 64
    max_depth_m: float = 3.0

    def __post_init__(self) -> None:
        require_finite(self, "position_m", "target_m")
        require_positive(self, "fovy_deg", "width", "height", "max_depth_m")
        if self.fovy_deg >= 180.0:
            raise ConfigError(f"camera.fovy_deg = {self.fovy_deg}; must be below 180")
        gaze = np.subtract(self.target_m, self.position_m)
        if np.linalg.norm(gaze[:2]) < 1e-6:
            raise ConfigError(
                f"camera.target_m = {self.target_m} lies straight above or below the camera: "
                "'up' in the image is undefined; move it by a millimetre"
            )

    @property
    def focal_px(self) -> float:
        """Focal length in pixels, the same in x and y."""
        return self.height / 2 / math.tan(math.radians(self.fovy_deg) / 2)


@dataclass(frozen=True)
class LightConfig:
    """A distant lamp; a surface facing it shows its colour times ambient + diffuse.

    Attributes:
        direction: the way the light travels.
    """

    direction: Point = (-0.25, 0.35, -0.9)
    ambient: float = 0.45
    diffuse: float = 0.6

    def __post_init__(self) -> None:
        require_finite(self, "direction")
        require_nonnegative(self, "ambient", "diffuse")
        if np.linalg.norm(self.direction) < 1e-6:
            raise ConfigError(f"light.direction = {self.direction} has no length")


@dataclass(frozen=True)
class WorldConfig:
    """Arm on a table, a cylinder, a camera, and the clock.

    Attributes:
        dynamics: "physics" for forces and friction; "kinematic" for joints that go where they
            are told and contacts looked for once per control step (see `robot.kinematic`).
        physics_step_s: one MuJoCo step.
        control_step_s: time between two commands; a multiple of the physics step.
        arm_brightness: factor on the colours of the URDF.
    """

    physics_step_s: float = 0.005
    control_step_s: float = 0.1
    table: TableConfig = field(default_factory=TableConfig)
    object: ObjectConfig = field(default_factory=ObjectConfig)
    camera: CameraConfig = field(default_factory=CameraConfig)
    light: LightConfig = field(default_factory=LightConfig)
    arm_brightness: float = 1.0
    dynamics: str = "physics"

    def __post_init__(self) -> None:
        require_positive(self, "physics_step_s", "control_step_s", "arm_brightness")
        if self.dynamics not in DYNAMICS:
            raise unknown_name("world.dynamics", self.dynamics, DYNAMICS)
        ratio = self.control_step_s / self.physics_step_s
        if abs(ratio - round(ratio)) > 1e-6 or round(ratio) < 1:
            raise ConfigError(
                f"world.control_step_s = {self.control_step_s} is no multiple of "
                f"physics_step_s = {self.physics_step_s}"
            )
        if self.table.contains(self.camera.position_m):
            raise ConfigError(
                f"camera.position_m = {self.camera.position_m} is inside the table "
                f"(z from {-self.table.thickness_m} to 0 m); raise it above z = 0"
            )

    @property
    def substeps(self) -> int:
        """Physics steps per control step."""
        return round(self.control_step_s / self.physics_step_s)


LEAST_OVERSPEED = 2.0


@dataclass(frozen=True)
class SafetyConfig:
    """Bounds on what may be commanded; see `robot.safety`.

    Attributes:
        joint_margin_rad: distance kept from the URDF's joint limits.
        max_velocity_rad_s: per joint, below the URDF's limit; None for the arm's speed fraction.
        max_acceleration_rad_s2: per joint, or one for all.
        max_step_rad: largest change of a joint in one command, or None.
        clearance_m: distance kept between links, and between links and the scene.
        workspace_lower_m, workspace_upper_m: box that every link and fingertip stays in.
        table_height_m: no link or fingertip below this, plus the clearance.
        collisions: whether to check poses for collision, table and workspace. Off in simulated
            learning, where a collision is an outcome; on for every real arm.
        max_overspeed: a joint that was measured to move so many times as fast as its limit stops
            the arm: no command asked for that. At least 2, as 1.5 can be a servo that catches up.
    """

    joint_margin_rad: float = 0.1
    max_velocity_rad_s: tuple[float, ...] | None = None
    max_acceleration_rad_s2: tuple[float, ...] = (14.0,)
    max_step_rad: float | None = None
    clearance_m: float = 0.015
    workspace_lower_m: Point = (-0.6, -0.8, -0.01)
    workspace_upper_m: Point = (0.95, 0.8, 1.25)
    table_height_m: float = 0.0
    collisions: bool = True
    max_overspeed: float = 2.5

    def __post_init__(self) -> None:
        require_nonnegative(self, "joint_margin_rad")
        require_finite(self, "max_overspeed")
        if self.max_overspeed < LEAST_OVERSPEED:
            raise ConfigError(
                f"safety.max_overspeed = {self.max_overspeed} is below {LEAST_OVERSPEED}: a servo "
                "that catches up would stop the arm"
            )
        require_positive(self, "clearance_m", "max_acceleration_rad_s2")
        require_finite(self, "workspace_lower_m", "workspace_upper_m", "table_height_m")
        for name in ("max_velocity_rad_s", "max_step_rad"):
            if getattr(self, name) is not None:
                require_positive(self, name)
        if np.any(np.array(self.workspace_lower_m) >= np.array(self.workspace_upper_m)):
            raise ConfigError(
                f"safety.workspace_lower_m = {self.workspace_lower_m} is not below "
                f"workspace_upper_m = {self.workspace_upper_m}"
            )


@dataclass(frozen=True)
class RobotConfig:
    """Everything about one robot cell."""

    arm: ArmConfig
    world: WorldConfig = field(default_factory=WorldConfig)
    safety: SafetyConfig = field(default_factory=SafetyConfig)

    @staticmethod
    def load(name: str | Path = "jaco.yaml") -> RobotConfig:
        """Read `config/robots/<name>`, or a file of the user's own.

        Raises:
            ConfigError: no such file, or a setting is unknown, missing or out of bounds.
        """
        path = find("config/robots", name)
        return build(RobotConfig, read_yaml(path), path.name)
