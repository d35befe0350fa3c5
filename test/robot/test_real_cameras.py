"""Real cameras' images, brought to the size that learning uses."""

from __future__ import annotations

import importlib.util
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bayes_curiosity_ros.errors import ImageError
from bayes_curiosity_ros.robot.cameras.camera import Camera, CameraError, Intrinsics
from bayes_curiosity_ros.robot.cameras.encodings import (
    DEPTH_HEADER,
    metres_of,
    metres_of_compressed,
    rgb_of,
    rgb_of_compressed,
)
from bayes_curiosity_ros.robot.cameras.images import Resizer
from bayes_curiosity_ros.robot.cameras.realsense import RealsenseCamera, RealsenseConfig

needs_opencv = pytest.mark.skipif(
    importlib.util.find_spec("cv2") is None, reason="OpenCV is for real cameras only"
)
WIDE = Intrinsics(640, 480, 600.0, 600.0, 320.0, 240.0)


def pictures(seed=0):
    rng = np.random.default_rng(seed)
    color = rng.integers(0, 256, (480, 640, 3), dtype=np.uint8)
    return color, rng.uniform(0.5, 2.0, (480, 640)).astype(np.float32)


@needs_opencv
def test_a_frame_has_the_simulated_cameras_size(robot):
    frame = Resizer(WIDE, robot.world.camera)(*pictures(), 1.5)
    assert frame.color.shape == (64, 64, 3)
    assert frame.depth.shape == (64, 64)
    assert frame.stamp_s == 1.5


@needs_opencv
def test_what_is_seen_in_a_direction_stays_there(robot):
    """A bright spot on a known ray ends up in the pixel of that ray."""
    camera = robot.world.camera
    resize, target = Resizer(WIDE, camera), Intrinsics.of(camera)
    for x, y in ((0.0, 0.0), (0.2, -0.1), (-0.25, 0.3)):
        color, depth = np.zeros((480, 640, 3), np.uint8), np.ones((480, 640), np.float32)
        column, row = int(WIDE.fx * x + WIDE.cx), int(WIDE.fy * y + WIDE.cy)
        color[row - 6 : row + 7, column - 6 : column + 7] = 255
        brightest = np.unravel_index(
            resize(color, depth, 0.0).color.sum(axis=2).argmax(), (64, 64)
        )
        expected = (target.fy * y + target.cy, target.fx * x + target.cx)
        np.testing.assert_allclose(np.array(brightest) + 0.5, expected, atol=1.5)


@needs_opencv
def test_unknown_depth_is_far_and_depth_is_never_averaged(robot):
    color, depth = pictures()
    depth[:, :320] = 0.0
    small = Resizer(WIDE, robot.world.camera)(color, depth, 0.0).depth
    assert (small[:, :30] == robot.world.camera.max_depth_m).all()
    assert np.isin(small[:, 34:], depth).all()


@needs_opencv
def test_other_sizes_and_narrow_views_are_refused(robot):
    resize = Resizer(WIDE, robot.world.camera)
    color, depth = pictures()
    with pytest.raises(ImageError, match="camera_info says"):
        resize(color[:100], depth, 0.0)
    with pytest.raises(CameraError, match="fovy_deg"):
        Resizer(replace(WIDE, fx=6000.0, fy=6000.0), robot.world.camera)


def image(pixels, encoding, step=None, bigendian=False):
    height, width = pixels.shape[:2]
    data = pixels.tobytes()
    return SimpleNamespace(
        height=height,
        width=width,
        encoding=encoding,
        step=step or len(data) // height,
        data=data,
        is_bigendian=bigendian,
    )


def padded(pixels, encoding, extra=6):
    """Rows that end in bytes which mean nothing, as some drivers align them."""
    rows = pixels.reshape(len(pixels), -1).view(np.uint8)
    rows = np.hstack([rows, np.full((len(rows), extra), 255, np.uint8)])
    message = image(pixels, encoding)
    message.step, message.data = rows.shape[1], rows.tobytes()
    return message


COLOR = np.random.default_rng(0).integers(0, 256, (4, 6, 3), dtype=np.uint8)
ALPHA = np.full((4, 6, 1), 9, np.uint8)


@needs_opencv
@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        ("rgb8", COLOR),
        ("bgr8", np.ascontiguousarray(COLOR[..., ::-1])),
        ("rgba8", np.dstack([COLOR, ALPHA])),
        ("bgra8", np.dstack([COLOR[..., ::-1], ALPHA])),
        ("8UC3", np.ascontiguousarray(COLOR[..., ::-1])),
        ("8UC4", np.dstack([COLOR[..., ::-1], ALPHA])),
    ],
)
def test_colours_of_drivers(encoding, sent):
    np.testing.assert_array_equal(rgb_of(image(sent, encoding)), COLOR)
    np.testing.assert_array_equal(rgb_of(padded(sent, encoding)), COLOR)


