"""A person demonstrates by dragging the hand: a bag that the embedding learns from."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from bayes_curiosity_interfaces.msg import ArmState, EpisodeSummary, LearnerStatus
from bayes_curiosity_ros.bags.embed import gather
from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bags.redrive import report
from bayes_curiosity_ros.cli import main
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from support.driver import ARM
from support.graph import eventually, inbox, parameters
from support.person import Person
from support.waiting import WAIT_S

CLI = "bayes_curiosity_ros.cli"
DRIVE = "bayes_curiosity_ros.nodes.drive_node"
WAY = np.array([0.0, 0.1, 0.0])


def waits(status):
    """Whether an episode waits for somebody to drive."""
    return "waiting for a person who drives" in status.reason


def drag_to_the_object(person, start, states):
    """Drag the hand ten centimetres away, and from there to the object."""
    assert person.take().success
    aside = person.hand(start) + WAY
    person.want(start, aside)

    def is_there(state):
        return np.linalg.norm(person.hand(np.array(state.positions[:6])) - aside) < 0.01

    spot = eventually(states, is_there).object_pose.position
    person.want(start, [spot.x, spot.y, spot.z])


@pytest.fixture
def demonstrated(start, background, tmp_path):
    """Bag of one demonstration by the command."""
    command = start(CLI, "demonstrate", "--output", str(tmp_path / "demos"), "--episodes", "1")
    states = inbox(background, ArmState, "arm/state")
    summaries = inbox(background, EpisodeSummary, "episode")
    joints = inbox(background, JointState, "joint_states")
    statuses = inbox(background, LearnerStatus, "learner/status", LATCHED_QOS)
    person = Person(background)
    eventually(statuses, waits)
    while not joints.empty():  # of before the episode began
        joints.get()
    start_rad = np.array(eventually(joints, lambda m: True).position[:6])
    drag_to_the_object(person, start_rad, states)
    assert eventually(summaries, lambda m: True).outcome == EpisodeSummary.SUCCESS
    output = command.communicate(timeout=WAIT_S)[0]
    assert command.returncode == 0, output
    assert "embed --bag" in output
    (bag,) = (tmp_path / "demos" / "bags").iterdir()
    return bag


def test_a_person_who_drags_the_hand_makes_a_bag_to_learn_from(demonstrated, tmp_path, capsys):
    reader = BagReader(demonstrated)
    (episode,) = read_episodes(reader)
    assert (episode.outcome, episode.faults, reader.losses) == ("success", (), [])
    assert episode.driven[:-1].all()
    moved = np.abs(episode.actions[:-1]).max(axis=1)
    # A person who thinks teaches nothing; but the arm may hear of a wish later than we do.
    assert (moved > 0.001).mean() > 0.8
    observations, actions = gather([str(demonstrated)])
    assert len(observations) == len(actions) == len(episode) - 1
    model = tmp_path / "model.safetensors"
    words = ["embed", "--bag", str(demonstrated), "--max-epochs", "1", "--output", str(model)]
    assert main(words) == 0
    assert model.exists()
    assert main(["bag", "info", str(demonstrated)]) == 0
    said = capsys.readouterr().out
    assert f"a person drove {len(episode) - 1} steps" in said
    assert "complete" in said
    assert report(str(demonstrated), "") == 0  # the simulated arm goes the same way again


def test_an_episode_can_be_discarded_and_the_next_one_begins(start, background):
    start(ARM)
    start(DRIVE, *parameters(operator_confirmed="true", episodes=1))
    statuses = inbox(background, LearnerStatus, "learner/status", LATCHED_QOS)
    first = eventually(statuses, waits)
    assert Person(background).trigger("demonstrate/discard").success
    assert eventually(statuses, lambda m: waits(m) and m.episodes > first.episodes)
