"""What remembered episodes are worth, as the bonus learns: never, bounded, always."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.learning.buffer import Buffer
from bayes_curiosity_ros.learning.gathered import GatheredBonus
from bayes_curiosity_ros.learning.pricing import RELABELS, Refreshing, Relabelling
from bayes_curiosity_ros.learning.rollout import UniformAction, run_episodes
from support.learners import CountingBonus, Identity

STEPS = Identity.horizon


class Counted(CountingBonus):
    """Counts the transitions that it prices; pays the number of updates so far."""

    def __init__(self):
        super().__init__()
        self.priced = 0

    def evaluate(self, episodes):
        lengths = [len(episode) for episode in episodes]
        assert all(length <= STEPS for length in lengths)
        assert lengths
        assert all(lengths)
        self.priced += sum(lengths)
        return np.full(sum(lengths), float(self.updates))


def episodes(count, seed=0):
    return run_episodes(Identity(), UniformAction(1), count, np.random.default_rng(seed))


def buffer(capacity=1000):
    return Buffer("memory", capacity, 1, 1)


def grow(memory, pricing, bonus, rounds, count=2):
    """Rounds of new episodes, each priced and then taken in; the largest cost of a round."""
    costs = []
    for seed in range(rounds):
        memory.add(episodes(count, seed))
        before = bonus.priced
        pricing.price(memory, bonus)
        costs.append(bonus.priced - before)
        bonus.updates += 1
    return max(costs)


def test_never_leaves_a_transition_at_what_it_was_worth_when_it_came():
    memory, bonus = buffer(), Counted()
    assert grow(memory, Relabelling("never", 10.0), bonus, 6) == 2 * STEPS
    np.testing.assert_array_equal(memory.intrinsic[: 12 * STEPS], np.repeat(range(6), 2 * STEPS))


def test_an_empty_memory_has_nothing_to_price():
    for relabel in RELABELS:
        bonus = Counted()
        assert Relabelling(relabel, 10.0).price(buffer(), bonus) == 0.0
        assert bonus.priced == 0


def test_always_prices_the_whole_memory():
    memory, bonus = buffer(), Counted()
    assert grow(memory, Relabelling("always", 0.0), bonus, 6) == 12 * STEPS
    assert (memory.intrinsic[: 12 * STEPS] == 5).all()


def test_bounded_costs_the_same_however_large_the_memory_is():
    memory, bonus = buffer(), Counted()
    cost = grow(memory, Relabelling("bounded", 1.5), bonus, 40)
    assert cost <= 2 * STEPS + 3 * STEPS
    newest = bonus.updates - 1
    behind = newest - memory.intrinsic[: len(memory)]
    assert behind.max() <= 40 / 1.5 + 1  # a round of all that was old when it began
    assert (behind[-2 * STEPS :] == 0).all()


def test_bounded_goes_round_in_whole_episodes_when_the_oldest_are_overwritten():
    memory, bonus = buffer(capacity=7 * STEPS + 2), Counted()
    grow(memory, Relabelling("bounded", 0.7), bonus, 30)
    assert (bonus.updates - memory.intrinsic).max() < 10


def test_a_refresh_is_due_when_the_memory_has_grown():
    memory, bonus, pricing = buffer(), Counted(), Refreshing(0.5)
    grow(memory, pricing, bonus, 2)
    assert (memory.intrinsic[: 4 * STEPS] == 1).all()
    grow(memory, pricing, bonus, 1)
    assert memory.intrinsic[0] == 2
    grow(memory, pricing, bonus, 1)
    assert memory.intrinsic[0] == 2


@pytest.mark.parametrize("relabel", ["bounded", "always"])
def test_rewards_that_came_with_the_episodes_stay(relabel):
    memory, bonus, pricing = buffer(), GatheredBonus(), Relabelling(relabel, 10.0)
    for value in (1.0, 2.0):
        memory.add(episodes(1))
        bonus.add(np.full(STEPS, value))
        assert pricing.price(memory, bonus) == value
        bonus.update([])
    np.testing.assert_array_equal(memory.intrinsic[: 2 * STEPS], np.repeat([1.0, 2.0], STEPS))


def test_an_episode_that_curiosity_knows_is_worth_less():
    """And as much as the posterior of today says, priced alone or with others."""
    memory, curiosity = buffer(), Curiosity(Encoder(EncoderConfig(vector_size=1)))
    first = episodes(3)
    memory.add(first)
    pricing = Relabelling("bounded", 10.0)
    fresh = pricing.price(memory, curiosity)
    curiosity.update(first.split())
    memory.add(episodes(1, seed=1))
    pricing.price(memory, curiosity)
    old = memory.intrinsic[: 3 * STEPS]
    assert old.mean() < 0.5 * fresh
    np.testing.assert_allclose(old, curiosity.evaluate(first.split()), rtol=1e-3, atol=1e-9)


def test_pricing_resumes_where_it_was():
    memory, bonus = buffer(), Counted()
    pricing, again = Relabelling("bounded", 1.0), Relabelling("bounded", 1.0)
    grow(memory, pricing, bonus, 5)
    again.load_state_dict(pricing.state_dict())
    assert again.state_dict() == pricing.state_dict()
