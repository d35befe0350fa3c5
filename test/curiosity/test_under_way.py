"""Episodes under way: in order, repeated, with gaps; and what becomes of them."""

import numpy as np
import pytest

from bayes_curiosity_ros.curiosity.curiosity import CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import EncoderConfig
from bayes_curiosity_ros.curiosity.keeper import MAX_UNDER_WAY, CuriosityKeeper, KeeperConfig
from bayes_curiosity_ros.errors import ConfigError, StepError


def keeper(**options) -> CuriosityKeeper:
    return CuriosityKeeper(KeeperConfig(encoder=EncoderConfig(3), **options))


def episode(seed: int = 0, length: int = 10) -> Observations:
    return Observations(np.random.default_rng(seed).normal(size=(length + 1, 3)))


def streamed(kept: CuriosityKeeper, number: int, observations: Observations) -> list[float]:
    rows = [observations[step : step + 1] for step in range(len(observations))]
    return [kept.observe(number, step, row).reward[0] for step, row in enumerate(rows)]


@pytest.mark.parametrize("posterior", ["sequential", "frozen", "episodic"])
def test_an_episode_by_messages_is_one_by_service_bit_for_bit(posterior):
    kept = keeper(curiosity=CuriosityConfig(posterior=posterior))
    kept.update(1, episode(1))
    by_messages = streamed(kept, 2, episode(2))
    np.testing.assert_array_equal(by_messages, kept.curiosity.score_in_order(episode(2)).reward)


def test_a_step_that_comes_again_is_answered_as_before():
    kept, rows = keeper(), episode()
    first = streamed(kept, 1, rows)
    assert [kept.observe(1, step, rows[step : step + 1]).reward[0] for step in (4, 4, 2)] == [
        first[4],
        first[4],
        first[2],
    ]
    assert kept.observe(1, 0, rows[:1]).reward[0] == first[0]


@pytest.mark.parametrize(("number", "step", "expected"), [(1, 3, 2), (9, 1, 0)])
def test_a_gap_is_named_and_changes_nothing(number, step, expected):
    kept, rows = keeper(), episode()
    for index in range(2):
        kept.observe(1, index, rows[index : index + 1])
    words = f"episode {number}, step {step}; expected step {expected}"
    with pytest.raises(StepError, match=words):
        kept.observe(number, step, rows[step : step + 1])
    kept.observe(1, 2, rows[2:3])


def test_another_beginning_is_another_episode():
    kept = keeper()
    streamed(kept, 1, episode(1))
    assert streamed(kept, 1, episode(2)) == streamed(keeper(), 1, episode(2))


def test_what_others_do_meanwhile_does_not_reach_an_episode_under_way():
    kept, rows = keeper(), episode(2)
    kept.update(1, episode(1))
    alone = streamed(kept, 2, rows)
    kept.reset()
    kept.update(1, episode(1))
    half = [kept.observe(2, step, rows[step : step + 1]).reward[0] for step in range(5)]
    kept.update(7, episode(7))
    rest = [kept.observe(2, step, rows[step : step + 1]).reward[0] for step in range(5, 11)]
    assert half + rest == alone


def test_a_preview_tells_what_would_come_next():
    kept, rows = keeper(), episode()
    for step in range(5):
        kept.observe(1, step, rows[step : step + 1])
    (foretold,) = kept.preview(1, rows[5:6])
    assert foretold.reward[0] == kept.observe(1, 5, rows[5:6]).reward[0]
    (unknown,) = kept.preview(99, rows[5:6])
    assert unknown.reward[0] == kept.curiosity.score(rows[5:6]).reward[0]


def test_the_oldest_of_too_many_is_given_up():
    kept, rows = keeper(), episode()
    for number in range(MAX_UNDER_WAY + 1):
        kept.observe(number, 0, rows[:1])
    with pytest.raises(StepError, match="episode 0, step 1; expected step 0"):
        kept.observe(0, 1, rows[1:2])
    kept.observe(1, 1, rows[1:2])


def test_a_preset_gives_what_is_not_set():
    paper = keeper(preset="paper").curiosity.config
    assert (paper.form, paper.posterior, paper.features) == ("paper", "frozen", "plain")
    mine = keeper(preset="paper", curiosity=CuriosityConfig(weight=0.3)).curiosity.config
    assert (mine.weight, mine.posterior) == (0.3, "frozen")
    with pytest.raises(ConfigError, match="unknown preset 'essay'"):
        keeper(preset="essay")


def test_a_prepared_model_may_be_priced_in_any_way(tmp_path):
    """At the prior features are a choice; a posterior stays in those it saw."""
    kept = keeper(model_folder=str(tmp_path))
    kept.save("prepared")
    kept.update(1, episode())
    kept.save("used")
    paper = KeeperConfig(model=str(tmp_path / "prepared"), preset="paper")
    assert CuriosityKeeper(paper).curiosity.config.features == "plain"
    used = CuriosityKeeper(KeeperConfig(model=str(tmp_path / "used"), preset="paper")).curiosity
    assert (used.config.features, used.config.posterior) == ("fourier", "frozen")
    assert used.regression.count == 11
