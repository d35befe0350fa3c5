"""Plays the learner to a real arm node."""

import array

from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import Action, ArmState, ArmStatus
from bayes_curiosity_interfaces.srv import ResetEpisode
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from support.graph import eventually, inbox
from support.waiting import WAIT_S, wait_for

ARM = "bayes_curiosity_ros.nodes.arm_node"


class Driver:
    """Plays the learner: resets and actions by hand."""

    def __init__(self, background):
        self.background = background
        self.states = inbox(background, ArmState, "arm/state")
        # Every status counts here, also where a busy machine lets several wait.
        patient = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.status = inbox(background, ArmStatus, "arm/status", patient)
        self.actions = background.node.create_publisher(Action, "action", EPISODE_QOS)

    def reset(self, episode=1, seed=0, confirmed=True):
        request = ResetEpisode.Request(episode=episode, seed=seed, operator_confirmed=confirmed)
        answer = self.background.call(ResetEpisode, "arm/reset_episode", request, WAIT_S)
        wait_for(lambda: self.actions.get_subscription_count() > 0, "listener to action")
        return answer

    def act(self, episode, step, deltas=(0.03,) * 6, gripper=0.0):
        message = Action(episode=episode, step=step, gripper=gripper)
        message.joint_deltas = array.array("d", deltas)
        self.actions.publish(message)

    def reached(self, episode, step) -> ArmState:
        return eventually(self.states, lambda m: (m.episode, m.step) == (episode, step))

    def trigger(self, name):
        return self.background.call(Trigger, f"arm/{name}", Trigger.Request(), WAIT_S)
