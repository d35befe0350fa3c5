"""A person takes over an arm that its driver moves: no faster than it may, and not for ever.

Whoever falls silent, the person (a page or a browser that is gone) or the learner, the arm stands.
"""

import array
import itertools
from types import SimpleNamespace

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
from support.processes import started_processes
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
        self.steps, self.dead = [], False
        background.node.create_subscription(ArmState, "arm/state", self._answer, EPISODE_QOS)

    def driven(self):
        """Steps in which a person moved the arm."""
        return [m for m in self.steps if m.actor == ArmState.OPERATOR and any(m.requested_deltas)]

    def asks_nothing(self):
        """Whether the newest step moved nothing."""
        return not any(self.steps[-1].requested_deltas)

    def halted(self):
        """Whether the arm was halted: a busy machine may be late with an answer."""
        heard = []
        while not self.status.empty():
            heard.append(self.status.get())
        return any("the episode is over" in m.reason for m in heard)

    def _answer(self, state):
        self.steps.append(state)
        if self.dead:
            return
        action = Action(episode=state.episode, step=state.step)
        action.joint_deltas = array.array("d", [0.01] * 6)
        self.actions.publish(action)


@pytest.fixture(scope="module")
def cell():
    """An arm that its driver moves, a learner and a person."""
    files = parameter_files(defaults() | {"arm": "trajectory"})
    given = {"backend": "trajectory", "trajectory__command_topic": COMMANDS}
    given |= {"trajectory__state_topic": STATES, "trajectory__state_timeout_s": 0.5}
    words = [word for path in files for word in ("--params-file", path)]
    with started_processes() as start, BackgroundNode("controller") as node:
        controller = JointDriver(node, READY, NAMES, COMMANDS, STATES)
        start(ARM, "--ros-args", *words, *parameters(**given)[1:])
        with BackgroundNode("tester") as background:
            learner, person = Answering(background), Person(background)
            eventually(learner.status, lambda m: m.state == ArmStatus.READY)
            yield SimpleNamespace(
                controller=controller, learner=learner, person=person, episodes=itertools.count(1)
            )


@pytest.fixture
def driven(cell):
    """The same, while the person drives: some steps are over, the next is under way."""
    learner, person = cell.learner, cell.person
    assert person.take().success
    for episode in itertools.islice(cell.episodes, EPISODES):
        begin(cell, episode)
        until(lambda: len(learner.driven()) >= STEPS or learner.halted(), PATIENCE_S)
        if len(learner.driven()) >= STEPS:
            break
    assert len(learner.driven()) >= STEPS
    yield cell
    learner.dead = False
    person.rest()
    person.give()
    learner.trigger("release")


def begin(cell, episode):
    """Begin an episode in which the person wants something new."""
    cell.learner.steps.clear()
    assert cell.learner.trigger("confirm").success
    assert cell.learner.reset(episode, confirmed=False).status.code == Status.OK
    cell.person.drag(np.array(READY), [0.0, 0.1 + 0.001 * episode, 0.0])


def test_a_person_drives_within_the_limits_until_the_arm_is_stopped(driven):
    learner, person, controller = driven.learner, driven.person, driven.controller
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


def test_the_arm_stands_when_the_page_is_gone_though_the_learner_acts_on(driven):
    driven.person.rest()  # nothing comes any more, whether browser, page or network broke
    # What was wanted last counts for a moment; between two steps the arm stands, too.
    wait_for(lambda: driven.learner.asks_nothing() or driven.learner.halted(), "a step of nothing")
    wait_for(driven.controller.stands, "standstill")
    stood = driven.controller.position
    moved = len(driven.learner.driven())
    until(lambda: len(driven.learner.steps) > moved + STEPS or driven.learner.halted(), PATIENCE_S)
    np.testing.assert_allclose(driven.controller.position, stood, atol=MOST_RAD)


def test_the_watchdog_halts_the_arm_when_the_learner_is_gone_though_the_person_drives_on(driven):
    driven.learner.dead = True  # and the person drags on
    halted = eventually(driven.learner.status, lambda m: "halted: no command for" in m.reason)
    assert "the episode is over" in halted.reason
    wait_for(driven.controller.stands, "standstill")
    stood = driven.controller.position
    driven.learner.act(1, 0)  # of an episode that is over
    eventually(driven.learner.status, lambda m: "rejected" in m.reason)
    np.testing.assert_array_equal(driven.controller.position, stood)
