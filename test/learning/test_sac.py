"""SAC's pieces against closed forms, and its two memories."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
import torch
from torch.distributions import Normal, TanhTransform, TransformedDistribution

from bayes_curiosity_ros.curiosity.bonus import NoBonus
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.gathered import GatheredBonus
from bayes_curiosity_ros.learning.off_policy import Minibatch, move_towards
from bayes_curiosity_ros.learning.rollout import UniformAction, run_episodes
from bayes_curiosity_ros.learning.sac import (
    Sac,
    SacConfig,
    cloning_gradient,
    smaller_of_two,
    temperature_gradient,
)
from bayes_curiosity_ros.learning.squashed import SquashedPolicy, SquashedSample, log_slope
from support.learners import CountingBonus, Identity

SMALL = SacConfig(critics=3, hidden=(8,), minibatch=16, warmup_steps=0, policy_delay=1)


def numbers(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


def make(seed=0, **changes):
    config = dataclasses.replace(SMALL, **changes)
    return Sac(np.zeros(2), np.ones(2), 3, config, np.random.default_rng(seed))


def minibatch(size=7, shown=0, terminated=0.0):
    inputs, actions = numbers(size, 2, seed=1), numbers(size, 3, seed=2).tanh()
    continuation = torch.full((size,), 0.9 * (1 - terminated))
    pairs, rewards = torch.cat([inputs, actions], 1), numbers(size, 2, seed=3)
    return Minibatch(inputs, pairs, rewards, numbers(size, 2, seed=4), continuation, shown)


def test_the_log_density_has_the_correction_of_tanh():
    mean, log_std, noise = numbers(5, 3), numbers(5, 3, seed=1), numbers(5, 3, seed=2)
    sample = SquashedSample.draw(mean.double(), log_std.double(), noise.double())
    normal = Normal(mean.double(), log_std.double().exp())
    squashed = TransformedDistribution(normal, TanhTransform())
    torch.testing.assert_close(
        sample.log_probability, squashed.log_prob(sample.actions).sum(1), rtol=1e-6, atol=1e-6
    )


def test_the_correction_is_exact_where_tanh_rounds_to_one():
    raw, far = torch.tensor([0.0, 20.0, -20.0]), 2 * math.log(2.0) - 40
    expected = torch.tensor([0.0, far, far])
    torch.testing.assert_close(log_slope(raw), expected)


def test_a_sample_pulls_back_autograds_gradient():
    mean, log_std = numbers(5, 3).requires_grad_(), numbers(5, 3, seed=1).requires_grad_()
    slope = numbers(5, 3, seed=3)
    sample = SquashedSample.draw(mean, log_std, numbers(5, 3, seed=2))
    ((slope * sample.actions).sum() + 0.3 * sample.log_probability.sum()).backward()
    with torch.no_grad():
        found = sample.pull_back(slope, 0.3)
    torch.testing.assert_close(found, (mean.grad, log_std.grad))


def test_a_policy_samples_in_numpy_as_in_torch():
    rng = np.random.default_rng(0)
    policy = SquashedPolicy(np.full(2, 0.5), np.full(2, 2.0), 3, (8,), rng)
    seen, noise = rng.standard_normal((4, 2)), rng.standard_normal((4, 3), dtype=np.float32)
    inputs = torch.from_numpy(policy.inputs(seen))
    drawn = policy.draw(inputs, torch.from_numpy(noise))
    np.testing.assert_allclose(policy.sample(seen, noise), drawn.actions.numpy(), atol=1e-6)
    np.testing.assert_allclose(policy.mean_actions(seen), drawn.mean.tanh().numpy(), atol=1e-6)
    assert np.abs(policy.sample(seen, 100 * noise)).max() <= 1.0


def test_cloning_pulls_to_the_demonstrated_action():
    mean, actions = numbers(5, 3).requires_grad_(), numbers(5, 3, seed=1).tanh()
    ((mean.tanh() - actions) ** 2).sum(1).mean().backward()
    with torch.no_grad():
        torch.testing.assert_close(cloning_gradient(mean, actions), mean.grad)


def test_the_temperature_rises_where_entropy_is_wanting():
    log_temperature, log_probability = torch.zeros((), requires_grad=True), numbers(9)
    (log_temperature * (-log_probability - 2.0).mean()).backward()
    gradient = temperature_gradient(log_probability, 2.0)
    torch.testing.assert_close(gradient, log_temperature.grad)
    assert gradient < 0  # entropy of about 0 where 2 is wanted


def test_targets_move_by_the_polyak_share():
    target, source = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -2.0])
    move_towards(target, source, 0.25)
    torch.testing.assert_close(target, torch.tensor([1.5, 1.0]))


def targets(sac, batch):
    """The targets, and what they consist of, drawn with the same random numbers."""
    state = sac.rng.bit_generator.state
    found = sac._targets(batch)
    sac.rng.bit_generator.state = state
    sample = sac.policy.draw(batch.next_inputs, sac._noise(batch.next_inputs))
    pairs = torch.cat([batch.next_inputs, sample.actions], 1)
    drawn = sac.rng.permutation(sac.config.critics)[:2]
    return found, sample, sac.target_critics(pairs), drawn


@pytest.mark.parametrize("soft", [False, True])
def test_a_target_is_the_reward_and_the_smaller_of_two_later_values(soft):
    sac, batch = make(soft_targets=soft, temperature=0.5), minibatch()
    found, sample, values, drawn = targets(sac, batch)
    later = torch.minimum(values[drawn[0]], values[drawn[1]])
    later = later - 0.5 * sample.log_probability if soft else later
    torch.testing.assert_close(found[0], batch.rewards.sum(1) + 0.9 * later)


def test_a_terminal_state_has_no_later_value():
    batch = minibatch(terminated=1.0)
    torch.testing.assert_close(make()._targets(batch)[0], batch.rewards.sum(1))


def test_targets_stay_within_the_possible_range():
    found = make(clipped=True, value_low=-0.1, value_high=0.2)._targets(minibatch(50))
    assert found.min() == pytest.approx(-0.1)
    assert found.max() == pytest.approx(0.2)


def test_separate_critics_have_a_reward_each_and_only_one_is_clipped():
    sac = make(separate_critics=True, clipped=True, value_low=-0.1, value_high=0.1)
    batch = minibatch(50, terminated=1.0)
    extrinsic, intrinsic = sac._targets(batch)
    torch.testing.assert_close(extrinsic, batch.rewards[:, 0].clamp(-0.1, 0.1))
    torch.testing.assert_close(intrinsic, batch.rewards[:, 1])
    assert sac.critics.count == 6


def test_the_two_of_every_stream_are_the_same_members():
    sac, pairs = make(separate_critics=True), numbers(5, 5)
    found = smaller_of_two(sac.critics, pairs, 2, np.random.default_rng(7))
    first, second = np.random.default_rng(7).permutation(3)[:2]
    values = sac.critics(pairs)
    torch.testing.assert_close(found[0], torch.minimum(values[first], values[second]))
    torch.testing.assert_close(found[1], torch.minimum(values[3 + first], values[3 + second]))


@pytest.mark.parametrize("apart", [False, True])
def test_the_policy_descends_its_loss(apart):
    """One step of the gradient that autograd finds for α log π - mean Q + cloning."""
    sac = make(cloning=0.3, temperature=0.5, separate_critics=apart)
    batch = minibatch(shown=3)
    sac.bonus_unit.fill_(0.2)
    flat = sac.policy.network.parameters.clone().requires_grad_()
    state, steps = sac.rng.bit_generator.state, []
    sac.policy_adam.descend = steps.append
    sac._improve_policy(batch)
    sac.rng.bit_generator.state = state
    noise = sac._noise(batch.inputs)
    weight, bias = flat[: 2 * 8].view(2, 8), flat[16:24]
    output = torch.relu(batch.inputs @ weight + bias) @ flat[24:72].view(8, 6) + flat[72:]
    mean, log_std = output.chunk(2, 1)
    sample = SquashedSample.draw(mean, log_std.clamp(-5, 2), noise)
    values = sac.critics(torch.cat([batch.inputs, sample.actions], 1))
    value = values[:3].mean(0) + (0.2 * values[3:].mean(0) if apart else 0.0)
    loss = (0.5 * sample.log_probability - value).mean()
    pull = ((mean[-3:].tanh() - batch.actions[-3:]) ** 2).sum(1).mean()
    (loss + 0.3 * pull).backward()
    torch.testing.assert_close(steps[0], flat.grad, atol=1e-6, rtol=1e-4)


def shown_episodes(count=4, seed=0):
    rng = np.random.default_rng(seed)
    return run_episodes(Identity(), UniformAction(1), count, rng)


def identity_sac(**changes):
    config = dataclasses.replace(SMALL, **changes)
    return Sac(np.zeros(1), np.ones(1), 1, config, np.random.default_rng(0))


def test_half_of_a_minibatch_is_demonstrated():
    sac = identity_sac()
    sac.remember(shown_episodes())
    sac.buffer.add(shown_episodes(seed=1))
    (batch, *_) = sac.minibatches(3)
    assert batch.shown == 8
    fresh, shown = (set(each.log.kept()["action"][:, 0]) for each in (sac.buffer, sac.shown))
    drawn = batch.actions[:, 0].numpy()
    assert set(drawn[:8]) <= fresh
    assert set(drawn[8:]) <= shown


def test_without_demonstrations_all_of_it_is_fresh():
    sac = identity_sac()
    sac.buffer.add(shown_episodes())
    (batch, *_) = sac.minibatches(1)
    assert batch.shown == 0
    assert len(batch.inputs) == 16


@pytest.mark.parametrize("keep", [False, True])
def test_its_own_successes_may_be_kept_among_the_demonstrations(keep):
    sac, episodes = identity_sac(keep_successes=keep), shown_episodes(3)
    succeeded = np.array([False, True, False])
    sac.update(dataclasses.replace(episodes, succeeded=succeeded), NoBonus())
    assert len(sac.buffer) == episodes.steps
    kept = episodes.actions[1][episodes.mask[1]] if keep else np.empty((0, 1))
    np.testing.assert_allclose(sac.shown.log.kept()["action"], kept.clip(-1, 1), rtol=1e-6)


def test_demonstrations_replace_the_warm_up():
    sac = identity_sac(warmup_steps=100)
    assert isinstance(sac.explore(), UniformAction)
    assert "td_error" not in sac.update(shown_episodes(), NoBonus())
    sac.remember(shown_episodes())
    assert not isinstance(sac.explore(), UniformAction)
    assert "td_error" in sac.update(shown_episodes(), NoBonus())


def test_rewards_of_a_curiosity_elsewhere_are_for_what_was_gathered_alone():
    sac, bonus, episodes = identity_sac(), GatheredBonus(), shown_episodes(1)
    sac.remember(shown_episodes())
    for value in (1.0, 2.0):
        bonus.add(np.full(episodes.steps, value))
        assert sac.update(episodes, bonus)["intrinsic"] == value
        bonus.update([])
    assert not sac.shown.intrinsic.any()


def test_demonstrations_are_priced_too():
    sac = identity_sac()
    sac.remember(shown_episodes())
    sac.update(shown_episodes(1), CountingBonus())
    assert (sac.shown.intrinsic[: len(sac.shown)] > 0).all()


def test_a_separate_value_is_of_bonuses_in_units_of_their_deviation_over_all_that_is_remembered():
    sac = identity_sac(separate_critics=True)
    sac.remember(shown_episodes())
    sac.update(shown_episodes(1, seed=1), CountingBonus())
    kept = [buffer.intrinsic[: len(buffer)] for buffer in (sac.buffer, sac.shown)]
    (batch, *_) = sac.minibatches(1)
    extrinsic, intrinsic = sac._rewards(batch)
    torch.testing.assert_close(extrinsic, batch.rewards[:, 0])
    torch.testing.assert_close(intrinsic, batch.rewards[:, 1] / np.concatenate(kept).std())


def test_a_bonus_that_pays_nothing_has_a_unit_all_the_same():
    sac = identity_sac(separate_critics=True)
    sac.update(shown_episodes(1), NoBonus())
    assert sac.bonus_unit == 1.0


def test_the_clock_is_no_terminal_state():
    sac = identity_sac()
    sac.buffer.add(shown_episodes())
    (batch, *_) = sac.minibatches(1)
    torch.testing.assert_close(batch.continuation, torch.full((16,), SMALL.discount))


@pytest.mark.parametrize(
    "bad",
    [
        {"critics": 1},
        {"temperature": 0.0},
        {"value_low": 2.0},
        {"shown_share": 1.0},
        {"cloning": -1.0},
        {"relabel": "sometimes"},
        {"relabel_per_step": -1.0},
        {"policy_delay": 0},
        {"polyak": 0.0},
    ],
)
def test_bad_settings_are_named(bad):
    with pytest.raises(ConfigError, match=next(iter(bad))):
        SacConfig(**bad)