@needs_opencv
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("encoding", ["rgb16", "bgr16", "rgba16", "bgra16"])
def test_colours_of_sixteen_bits_become_the_nearest_of_eight(encoding, order):
    noise = np.random.default_rng(1).integers(-128, 129, COLOR.shape)
    fine = np.clip(COLOR.astype(np.int64) * 257 + noise, 0, 65535)
    sent = fine if encoding.startswith("rgb") else fine[..., ::-1]
    if "a1" in encoding:
        sent = np.dstack([sent, ALPHA])
    message = image(sent.astype(f"{order}u2"), encoding, bigendian=order == ">")
    np.testing.assert_array_equal(rgb_of(message), COLOR)


@needs_opencv
def test_grey_is_a_colour_too():
    grey = COLOR[..., :1]
    for encoding, sent in (("mono8", grey), ("8UC1", grey), ("mono16", grey.astype("<u2") * 257)):
        seen = rgb_of(image(sent, encoding))
        np.testing.assert_array_equal(seen, np.repeat(grey, 3, axis=2))


@needs_opencv
@pytest.mark.parametrize(("bits", "unit"), [(8, 1), (16, 257)])
@pytest.mark.parametrize(
    ("pattern", "spot"),
    [("rggb", (0, 0)), ("grbg", (0, 1)), ("gbrg", (1, 0)), ("bggr", (1, 1))],
)
def test_the_red_pixels_of_a_bayer_pattern_are_red(pattern, spot, bits, unit):
    mosaic = np.zeros((16, 16), f"u{bits // 8}")
    mosaic[spot[0] :: 2, spot[1] :: 2] = 200 * unit
    middle = rgb_of(image(mosaic, f"bayer_{pattern}{bits}"))[4:-4, 4:-4]
    assert (middle == [200, 0, 0]).all()


def planar(data, encoding, height=4, width=6):
    """Planes one after the other, with a step that means nothing."""
    message = image(np.zeros((height, width), np.uint8), encoding, step=2 * width)
    message.data = data.tobytes()
    return message


