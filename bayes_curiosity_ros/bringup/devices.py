"""PROVISIONAL: what `robot.arms.arm.ARMS` and `robot.cameras.camera.CAMERAS` will say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bayes_curiosity_ros.configuration.registry import Registry


@dataclass(frozen=True)
class ArmEntry:
    """A kind of arm, as `robot.arms.arm.ArmEntry` will describe it."""

    name: str
    real: bool = True
    robot: str = "jaco.yaml"
    needs: tuple[str, ...] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CameraEntry:
    """A kind of camera, as `robot.cameras.camera.CameraEntry` will describe it."""

    name: str


ARMS: Registry[ArmEntry] = Registry("arm", ArmEntry)
CAMERAS: Registry[CameraEntry] = Registry("camera", CameraEntry)
TOPICS = ("command_topic", "state_topic")
for arm in (
    ArmEntry("sim", real=False),
    ArmEntry("kortex", True, "gen3.yaml", ("robot_ip",), {"robot_ip": "kortex.ip"}),
    ArmEntry("moveit"),
    ArmEntry("trajectory", needs=TOPICS, parameters={n: f"trajectory.{n}" for n in TOPICS}),
):
    ARMS.add(arm)
for camera in ("sim", "realsense", "topics"):
    CAMERAS.add(CameraEntry(camera))
