"""A person takes over an arm that its driver moves: no faster than it may, until a stop."""

import array

import numpy as np
import pytest

from bayes_curiosity_interfaces.msg import Action, ArmState, ArmStatus, Status
from bayes_curiosity_ros.bringup.arguments import defaults
from bayes_curiosity_ros.bringup.table import parameter_files
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from bayes_curiosity_ros.robot.config import RobotConfig
from support.driver import ARM, Driver
from support.graph import eventually, parameters
from support.joint_driver import JointDriver
from support.person import Person
from support.waiting import until, wait_for

COMMANDS, STATES = "driver/command", "driver/state"
READY = RobotConfig.load("jaco.yaml").arm.ready_rad
NAMES = tuple(f"joint_{index}" for index in range(1, 7))
MOST_RAD = np.radians(10.0) * 0.1  # of a joint in one step
STEPS, EPISODES = 5, 30
# An episode whose first state did not come to us, in [s], is followed by another.
PATIENCE_S = 10.0


class Answering(Driver):
    """A learner that answers each state with an action at once, until it is told not to."""

    def __init__(self, background):
        super().__init__(background)
        self.steps = []
        background.node.create_subscription(ArmState, "arm/state", self._answer, EPISODE_QOS)

    def driven(self):
        """Steps in which a person moved the arm."""
        return [m for m in self.steps if m.actor == ArmState.OPERATOR and any(m.requested_deltas)]

    def halted(self):
        """Whether the arm was halted: a busy machine may be late with an answer."""
        heard = []
        while not self.status.empty():
            heard.append(self.status.get())
        return any("the episode is over" in m.reason for m in heard)

    def _answer(self, state):
        self.steps.append(state)
        action = Action(episode=state.episode, step=state.step)
        action.joint_deltas = array.array("d", [0.01] * 6)
        self.actions.publish(action)


@pytest.fixture
def controller():
    with BackgroundNode("controller") as node:
        yield JointDriver(node, READY, NAMES, COMMANDS, STATES)


def test_a_person_drives_a_real_arm_within_its_limits_until_it_is_stopped(
    controller, start, background
):
    files = parameter_files(defaults() | {"arm": "trajectory"})
    given = {"backend": "trajectory", "trajectory__command_topic": COMMANDS}
    given |= {"trajectory__state_topic": STATES, "trajectory__state_timeout_s": 0.5}
    words = [word for path in files for word in ("--params-file", path)]
    start(ARM, "--ros-args", *words, *parameters(**given)[1:])
    learner, person = Answering(background), Person(background)
    eventually(learner.status, lambda m: m.state == ArmStatus.READY)
    assert person.take().success
    person.drag(np.array(READY), [0.0, 0.1, 0.0])
    for episode in range(1, EPISODES):
        assert learner.trigger("confirm").success
        assert learner.reset(episode, confirmed=False).status.code == Status.OK
        until(lambda: len(learner.driven()) >= STEPS or learner.halted(), PATIENCE_S)
        if len(learner.driven()) >= STEPS:
            break
    assert len(learner.driven()) >= STEPS
    asked = np.array([state.requested_deltas for state in learner.driven()])
    assert np.abs(asked).max() <= MOST_RAD * (1 + 1e-9)
    hand = person.hand(controller.position)
    assert hand[1] > person.hand(np.array(READY))[1] + 0.005
    assert learner.trigger("stop").success
    wait_for(controller.stands, "standstill")
    stopped = eventually(learner.status, lambda m: m.state == ArmStatus.STOPPED and not m.driver)
    assert "arm/release" in stopped.reason
    count = len(learner.steps)
    assert not person.take().success
    assert len(learner.steps) == count
