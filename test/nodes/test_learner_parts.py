"""The learner's parts that need no graph."""

import os

import numpy as np
import pytest

from bayes_curiosity_ros.curiosity.bonus import BONUSES
from bayes_curiosity_ros.errors import (
    ConfigError,
    DamagedFileError,
    InputError,
    LengthError,
    ModelFileError,
)
from bayes_curiosity_ros.learning.cell import TaskCell, episode_seeds, run_episode
from bayes_curiosity_ros.learning.episode_log import (
    EpisodeLog,
    EpisodeRow,
    progress_line,
    read_log,
)
from bayes_curiosity_ros.learning.gathered import GatheredBonus
from bayes_curiosity_ros.learning.pretrained import load_policy, save_policy
from bayes_curiosity_ros.learning.rollout import run_episodes
from bayes_curiosity_ros.learning.settings import LearnerConfig, make_bonus
from bayes_curiosity_ros.learning.trail import Trail, read_trail
from bayes_curiosity_ros.nodes.conversions.arm_states import (
    arm_state_of_message,
    message_of_arm_state,
)
from bayes_curiosity_ros.nodes.conversions.values import seconds_of, stamp_of
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.tasks.arm.measured import first_row, next_row
from bayes_curiosity_ros.tasks.registry import make_task
from support.learners import learner_of


def row(episode: int, outcome: str = "success") -> EpisodeRow:
    return EpisodeRow(episode, 10 * episode, 10, outcome, 1.5, 0.25, -4.0)


def test_a_log_can_be_read_back_and_cut_to_a_checkpoint(tmp_path):
    log = EpisodeLog(tmp_path / "log.csv")
    rows = [row(1), row(2, "failure"), row(3)]
    for one in rows:
        log.add(one)
    assert log.successes_per_timestep == pytest.approx(2 / 30)
    log.close()
    assert read_log(tmp_path / "log.csv") == rows
    resumed = EpisodeLog(tmp_path / "log.csv", until=2, count=2)
    resumed.add(row(3, "time_limit"))
    resumed.close()
    assert read_log(tmp_path / "log.csv") == [*rows[:2], row(3, "time_limit")]


def test_an_episode_depends_on_seed_and_number_alone():
    first, again = episode_seeds(3, 5), episode_seeds(3, 5)
    assert first[0] == again[0]
    assert first[1].random() == again[1].random()
    assert episode_seeds(3, 6)[0] != first[0] != episode_seeds(4, 5)[0]


def test_one_episode_is_what_a_rollout_of_one_gives():
    task = make_task("reach")
    behaviour = learner_of(LearnerConfig(bonus="none"), task).exploit()
    placement, _ = episode_seeds(0, 1)
    ours = run_episode(task, TaskCell(task), behaviour, 0, 1)
    theirs = run_episodes(task, behaviour, 1, np.random.default_rng(placement))
    for name in ("observations", "actions", "rewards"):
        length = int(ours.lengths[0])
        np.testing.assert_array_equal(
            getattr(ours, name)[:, :length], getattr(theirs, name)[:, :length]
        )
    assert ours.lengths == theirs.lengths
    assert ours.succeeded == theirs.succeeded


def test_an_action_is_under_way_before_its_observation_is_told():
    task, told = make_task("reach", horizon=3), []

    class Noted(TaskCell):
        def send(self, action):
            told.append("send")
            super().send(action)

        def receive(self):
            told.append("receive")
            return super().receive()

    behaviour = learner_of(LearnerConfig(bonus="none"), task).exploit()
    run_episode(task, Noted(task), behaviour, 0, 1, lambda step, _: told.append(f"see {step}"))
    steps = [word for k in range(3) for word in ("send", f"see {k}", "receive")]
    assert told == [*steps, "see 3"]


