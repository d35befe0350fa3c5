"""Between messages and arrays; the only place that does it."""

from __future__ import annotations

import array
import math

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import CameraInfo, Image

from bayes_curiosity_interfaces.msg import ArmState as ArmStateMessage
from bayes_curiosity_interfaces.msg import Observation, ObservationBatch
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.errors import (
    EmptyBatchError,
    ImageError,
    LengthError,
    NotFiniteError,
    unknown_name,
)
from bayes_curiosity_ros.robot.arms.arm import ArmState
from bayes_curiosity_ros.robot.cameras.camera import Frame, Intrinsics
from bayes_curiosity_ros.robot.cameras.pixels import pixel_rows


def observations_of_batch(batch: ObservationBatch) -> Observations:
    """Arrays of a flat batch, vectors without a copy; sizes that do not fit are rejected."""
    if batch.count == 0:
        raise EmptyBatchError("count = 0; send at least one observation")
    vectors = np.frombuffer(batch.vectors, dtype=np.float64)
    if len(vectors) % batch.count:
        raise LengthError(f"{len(vectors)} vector values do not divide into {batch.count} rows")
    return Observations(vectors.reshape(batch.count, -1), _images_of_batch(batch))


def batch_of_observations(observations: Observations) -> ObservationBatch:
    """A flat batch; images are channels-first RGBD floats, colours in 0..1, depth in [m]."""
    batch = ObservationBatch(count=len(observations), vectors=doubles(observations.vectors))
    if observations.images is not None:
        batch.image_height, batch.image_width = observations.images.shape[2:]
        color = np.rint(observations.images[:, :3] * 255.0).clip(0, 255).astype(np.uint8)
        batch.color = array.array("B", color.transpose(0, 2, 3, 1).tobytes())
        batch.depth = array.array("f", observations.images[:, 3].astype(np.float32).tobytes())
    return batch


def observation_of_message(message: Observation) -> Observations:
    """A batch of one."""
    vectors = np.array(message.vector, dtype=np.float64)[None]
    if not message.color.data and not message.depth.data:
        return Observations(vectors)
    color, depth = _color_pixels(message.color), _depth_pixels(message.depth)
    if color.shape[:2] != depth.shape:
        raise ImageError(f"colour is {color.shape[:2]} pixels, depth {depth.shape}; align them")
    return Observations(vectors, _rgbd(color[None], depth[None]))


def observation_of_frame(vectors: np.ndarray, frame: Frame | None) -> Observations:
    """A batch of one from a vector, (1, D), and the frame taken there, if there is one."""
    if frame is None:
        return Observations(vectors)
    return Observations(vectors, _rgbd(frame.color[None], frame.depth[None]))


def message_of_arm_state(state: ArmState, names: tuple[str, ...]) -> ArmStateMessage:
    """All but episode, step and deltas. Positions: joints, then fingers, as `names` says."""
    positions = np.concatenate([state.joints, state.fingers])
    velocities = np.zeros(len(positions))
    velocities[: len(state.velocities)] = state.velocities
    message = ArmStateMessage(
        joint_names=names,
        positions=doubles(positions),
        velocities=doubles(velocities),
        gripper=state.gripper,
        object_known=state.object_position is not None,
        self_contacts=int("self" in state.contacts),
        scene_contacts=int("scene" in state.contacts),
        object_contacts=int("object" in state.contacts),
    )
    message.header.stamp = stamp_of(state.stamp_s)
    message.header.frame_id = "world"
    if state.object_position is not None:
        pose = message.object_pose
        pose.position.x, pose.position.y, pose.position.z = state.object_position.tolist()
        if state.object_orientation is not None:
            turn = pose.orientation
            turn.w, turn.x, turn.y, turn.z = state.object_orientation.tolist()
    return message


def arm_state_of_message(message: ArmStateMessage, joints: tuple[str, ...]) -> ArmState:
    """What an arm reported; its first joints must be `joints`, the rest are fingers."""
    count, names = len(joints), tuple(message.joint_names)
    if names[:count] != joints:
        wrong = next((name for name in names if name not in joints), names)
        raise unknown_name("joint in arm/state:", wrong, joints)
    positions = np.array(message.positions, dtype=np.float64)
    velocities = np.array(message.velocities, dtype=np.float64)
    if not len(positions) == len(velocities) == len(names):
        raise LengthError(
            f"{len(names)} joints with {len(positions)} positions, {len(velocities)} velocities"
        )
    spot, turn = message.object_pose.position, message.object_pose.orientation
    place = np.array([spot.x, spot.y, spot.z, turn.w, turn.x, turn.y, turn.z])
    if not (np.isfinite(positions).all() and np.isfinite(place).all()):
        raise NotFiniteError(f"arm/state: positions {positions}, object {place}")
    contacts = {
        "self": message.self_contacts,
        "scene": message.scene_contacts,
        "object": message.object_contacts,
    }
    return ArmState(
        stamp_s=seconds_of(message.header.stamp),
        joints=positions[:count],
        velocities=velocities[:count],
        fingers=positions[count:],
        gripper=message.gripper,
        contacts=frozenset(kind for kind, number in contacts.items() if number),
        object_position=place[:3] if message.object_known else None,
        object_orientation=place[3:] if message.object_known else None,
    )


