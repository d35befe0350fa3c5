"""Worlds that differ a little, so that what is learnt in one holds in the real one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayes_curiosity_ros.configuration.settings import require_nonnegative, require_positive
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.config import RobotConfig


@dataclass(frozen=True)
class Randomization:
    """How far worlds may differ from the given one; every draw is uniform.

    Attributes:
        count: worlds to make; an episode takes place in one of them.
        seed: seed of the draws.
        color: change of each colour channel of table and cylinder.
        brightness: relative change of the arm's brightness and of the light.
        light_direction: change of each component of the light's unit direction.
        camera_position_m, camera_target_m: shift of the camera, and of where it looks.
        object_size: relative change of the cylinder's radius and height, each.
        joint_friction_nm: dry friction from 0 to this, in every joint.
    """

    count: int = 32
    seed: int = 0
    color: float = 0.15
    brightness: float = 0.3
    light_direction: float = 0.4
    camera_position_m: float = 0.03
    camera_target_m: float = 0.02
    object_size: float = 0.1
    joint_friction_nm: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "count")
        require_nonnegative(
            self,
            "color",
            "brightness",
            "light_direction",
            "camera_position_m",
            "camera_target_m",
            "object_size",
            "joint_friction_nm",
        )
        for name in ("brightness", "object_size"):
            if getattr(self, name) >= 1:
                raise ConfigError(f"Randomization.{name} = {getattr(self, name)}; must be below 1")

    def variants(self, robot: RobotConfig) -> tuple[RobotConfig, ...]:
        """The worlds, the same ones for the same seed."""
        rng = np.random.default_rng(self.seed)
        return tuple(self._variant(robot, rng) for _ in range(self.count))

    def _variant(self, robot: RobotConfig, rng: np.random.Generator) -> RobotConfig:
        world = robot.world
        friction = rng.uniform(0.0, 1.0, len(robot.arm.joints)) * self.joint_friction_nm
        cylinder = replace(
            world.object,
            radius_m=world.object.radius_m * self._factor(rng, self.object_size),
            height_m=world.object.height_m * self._factor(rng, self.object_size),
            color=_shift(rng, world.object.color, self.color, 0.0, 1.0),
        )
        camera = replace(
            world.camera,
            position_m=_shift(rng, world.camera.position_m, self.camera_position_m),
            target_m=_shift(rng, world.camera.target_m, self.camera_target_m),
        )
        unit = np.array(world.light.direction) / np.linalg.norm(world.light.direction)
        light = replace(
            world.light,
            direction=_shift(rng, unit, self.light_direction),
            ambient=world.light.ambient * self._factor(rng, self.brightness),
            diffuse=world.light.diffuse * self._factor(rng, self.brightness),
        )
        table = replace(world.table, color=_shift(rng, world.table.color, self.color, 0.0, 1.0))
        brightness = world.arm_brightness * self._factor(rng, self.brightness)
        changed = replace(
            world,
            object=cylinder,
            camera=camera,
            light=light,
            table=table,
            arm_brightness=brightness,
        )
        arm = replace(robot.arm, friction_nm=tuple(friction.tolist()))
        return replace(robot, arm=arm, world=changed)

    def _factor(self, rng: np.random.Generator, share: float) -> float:
        return float(1.0 + rng.uniform(-share, share))


def _shift(
    rng: np.random.Generator,
    values: tuple[float, ...] | np.ndarray,
    amount: float,
    lower: float = -np.inf,
    upper: float = np.inf,
) -> tuple[float, float, float]:
    shifted = np.clip(np.array(values) + rng.uniform(-amount, amount, 3), lower, upper)
    first, second, third = shifted.tolist()
    return first, second, third