@pytest.mark.parametrize("name", ["reach", "grasp"])
def test_rows_made_from_messages_are_judged_like_the_tasks_own(name):
    """Observation, reward, end and success, all the way through an expert's episode."""
    task = make_task(name)
    states = task.initial_states(1, np.random.default_rng(1))
    robot = task.robot
    arm = SimulatedArm(robot, task.stepper)
    names = robot.arm.all_joints

    def measured():
        arm.place(states[0])
        message = message_of_arm_state(arm.state(1.0), names)
        return arm_state_of_message(message, robot.arm)

    seen = first_row(task, measured())
    for _ in range(task.horizon):
        for judge in (task.observe, task.reward, task.terminal, task.successful):
            np.testing.assert_array_equal(judge(seen), judge(states))
        if task.terminal(states)[0]:
            break
        states = task.advance(states, task.expert_at(states))
        seen = next_row(task, seen, measured())
    assert task.successful(seen)[0]


def test_a_state_without_the_object_says_who_should_know():
    task = make_task("reach")
    with SimulatedArm(task.robot, task.stepper) as arm:
        state = arm.state(1.0)
    object.__setattr__(state, "object_position", None)
    with pytest.raises(InputError, match="object_pose"):
        first_row(task, state)


def test_unknown_joints_in_a_state_are_named():
    task = make_task("reach")
    with SimulatedArm(task.robot, task.stepper) as arm:
        message = message_of_arm_state(arm.state(1.0), ("elbow",) * 9)
    with pytest.raises(ConfigError, match="unknown joint in arm/state: 'elbow'"):
        arm_state_of_message(message, task.robot.arm)


@pytest.mark.parametrize("seconds", [0.0, 0.1, 12.7, 0.9999999999])
def test_stamps_round_trip(seconds):
    assert seconds_of(stamp_of(seconds)) == pytest.approx(seconds, abs=1e-9)


def test_rewards_must_fit_their_episodes():
    task = make_task("reach")
    behaviour = learner_of(LearnerConfig(bonus="none"), task).exploit()
    episode = run_episode(task, TaskCell(task), behaviour, 0, 1)
    bonus = GatheredBonus()
    bonus.add(np.arange(episode.steps, dtype=float))
    np.testing.assert_array_equal(bonus.evaluate(episode.split()), np.arange(episode.steps))
    bonus.update(episode.split())
    with pytest.raises(LengthError, match="0 rewards"):
        bonus.evaluate(episode.split())


def test_a_policy_of_another_task_is_refused(tmp_path):
    reach, grasp = (
        learner_of(LearnerConfig(task=name, bonus="none"), make_task(name)).policy
        for name in ("reach", "grasp")
    )
    save_policy(tmp_path / "policy", reach, "reach")
    before = grasp.parameters.clone()
    with pytest.raises(ModelFileError, match="has task 'reach'; expected 'grasp'"):
        load_policy(tmp_path / "policy", grasp, "grasp")
    assert grasp.parameters.equal(before)


@pytest.mark.parametrize("bonus", [entry.name for entry in BONUSES if not entry.node])
def test_every_bonus_that_is_no_node_lives_in_the_learner(bonus):
    task = make_task("reach")
    made = make_bonus(LearnerConfig(bonus=bonus), task)
    behaviour = learner_of(LearnerConfig(bonus=bonus), task).exploit()
    episode = run_episode(task, TaskCell(task), behaviour, 0, 1)
    assert made.evaluate(episode.split()).shape == (episode.steps,)
    made.update(episode.split())


def test_a_learner_without_a_policy_to_imitate_says_so():
    config = LearnerConfig(learner="ddpg", policy="policy.pt")
    with pytest.raises(ConfigError, match="'ddpg' cannot begin with a policy; leave `policy`"):
        learner_of(config, make_task("reach"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "dance"}, "unknown task 'dance'"),
        ({"bonus": "chocolate"}, "unknown bonus 'chocolate'"),
        (
            {"learner": "rote"},
            "unknown learner 'rote'; choose one of: ddpg, ppo, reinforce, sac, trpo",
        ),
        ({"timesteps": 0}, "timesteps = 0"),
        ({"seed": -1}, "seed = -1"),
    ],
)
def test_bad_learner_settings_are_named(options, words):
    with pytest.raises(ConfigError, match=words):
        LearnerConfig(**options)


