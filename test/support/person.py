"""A person who takes an arm over: drags its hand, as a page or a joystick would say it."""

import threading

import mink
from geometry_msgs.msg import PoseStamped
from std_srvs.srv import Trigger

from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.kinematics import Kinematics
from support.waiting import WAIT_S

# Time between two words, in [s]: oftener than any that the arm waits for.
SAY_S = 0.05


class Person:
    """Says again and again where the hand is wanted, until told otherwise."""

    def __init__(self, background):
        self._background = background
        self._lock = threading.Lock()
        self._wanted = None
        self._targets = background.node.create_publisher(PoseStamped, "operator/target", 10)
        self.kinematics = Kinematics(RobotConfig.load("jaco.yaml"))
        background.node.create_timer(SAY_S, self._say)

    def take(self):
        return self.trigger("operator/take")

    def give(self):
        return self.trigger("operator/give")

    def trigger(self, name):
        """Call a service."""
        return self._background.call(Trigger, name, Trigger.Request(), WAIT_S)

    def hand(self, joints):
        """Where the hand is at these joint angles, (3,)."""
        return self.kinematics.forward(joints).position

    def drag(self, joints, way):
        """Want the hand this far from where it is at these joint angles, turned as it is."""
        self.want(joints, self.hand(joints) + way)

    def want(self, joints, place):
        """Want the hand there, turned as it is at these joint angles."""
        with self._lock:
            self._wanted = _message(place, self.kinematics.forward(joints).rotation)

    def rest(self):
        """Say nothing more."""
        with self._lock:
            self._wanted = None

    def _say(self):
        with self._lock:
            if self._wanted is not None:
                self._targets.publish(self._wanted)


def _message(place, rotation):
    message = PoseStamped()
    message.header.frame_id = "world"
    spot, turn = message.pose.position, message.pose.orientation
    spot.x, spot.y, spot.z = map(float, place)
    turn.w, turn.x, turn.y, turn.z = map(float, mink.SO3.from_matrix(rotation).wxyz)
    return message
