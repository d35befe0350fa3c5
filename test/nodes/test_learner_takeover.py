"""A person takes over while a learner learns: it tells of what they did, and learns none of it."""

from bayes_curiosity_interfaces.msg import (
    ArmState,
    ArmStatus,
    CuriosityState,
    EpisodeSummary,
    IntrinsicReward,
    Observation,
)
from bayes_curiosity_ros.learning.episode_log import of_policy, read_log
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from support.driver import ARM
from support.graph import eventually, inbox, parameters
from support.person import Person
from support.waiting import WAIT_S, wait_for

CURIOSITY, LEARNER = (
    f"bayes_curiosity_ros.nodes.{name}_node" for name in ("curiosity", "learner")
)
TIMESTEPS = 60


def test_episodes_of_a_person_are_kept_and_told_but_not_learnt_from(start, background, tmp_path):
    start(ARM, *parameters(operator__silence_s=1000.0))  # however long the others take
    start(CURIOSITY, *parameters(model_folder=tmp_path / "models"))
    person = Person(background)
    observations = inbox(background, Observation, "observation")
    rewards = inbox(background, IntrinsicReward, "intrinsic_reward")
    summaries = inbox(background, EpisodeSummary, "episode")
    curiosity = inbox(background, CuriosityState, "curiosity/state", LATCHED_QOS)
    wait_for(lambda: person.take().success, "arm that can be taken over")
    # Whoever meets our newest subscription has met the older ones: no reward passes us by.
    eventually(curiosity, lambda m: m.episodes == 0)
    learner = start(
        LEARNER,
        *parameters(
            folder=tmp_path, operator_confirmed="true", timesteps=TIMESTEPS, iteration_steps=30
        ),
    )
    first = eventually(observations, lambda m: m.step == 0)
    person.drag(first.vector[:6], [0.0, 0.05, 0.0])
    second = eventually(observations, lambda m: (m.episode, m.step) == (first.episode, 1))
    assert (first.actor, second.actor) == (ArmState.POLICY, ArmState.OPERATOR)
    reward = eventually(rewards, lambda m: (m.episode, m.step) == (second.episode, 1))
    assert reward.actor == ArmState.OPERATOR
    assert person.give().success
    told = eventually(summaries, lambda m: m.episode == first.episode)
    assert told.operator_steps >= 1
    output = learner.communicate(timeout=2 * WAIT_S)[0]
    assert learner.returncode == 0, output
    rows = read_log(tmp_path / "episodes.csv")
    assert [r.operator_steps for r in rows if r.episode == told.episode] == [told.operator_steps]
    own = of_policy(rows)
    assert len(own) < len(rows)
    assert rows[-1].timesteps == sum(row.steps for row in own) >= TIMESTEPS
    # The curiosity has seen it all.
    state = eventually(curiosity, lambda m: m.episodes == len(rows))
    assert state.observations == sum(row.steps + 1 for row in rows)


def test_control_goes_back_after_a_while_of_silence(start, background):
    start(ARM, *parameters(operator__stale_s=0.2, operator__silence_s=0.4))
    person = Person(background)
    statuses = inbox(background, ArmStatus, "arm/status", LATCHED_QOS)
    wait_for(lambda: person.take().success, "arm that can be taken over")
    eventually(statuses, lambda m: m.driver == ArmStatus.OPERATOR)
    eventually(statuses, lambda m: m.driver == ArmStatus.POLICY)
    assert person.take().success