def test_success_and_the_papers_metric_have_windows_of_their_own(tmp_path):
    log = EpisodeLog(tmp_path / "log.csv")
    for number in range(1, 51):
        log.add(row(number, "success" if number > 40 else "failure"))
    assert log.successes_per_timestep == pytest.approx(0.1)
    assert "success  20%" in progress_line(list(log.recent), 1000, 50.0)
    assert "0:10 left" in progress_line(list(log.recent), 1000, 50.0)
    assert "? left" in progress_line(list(log.recent), 1000, 0.0)


def test_a_log_of_an_older_version_can_be_read(tmp_path):
    path = tmp_path / "log.csv"
    log = EpisodeLog(path)
    log.add(row(1))
    log.close()
    lines = [line.rsplit(",", 2)[0] for line in path.read_text().splitlines()]
    path.write_text("\r\n".join([*lines, ""]), newline="")
    assert read_log(path) == [row(1)]


def missing(path):
    path.unlink()


def half_a_line(path):
    path.write_bytes(path.read_bytes()[:-3])


def garbage(path):
    path.write_bytes(bytes(range(256)) * 9)


def flipped(path):
    data = bytearray(path.read_bytes())
    data[data.index(b"\n2,")] ^= 1  # two lines in one
    path.write_bytes(data)


def without_a_column(path):
    path.write_text(path.read_text().replace(",success,", ","))


def without_names(path):
    path.write_text(path.read_text().replace("episode", "epoch"))


@pytest.mark.parametrize(
    ("damage", "left"),
    [
        (missing, []),
        (half_a_line, [1, 2]),
        (garbage, []),
        (flipped, [3]),
        (without_a_column, [2]),
        (without_names, [1, 2, 3]),
    ],
)
def test_a_run_goes_on_with_what_a_damaged_log_has_left(tmp_path, caplog, damage, left):
    path = tmp_path / "log.csv"
    log = EpisodeLog(path)
    rows = [row(1), row(2, "failure"), row(3)]
    for one in rows:
        log.add(one)
    log.close()
    damage(path)
    resumed = EpisodeLog(path, until=3, count=3)
    resumed.add(row(4))
    resumed.close()
    assert read_log(path) == [*(rows[number - 1] for number in left), row(4)]
    assert resumed.count == 4
    lost = [] if len(left) == 3 else [f"{path} lacks {3 - len(left)} of 3 rows"]
    assert [message.partition(";")[0] for message in caplog.messages] == lost


def test_a_log_that_is_cut_is_whole_or_as_before(tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    log = EpisodeLog(path)
    log.add(row(1))
    log.close()
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        EpisodeLog(path, until=1, count=1)
    assert read_log(path) == [row(1)]


def trail_of(path, *episodes):
    trail = Trail(path)
    for number, numbers in enumerate(episodes, start=1):
        trail.add(number, numbers)
    trail.close()


def test_a_trail_is_cut_to_a_checkpoint(tmp_path):
    path, steps = tmp_path / "trail.f32", np.arange(22.0).reshape(11, 2)
    trail_of(path, steps, steps)
    resumed = Trail(path, until=1, count=1)
    resumed.add(2, -steps)
    resumed.close()
    np.testing.assert_array_equal(read_trail(path, 2), np.concatenate([steps, -steps]))
    with path.open("ab") as file:
        file.write(b"half")
    assert len(read_trail(path, 2)) == 22
    Trail(path).close()
    assert len(read_trail(path, 2)) == 0


def test_damage_to_a_trail_is_named_and_a_resumed_one_goes_on_without(tmp_path, caplog):
    path, steps = tmp_path / "trail.f32", np.arange(22.0).reshape(11, 2)
    trail_of(path, steps, 2 * steps, 3 * steps)
    data = bytearray(path.read_bytes())
    data[100] ^= 4  # of the second episode
    path.write_bytes(data)
    with pytest.raises(DamagedFileError, match="1 of 3 episodes"):
        read_trail(path, 2)
    Trail(path, until=3, count=3).close()
    assert "lacks 1 of 3 episodes" in caplog.text
    np.testing.assert_array_equal(read_trail(path, 2), np.concatenate([steps, 3 * steps]))
    path.unlink()
    Trail(path, until=3, count=3).close()
    assert "lacks 3 of 3 episodes" in caplog.text
