"""Between image messages and frames of a camera."""

from __future__ import annotations

import array

import numpy as np
from sensor_msgs.msg import CameraInfo, Image

from bayes_curiosity_ros.curiosity.data import Observations, rgbd_images
from bayes_curiosity_ros.errors import ImageError
from bayes_curiosity_ros.nodes.conversions.pixels import color_pixels, depth_pixels
from bayes_curiosity_ros.nodes.conversions.values import seconds_of
from bayes_curiosity_ros.robot.cameras.camera import Frame, Intrinsics


def images_of_frame(frame: Frame) -> tuple[Image, Image]:
    """Colour as rgb8 and depth as 32FC1 [m] (REP 118), without headers."""
    return _image(frame.color, "rgb8"), _image(frame.depth.astype(np.float32), "32FC1")


def frame_of_images(color: Image, depth: Image) -> Frame:
    """A frame from an rgb8 and a 32FC1 image of the same size."""
    pixels, distances = color_pixels(color), depth_pixels(depth)
    if pixels.shape[:2] != distances.shape:
        raise ImageError(f"colour is {pixels.shape[:2]} pixels, depth {distances.shape}")
    return Frame(pixels, distances, seconds_of(color.header.stamp))


def observation_of_frame(vectors: np.ndarray, frame: Frame | None) -> Observations:
    """A batch of one from a vector, (1, D), and the frame taken there, if there is one."""
    if frame is None:
        return Observations(vectors)
    return Observations(vectors, rgbd_images(frame.color[None], frame.depth[None]))


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
