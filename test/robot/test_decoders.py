"""Who decodes raw images: cv_bridge where it works, and the same pixels either way."""

import importlib.util
import sys
from array import array
from types import ModuleType

import numpy as np
import pytest
from sensor_msgs.msg import Image

from bayes_curiosity_ros.errors import ImageError
from bayes_curiosity_ros.robot.cameras.camera import CameraError
from bayes_curiosity_ros.robot.cameras.decoders import BUILTIN, cv_bridge_decoder, make_decoder

pytest.importorskip("cv2", reason="OpenCV is for real cameras only")
needs_cv_bridge = pytest.mark.skipif(
    importlib.util.find_spec("cv_bridge") is None, reason="cv_bridge is not installed"
)
RNG = np.random.default_rng(0)
# What PyPI's wheel reads rightly; that of a ROS install does too.
COLORS = {
    "rgb8": 3,
    "bgr8": 3,
    "rgba8": 4,
    "bgra8": 4,
    "mono8": 1,
    "bayer_rggb8": 1,
    "bayer_bggr8": 1,
    "bayer_gbrg8": 1,
}


def message(pixels, encoding):
    data = pixels.tobytes()
    height, width = pixels.shape[:2]
    image = Image(height=height, width=width, encoding=encoding, step=len(data) // height)
    image.data = array("B", data)
    return image


@needs_cv_bridge
@pytest.mark.parametrize("encoding", COLORS)
def test_colours_are_those_of_cv_bridge(encoding):
    pixels = RNG.integers(0, 256, (8, 10, COLORS[encoding]), dtype=np.uint8)
    image = message(pixels, encoding)
    np.testing.assert_array_equal(BUILTIN.rgb(image), cv_bridge_decoder().rgb(image))


@needs_cv_bridge
@pytest.mark.parametrize(("encoding", "dtype"), [("mono16", "u2"), ("32FC1", "f4")])
def test_depths_are_those_of_cv_bridge(encoding, dtype):
    image = message((4000 * RNG.random((8, 10))).astype(dtype), encoding)
    np.testing.assert_array_equal(BUILTIN.metres(image), cv_bridge_decoder().metres(image))


class Genuine:
    """What a ROS install has: the signature, the exception and the refusals of its cv_bridge."""

    class CvBridgeError(TypeError):
        pass

    def imgmsg_to_cv2(self, img_msg, desired_encoding="passthrough"):
        if img_msg.encoding not in (*COLORS, "16UC1", "mono16", "32FC1"):
            raise self.CvBridgeError(f"Unrecognized image encoding [{img_msg.encoding}]")
        return BUILTIN.rgb(img_msg) if desired_encoding == "rgb8" else self._raw(img_msg)

    def _raw(self, img_msg):
        dtype = np.dtype("f4" if img_msg.encoding == "32FC1" else "u2")
        rows = np.frombuffer(img_msg.data, np.uint8).reshape(img_msg.height, img_msg.step)
        return rows[:, : img_msg.width * dtype.itemsize].copy().view(dtype)


class Padless(Genuine):
    """Takes every byte for a pixel, as PyPI's wheel does."""

    def imgmsg_to_cv2(self, img_msg, desired_encoding="passthrough"):
        return np.frombuffer(img_msg.data, np.uint8)[:12].reshape(2, 2, 3)


class OtherByteOrder(Genuine):
    """Reads colours rightly, and depths from the wrong end."""

    def _raw(self, img_msg):
        return super()._raw(img_msg).byteswap()


class OtherNumpy(Genuine):
    """Compiled for another NumPy."""

    def imgmsg_to_cv2(self, img_msg, desired_encoding="passthrough"):
        raise SystemError("initialization of cv_bridge_boost raised unreported exception")


@pytest.fixture
def installed(monkeypatch):
    """Function that installs a cv_bridge; None for none at all."""

    def install(bridge):
        module = ModuleType("cv_bridge")
        module.CvBridge = bridge
        monkeypatch.setitem(sys.modules, "cv_bridge", module if bridge else None)

    return install


def test_auto_is_cv_bridge_where_it_works_and_ours_for_what_it_refuses(installed):
    installed(Genuine)
    decoder = make_decoder("auto")
    assert decoder.name.startswith("cv_bridge")
    assert make_decoder("cv_bridge").name == "cv_bridge"
    grey = message(np.full((2, 4, 2), 128, np.uint8), "yuyv")
    np.testing.assert_array_equal(decoder.rgb(grey), BUILTIN.rgb(grey))
    with pytest.raises(ImageError, match="cv_bridge cannot read encoding 'yuyv'"):
        make_decoder("cv_bridge").rgb(grey)
    with pytest.raises(ImageError, match="expected one of 16UC1"):
        make_decoder("cv_bridge").metres(grey)


@pytest.mark.parametrize(
    ("bridge", "reason"),
    [
        (None, "cv_bridge"),
        (Padless, "padding"),
        (OtherByteOrder, "16UC1"),
        (OtherNumpy, "unreported exception"),
    ],
)
def test_auto_is_ours_where_cv_bridge_fails_and_says_why(installed, bridge, reason):
    installed(bridge)
    decoder = make_decoder("auto")
    assert decoder.name.startswith(BUILTIN.name)
    assert reason in decoder.name
    assert decoder.rgb is BUILTIN.rgb
    with pytest.raises(CameraError, match=f"does not work here: .*{reason}.*set topics.decoder"):
        make_decoder("cv_bridge")


@needs_cv_bridge
def test_whatever_is_installed_auto_reads_depth():
    image = message(np.full((2, 2), 1500, "u2"), "16UC1")
    np.testing.assert_allclose(make_decoder("auto").metres(image), 1.5, rtol=1e-6)