@needs_opencv
@pytest.mark.parametrize("extra", [0, 2])
@pytest.mark.parametrize("encoding", ["nv21", "nv24"])
def test_planes_of_brightness_and_colour(encoding, extra):
    """One colour throughout, as 4:2:2 has it too."""
    luma, blue, red = 120, 90, 200
    height, width = 4, 6
    y = np.full((height, width + extra), luma, np.uint8)
    pair, shape = ((red, blue), (height // 2, width + extra))  # V first
    if encoding == "nv24":
        pair, shape = (blue, red), (height, 2 * (width + extra))
    colors = np.resize(np.array(pair, np.uint8), shape)
    seen = rgb_of(planar(np.concatenate([y.ravel(), colors.ravel()]), encoding))
    packed = np.resize(np.array([blue, luma, red, luma], np.uint8), (height, width, 2))
    np.testing.assert_array_equal(seen, rgb_of(image(packed, "uyvy")))
    assert seen[0, 0].argmax() == 0  # reddish


@needs_opencv
@pytest.mark.parametrize(
    ("encoding", "luma"), [("yuv422", 1), ("uyvy", 1), ("yuv422_yuy2", 0), ("yuyv", 0)]
)
def test_yuv_of_web_cameras(encoding, luma):
    sent = np.full((4, 6, 2), 128, np.uint8)  # no colour at all
    sent[..., luma] = 180
    seen = rgb_of(image(sent, encoding))
    assert seen.shape == (4, 6, 3)
    assert np.ptp(seen) == 0
    assert seen[0, 0, 0] == pytest.approx((180 - 16) * 255 / 219, abs=2)  # ITU-R BT.601


@pytest.mark.parametrize("order", ["<", ">"])
def test_depths_of_drivers(order):
    rng = np.random.default_rng(0)
    millimetres = rng.integers(0, 4000, (4, 6)).astype(f"{order}u2")
    for encoding in ("16UC1", "mono16"):
        seen = metres_of(image(millimetres, encoding, bigendian=order == ">"))
        np.testing.assert_allclose(seen, millimetres / 1000.0, rtol=1e-6)
    metres = rng.uniform(0, 4, (4, 6)).astype(f"{order}f4")
    np.testing.assert_array_equal(
        metres_of(image(metres, "32FC1", bigendian=order == ">")), metres
    )
    if order == "<":
        seen = metres_of(padded(millimetres, "16UC1"))
        np.testing.assert_allclose(seen, millimetres / 1000.0, rtol=1e-6)


@needs_opencv
def test_compressed_images_of_drivers():
    import cv2

    def compressed(words, data, head=b""):
        return SimpleNamespace(format=words, data=head + data.tobytes())

    _, png = cv2.imencode(".png", COLOR[..., ::-1])
    message = compressed("rgb8; png compressed bgr8", png)
    np.testing.assert_array_equal(rgb_of_compressed(message), COLOR)
    smooth = np.full((16, 16, 3), (200, 60, 10), np.uint8)
    _, jpeg = cv2.imencode(".jpg", smooth[..., ::-1])
    np.testing.assert_allclose(rgb_of_compressed(compressed("rgb8; jpeg", jpeg)), smooth, atol=4)
    millimetres = np.arange(24, dtype=np.uint16).reshape(4, 6) * 100
    _, png = cv2.imencode(".png", millimetres)
    message = compressed("16UC1; compressedDepth png", png, DEPTH_HEADER.pack(0, 0.0, 0.0))
    np.testing.assert_allclose(metres_of_compressed(message), millimetres / 1000.0, rtol=1e-6)
    inverse = np.array([[0, 100, 200]], np.uint16)
    _, png = cv2.imencode(".png", inverse)
    message = compressed("32FC1; compressedDepth png", png, DEPTH_HEADER.pack(0, 150.0, 50.0))
    np.testing.assert_allclose(metres_of_compressed(message), [[np.nan, 3.0, 1.0]], rtol=1e-6)


@needs_opencv
def test_images_that_nobody_can_read_are_named():
    with pytest.raises(ImageError, match="32FC3'; expected one of rgb8, bgr8"):
        rgb_of(image(COLOR, "32FC3"))
    with pytest.raises(ImageError, match=r"4 × 6 nv21 pixels has 35 bytes; .* × 1.5"):
        rgb_of(planar(np.zeros(35, np.uint8), "nv21"))
    with pytest.raises(ImageError, match="16UC1, mono16, 32FC1"):
        metres_of(image(COLOR, "rgb8"))
    with pytest.raises(ImageError, match="step 3"):
        metres_of(image(COLOR, "16UC1", step=3))
    with pytest.raises(ImageError, match="damaged"):
        rgb_of_compressed(SimpleNamespace(format="jpeg", data=b"nonsense"))
    with pytest.raises(ImageError, match="compressedDepth with PNG"):
        metres_of_compressed(SimpleNamespace(format="16UC1; compressedDepth rvl", data=b"x" * 99))


class FakeRealsense:
    """pyrealsense2 as far as it is used: one camera at 640 × 480."""

    def __init__(self):
        self.stream = SimpleNamespace(color="color", depth="depth")
        self.format = SimpleNamespace(rgb8="rgb8", z16="z16")
        self.timestamp_domain = SimpleNamespace(
            hardware_clock="hardware", system_time="system", global_time="global"
        )
        self.domain = "global"
        self.plugged_in = True
        self.stopped = False

    def config(self):
        return SimpleNamespace(enable_device=lambda s: None, enable_stream=lambda *a: None)

    def align(self, stream):
        return SimpleNamespace(process=lambda frames: frames)

    def pipeline(self):
        return self

    def start(self, streams):
        if not self.plugged_in:
            raise RuntimeError("No device connected")
        lens = SimpleNamespace(width=640, height=480, fx=600.0, fy=600.0, ppx=319.5, ppy=239.5)
        video = SimpleNamespace(get_intrinsics=lambda: lens)
        sensor = SimpleNamespace(get_depth_scale=lambda: 0.001)
        device = SimpleNamespace(first_depth_sensor=lambda: sensor)
        return SimpleNamespace(
            get_device=lambda: device,
            get_stream=lambda stream: SimpleNamespace(as_video_stream_profile=lambda: video),
        )

    def stop(self):
        self.stopped = True

    def wait_for_frames(self, timeout_ms):
        if not self.plugged_in:
            raise RuntimeError(f"Frame didn't arrive within {timeout_ms}")
        color, depth = pictures()
        raw = np.round(1000 * depth).astype(np.uint16)
        return SimpleNamespace(
            get_color_frame=lambda: SimpleNamespace(
                get_data=lambda: color,
                get_timestamp=lambda: 2500.0,
                get_frame_timestamp_domain=lambda: self.domain,
            ),
            get_depth_frame=lambda: SimpleNamespace(get_data=lambda: raw),
        )


@needs_opencv
def test_a_realsense_gives_frames_in_metres(robot, monkeypatch):
    fake = FakeRealsense()
    monkeypatch.setitem(sys.modules, "pyrealsense2", fake)
    camera = RealsenseCamera(robot, RealsenseConfig())
    assert isinstance(camera, Camera)
    with camera:
        frame = camera.read(1.0)
        assert 0.5 <= frame.depth.min() <= frame.depth.max() <= 2.0
        assert frame.stamp_s == 2.5
        fake.plugged_in = False
        with pytest.raises(CameraError, match="no frame within"):
            camera.read(0.1)
    assert fake.stopped
    with pytest.raises(CameraError, match="USB 3"):
        camera.connect(1.0)


@needs_opencv
def test_a_stamp_of_the_cameras_own_clock_is_not_taken_for_the_time(robot, monkeypatch):
    fake = FakeRealsense()
    fake.domain = fake.timestamp_domain.hardware_clock
    monkeypatch.setitem(sys.modules, "pyrealsense2", fake)
    before = time.time()
    with RealsenseCamera(robot, RealsenseConfig()) as camera:
        assert before <= camera.read(1.0).stamp_s <= time.time()


def test_without_pyrealsense2_it_says_how_to_install_it(robot, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyrealsense2", None)
    with pytest.raises(CameraError, match="pip install pyrealsense2"):
        RealsenseCamera(robot, RealsenseConfig())