def images_of_frame(frame: Frame) -> tuple[Image, Image]:
    """Colour as rgb8 and depth as 32FC1 [m] (REP 118), without headers."""
    return _image(frame.color, "rgb8"), _image(frame.depth.astype(np.float32), "32FC1")


def frame_of_images(color: Image, depth: Image) -> Frame:
    """A frame from an rgb8 and a 32FC1 image of the same size."""
    pixels, distances = _color_pixels(color), _depth_pixels(depth)
    if pixels.shape[:2] != distances.shape:
        raise ImageError(f"colour is {pixels.shape[:2]} pixels, depth {distances.shape}")
    return Frame(pixels, distances, seconds_of(color.header.stamp))


def camera_info_of(intrinsics: Intrinsics) -> CameraInfo:
    """A pinhole without distortion. ROS counts pixel centres from 0, we from 0.5."""
    fx, fy = intrinsics.fx, intrinsics.fy
    cx, cy = intrinsics.cx - 0.5, intrinsics.cy - 0.5
    return CameraInfo(
        width=intrinsics.width,
        height=intrinsics.height,
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


def stamp_of(seconds: float) -> Time:
    """A time of day or of simulation, rounded to nanoseconds."""
    whole = math.floor(seconds)
    nanoseconds = round((seconds - whole) * 1e9)
    if nanoseconds == 1_000_000_000:
        whole, nanoseconds = whole + 1, 0
    return Time(sec=whole, nanosec=nanoseconds)


def seconds_of(stamp: Time) -> float:
    """The reverse of `stamp_of`."""
    return stamp.sec + stamp.nanosec * 1e-9


def _image(pixels: np.ndarray, encoding: str) -> Image:
    pixels = np.ascontiguousarray(pixels)
    height, width = pixels.shape[:2]
    return Image(
        height=height,
        width=width,
        encoding=encoding,
        step=pixels.nbytes // height,
        data=array.array("B", pixels.tobytes()),
    )


def doubles(values: np.ndarray) -> array.array:
    """A float64[] field's value; a list would cost a check per number."""
    return array.array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


def _images_of_batch(batch: ObservationBatch) -> np.ndarray | None:
    shape = (batch.count, batch.image_height, batch.image_width)
    pixels = int(np.prod(shape, dtype=np.int64))
    for name, values, expected in (
        ("color", batch.color, 3 * pixels),
        ("depth", batch.depth, pixels),
    ):
        if len(values) != expected:
            raise ImageError(
                f"{name} has {len(values)} values; {shape[0]} images of {shape[1]} × {shape[2]} "
                f"pixels need {expected}"
            )
    if pixels == 0:
        return None
    color = np.frombuffer(batch.color, dtype=np.uint8).reshape(*shape, 3)
    return _rgbd(color, np.frombuffer(batch.depth, dtype=np.float32).reshape(shape))


def _rgbd(color: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Channels-first float32: colours in 0..1, depth in [m]."""
    images = np.empty((len(color), 4, *color.shape[1:3]), dtype=np.float32)
    np.multiply(color.transpose(0, 3, 1, 2), np.float32(1.0 / 255.0), out=images[:, :3])
    images[:, 3] = depth
    return images


def _color_pixels(image: Image) -> np.ndarray:
    _require_encoding("colour", image, "rgb8")
    return pixel_rows(image, np.dtype(np.uint8), 3).reshape(image.height, image.width, 3)


def _depth_pixels(image: Image) -> np.ndarray:
    _require_encoding("depth", image, "32FC1")
    order = ">" if image.is_bigendian else "<"
    return pixel_rows(image, np.dtype(f"{order}f4"), 1)


def _require_encoding(name: str, image: Image, encoding: str) -> None:
    if image.encoding != encoding:
        raise ImageError(f"{name} image has encoding {image.encoding!r}; expected {encoding!r}")
