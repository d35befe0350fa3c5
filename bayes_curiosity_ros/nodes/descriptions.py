"""What each message that comes to one of our nodes may hold, by its type; the only place.

A field that is not named here has the bound of its type: numbers are finite and within ±10⁹, texts
have up to 500 characters, arrays up to 1000 numbers or 100 texts. How a table is read:
`nodes/bounds.py`. What depends on the robot (names of joints, number of fingers) or on a model
(sizes of observations) is checked where that is known, in `nodes/conversions/` and in the core.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, JointState, Joy, PointCloud2
from std_msgs.msg import String, UInt64
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from bayes_curiosity_interfaces.msg import (
    Action,
    ArmState,
    ArmStatus,
    CuriosityState,
    EpisodeSummary,
    IntrinsicReward,
    LearnerStatus,
    Observation,
)
from bayes_curiosity_interfaces.srv import Claim, Evaluate, ModelFile, Reset, ResetEpisode, Update
from bayes_curiosity_ros.nodes.bounds import (
    Between,
    Bound,
    Cut,
    Description,
    Inside,
    Many,
    Text,
    Within,
)

# rclpy's own services: parameters, types, the lifecycle. It answers for them itself.
RCLPY = ("rcl_interfaces", "type_description_interfaces", "lifecycle_msgs")

ANGLES = Within(limit=1e4, most=64)  # [rad], and [rad/s]
PLACE = Within(limit=1e4)  # [m]
TURN = Within(limit=1.1)  # parts of a unit quaternion
SIDE = Between(0, 16384)  # pixels
PIXELS = Many(1 << 28)  # bytes
PATH = Text(length=4096)
ACTOR = Between(0, 1)
POSE = {"pose.position": PLACE, "pose.orientation": TURN}
SUPERVISOR = Inside("robot.supervisor")
CURIOSITY = Inside("curiosity.inputs")
IMAGES = Inside("robot.cameras.pixels")
BATCH = Inside("nodes.conversions.observations")
# Drivers say NaN of joints that they do not measure; whoever reads a joint looks at its angle.
READER = Inside("robot.frames, bags.demonstrate, robot.arms.driver_states")


def _arm_state(path: str = "") -> dict[str, Bound]:
    own: dict[str, Bound] = {
        "joint_names": Text(most=64),
        "positions": ANGLES,
        "velocities": ANGLES,
        "gripper": Between(-1.0, 2.0),
        "object_pose.position": PLACE,
        "object_pose.orientation": TURN,
        "requested_deltas": ANGLES,
        "executed_deltas": ANGLES,
        "requested_gripper": Between(0.0, 1.0),
        "actor": ACTOR,
    }
    return {f"{path}{name}": bound for name, bound in own.items()}


def _batch(path: str) -> dict[str, Bound]:
    numbers = ("count", "image_height", "image_width", "vectors", "color", "depth")
    return {f"{path}.{name}": BATCH for name in numbers}


SCORES = {name: Within(limit=1e30, most=1 << 24) for name in ("variance", "curiosity", "reward")}
STATUS = {"status.message": Cut()}
DIAGNOSTIC: dict[str, Bound] = {
    "message": Cut(),
    "values": Many(1000, {"value": Text(length=100_000)}),
}

TABLE: Mapping[Any, Mapping[str, Bound]] = {
    Action: {"joint_deltas": SUPERVISOR, "gripper": SUPERVISOR},
    ArmState: _arm_state(),
    ArmStatus: {"state": Between(0, 5), "reason": Cut(), "driver": ACTOR},
    CameraInfo: {"r": Many(9), "p": Many(12), "d": Many(100), "height": SIDE, "width": SIDE},
    Clock: {},
    CompressedImage: {"data": PIXELS},
    CuriosityState: {},
    DiagnosticArray: {"status": Many(1000, DIAGNOSTIC)},
    DiagnosticStatus: DIAGNOSTIC,
    EpisodeSummary: {"outcome": Between(0, 3)},
    Image: {"height": SIDE, "width": SIDE, "data": PIXELS},
    IntrinsicReward: {"variance": Within(1e30), "actor": ACTOR, **STATUS},
    JointState: {
        "name": Text(most=1000),
        "position": READER,
        "velocity": READER,
        "effort": READER,
    },
    Joy: {"axes": Within(limit=1e3, most=64), "buttons": Many(64)},
    LearnerStatus: {"state": Between(0, 3), "reason": Cut()},
    Observation: {
        "vector": CURIOSITY,
        "color.data": IMAGES,
        "depth.data": IMAGES,
        "actor": ACTOR,
    },
    PointCloud2: {"width": Between(0, 1 << 20), "height": Between(0, 1), "data": PIXELS},
    PoseStamped: POSE,
    String: {"data": Cut()},
    TFMessage: {"transforms": Many(1000)},
    UInt64: {},
    Claim.Request: {"what": Between(0, 2)},
    Claim.Response: STATUS,
    Evaluate.Request: _batch("observations"),
    Evaluate.Response: {**SCORES, **STATUS},
    ModelFile.Request: {"path": PATH},
    ModelFile.Response: {"path": PATH, **STATUS},
    Reset.Request: {},
    Reset.Response: STATUS,
    ResetEpisode.Request: {},
    ResetEpisode.Response: {**_arm_state("state."), **STATUS},
    Trigger.Request: {},
    Trigger.Response: {"message": Cut()},
    Update.Request: _batch("observations"),
    Update.Response: STATUS,
}


@cache
def description_of(kind: Any) -> Description | None:
    """What messages of this type may hold; None for what rclpy itself answers for.

    Raises:
        TypeError: nobody has said what they may hold.
    """
    if kind.__module__.partition(".")[0] in RCLPY:
        return None
    if kind not in TABLE:
        raise TypeError(f"{kind.__name__} has no description; add one to nodes/descriptions.py")
    return Description(kind, TABLE[kind])


def checked(message: Any) -> Any:
    """The same message, if it is as described.

    Raises:
        InputError: a field is out of its bounds.
    """
    kind: Any = type(message)
    description = description_of(kind)
    if description is not None:
        description.check(message)
    return message
