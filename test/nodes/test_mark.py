"""A person says how an episode has ended, and it ends so."""

import pytest
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import EpisodeSummary, Observation
from bayes_curiosity_ros.learning.episode_log import read_log
from bayes_curiosity_ros.tasks.registry import make_task
from support.driver import ARM
from support.graph import WAIT_S, eventually, inbox, parameters

LEARNER = "bayes_curiosity_ros.nodes.learner_node"
OUTCOMES = {"success": EpisodeSummary.SUCCESS, "failure": EpisodeSummary.FAILURE}


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_episode_that_is_marked_ends_as_it_was_marked(start, background, tmp_path, outcome):
    start(ARM)
    summaries = inbox(background, EpisodeSummary, "episode")
    observations = inbox(background, Observation, "observation")
    given = {"folder": tmp_path, "operator_confirmed": "true", "bonus": "none"}
    learner = start(LEARNER, *parameters(**given, timesteps=1_000_000))
    marked = set()
    while not marked:
        eventually(observations, lambda m: m.step >= 1)
        answer = background.call(Trigger, f"learner/mark_{outcome}", Trigger.Request(), WAIT_S)
        if answer.success:
            assert f"ends as a {outcome}" in answer.message
            marked.add(int(answer.message.split()[1]))
    (number,) = marked
    summary = eventually(summaries, lambda m: m.episode == number)
    assert summary.outcome == OUTCOMES[outcome]
    learner.terminate()
    learner.wait(WAIT_S)
    row = next(row for row in read_log(tmp_path / "episodes.csv") if row.episode == number)
    assert row.outcome == outcome
    paid = make_task("reach", threads=1).marked_reward(outcome == "success")
    assert row.extrinsic_return == pytest.approx(paid, abs=2.0)


def test_no_episode_no_mark(start, background, tmp_path):
    """Nobody moves: the learner waits for an arm."""
    start(LEARNER, *parameters(folder=tmp_path, bonus="none"))
    answer = background.call(Trigger, "learner/mark_success", Trigger.Request(), WAIT_S)
    assert (answer.success, answer.message) == (False, "no episode is under way")
