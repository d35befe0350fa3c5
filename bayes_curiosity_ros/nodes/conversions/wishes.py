"""From messages of a person who drives to what they ask of the hand."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import Joy

from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.robot.frames import WORLD
from bayes_curiosity_ros.robot.joystick import JoystickConfig, Stick, read_stick
from bayes_curiosity_ros.robot.kinematics import Pose


def pose_of_message(message: PoseStamped) -> Pose:
    """Where the hand is wanted.

    Raises:
        InputError: in another frame than the world's, or turned by no unit quaternion.
    """
    frame = message.header.frame_id
    if frame not in ("", WORLD):
        raise InputError(
            f"a pose in frame {frame!r}; send it in {WORLD!r}, where the arm's root is"
        )
    spot, turn = message.pose.position, message.pose.orientation
    place = np.array([spot.x, spot.y, spot.z])
    return Pose.of(place, np.array([turn.w, turn.x, turn.y, turn.z]))


def stick_of_message(message: Joy, config: JoystickConfig) -> Stick:
    """What a joystick asks for.

    Raises:
        LengthError: it has fewer axes or buttons than the configuration names.
    """
    return read_stick(config, message.axes, message.buttons)
