"""VIME: the closed form of the gain, and surprise as reward."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.dynamics import DynamicsNetwork, with_one
from bayes_curiosity_ros.curiosity.evidence_bound import BoundGradient
from bayes_curiosity_ros.curiosity.state import same_state
from bayes_curiosity_ros.curiosity.vime import Vime, VimeConfig, build_network
from bayes_curiosity_ros.errors import ConfigError, InputError


def make(seed: int = 0, **settings: object) -> Vime:
    return Vime(VimeConfig(3, 2, **settings), torch.Generator().manual_seed(seed))  # type: ignore[arg-type]


def pushed(seed: int, count: int = 200, surprise: float = 0.0) -> Transitions:
    """Linear dynamics, disturbed by `surprise`."""
    rng = np.random.default_rng(seed)
    before = rng.normal(size=(count, 3))
    actions = rng.uniform(-1.0, 1.0, size=(count, 2))
    push = np.array([[0.5, 0.0, -0.2], [0.1, 0.3, 0.0]])
    after = 0.9 * before + actions @ push + surprise * rng.normal(size=(count, 3))
    return Transitions(Observations(before), actions, Observations(after))


def trained(seed: int = 0, **settings: object) -> Vime:
    bonus = make(seed, **settings)
    for i in range(5):
        bonus.update([pushed(10 * i + j) for j in range(4)])
    return bonus


def gain_by_autograd(
    network: DynamicsNetwork, row: torch.Tensor, target: torch.Tensor, noise: list[torch.Tensor]
) -> float:
    """½ gᵀH⁻¹g by automatic differentiation and the Hessian as the paper prints it."""
    loss = torch.zeros(())
    means, deviations = network.split(network.mean), network.split(network.deviation)
    for s in range(len(noise[0])):
        hidden = row[None]
        for index, draws in enumerate(noise):
            hidden = with_one(hidden) @ (means[index] + deviations[index] * draws[s])
            if index < len(noise) - 1:
                hidden = torch.tanh(hidden)
        loss = loss + 0.5 * network.precision * (hidden[0] - target).square().sum()
    g_mean, g_rho = torch.autograd.grad(loss / len(noise[0]), (network.mean, network.rho))
    variance = network.deviation.detach().square()
    h_rho = 2.0 * torch.sigmoid(network.rho.detach()).square() / variance
    return 0.5 * float((g_mean.square() * variance).sum() + (g_rho.square() / h_rho).sum())


def bound(
    network: DynamicsNetwork,
    inputs: torch.Tensor,
    targets: torch.Tensor,
    noise: list[torch.Tensor],
    prior: float,
    count: int,
) -> torch.Tensor:
    """The negative evidence bound per transition, for automatic differentiation."""
    means, deviations = network.split(network.mean), network.split(network.deviation)
    for index, draws in enumerate(noise):
        x = with_one(torch.tanh(inputs) if index > 0 else inputs)
        variance = x.square() @ deviations[index].square()
        inputs = x @ means[index] + variance.sqrt() * draws
    misfit = 0.5 * network.precision * (inputs - targets).square().sum(dim=1).mean()
    weights = torch.distributions.Normal(network.mean, network.deviation)
    before = torch.distributions.Normal(0.0, prior)
    return misfit + torch.distributions.kl_divergence(weights, before).sum() / count


@pytest.mark.parametrize("layers", [1, 2])
def test_slopes_of_the_bound_equal_automatic_differentiation(layers: int) -> None:
    generator = torch.Generator().manual_seed(0)
    config = VimeConfig(3, 2, layers=layers, width=8, initial_deviation=0.3)
    network = build_network(config, generator)
    gradient = BoundGradient(network, rows=6, prior=0.7, count=40)
    for _ in range(2):  # the second time in the buffers of the first
        inputs = torch.randn(6, 5, generator=generator)
        targets = torch.randn(6, 3, generator=generator)
        noise = [torch.randn(6, width, generator=generator) for _, width in network.shapes]
        gradient.compute(with_one(inputs), targets, noise)
        loss = bound(network, inputs, targets, noise, prior=0.7, count=40)
        by_mean, by_rho = torch.autograd.grad(loss, (network.mean, network.rho))
        torch.testing.assert_close(gradient.by_mean, by_mean, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(gradient.by_rho, by_rho, rtol=1e-4, atol=1e-6)
        with torch.no_grad():
            network.mean.mul_(1.1)
            network.rho.add_(0.2)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("samples", [1, 3])
def test_gain_equals_automatic_differentiation(layers: int, samples: int) -> None:
    generator = torch.Generator().manual_seed(0)
    config = VimeConfig(3, 2, layers=layers, width=8, initial_deviation=0.3)
    network = build_network(config, generator)
    noise = network.draw_noise(samples, generator)
    inputs = torch.randn(4, 5, generator=generator)
    targets = torch.randn(4, 3, generator=generator)
    gains = network.information_gain(inputs, targets, noise).tolist()
    expected = [
        gain_by_autograd(network, *row, noise) for row in zip(inputs, targets, strict=True)
    ]
    np.testing.assert_allclose(gains, expected, rtol=1e-4)


def test_hessian_of_the_divergence_is_the_paper_s() -> None:
    """KL[N(μ', σ'²) ‖ N(μ, σ²)] at the old parameters: 1/σ² and 2(∂σ/∂ρ)²/σ²."""

    def divergence(mean: torch.Tensor, rho: torch.Tensor) -> torch.Tensor:
        old = torch.nn.functional.softplus(torch.tensor(-0.7, dtype=torch.float64))
        new = torch.nn.functional.softplus(rho)
        return 0.5 * ((new**2 + (mean - 0.4) ** 2) / old**2 - 1.0) - (new / old).log()

    point = (
        torch.tensor(0.4, dtype=torch.float64),
        torch.tensor(-0.7, dtype=torch.float64),
    )
    hessian = torch.autograd.functional.hessian(divergence, point)
    sigma = torch.nn.functional.softplus(point[1])
    assert float(hessian[0][0]) == pytest.approx(float(1.0 / sigma**2))
    assert float(hessian[0][1]) == pytest.approx(0.0)
    expected = 2.0 * torch.sigmoid(point[1]) ** 2 / sigma**2
    assert float(hessian[1][1]) == pytest.approx(float(expected))


def test_is_a_bonus() -> None:
    assert isinstance(make(), Bonus)


def test_surprise_is_rewarded() -> None:
    bonus = trained()
    usual = bonus.evaluate([pushed(99)])
    surprising = bonus.evaluate([pushed(99, surprise=1.0)])
    assert np.median(surprising) > 5.0 * np.median(usual)


def test_gain_falls_as_the_dynamics_are_learnt() -> None:
    bonus, probe = make(), pushed(99)
    bonus.update([pushed(0)])
    rows = bonus._rows(probe)
    early = np.median(bonus._gains(rows))
    for seed in range(1, 10):
        bonus.update([pushed(seed)])
    assert np.median(bonus._gains(rows)) < 0.2 * early


def test_a_median_transition_earns_the_weight() -> None:
    bonus = trained(weight=0.3)
    rewards = np.concatenate([bonus.evaluate([pushed(seed)]) for seed in range(90, 95)])
    assert np.median(rewards) == pytest.approx(0.3, rel=0.3)


def test_zero_before_the_first_update_and_with_zero_weight() -> None:
    assert not make().evaluate([pushed(0)]).any()
    assert not trained(weight=0.0).evaluate([pushed(0)]).any()


def test_evaluate_changes_nothing() -> None:
    bonus = trained()
    before = bonus.state_dict()
    first = bonus.evaluate([pushed(50)])
    assert same_state(bonus.state_dict(), before)
    np.testing.assert_array_equal(bonus.evaluate([pushed(50)]), first)


def test_resume_is_exact_even_when_the_pool_is_full() -> None:
    straight, resumed = trained(pool_size=500), make(seed=99, pool_size=500)
    resumed.load_state_dict(straight.state_dict())
    for bonus in (straight, resumed):
        bonus.update([pushed(70), pushed(71)])
    assert same_state(straight.state_dict(), resumed.state_dict())
    np.testing.assert_array_equal(straight.evaluate([pushed(72)]), resumed.evaluate([pushed(72)]))


def test_a_state_of_another_shape_is_rejected_whole() -> None:
    bonus = trained()
    before = bonus.state_dict()
    with pytest.raises(InputError, match="expected"):
        bonus.load_state_dict(make(width=8).state_dict())
    assert same_state(bonus.state_dict(), before)


def test_seeds_decide_everything_and_the_global_one_is_left_alone() -> None:
    before = torch.get_rng_state()
    assert same_state(trained(1).state_dict(), trained(1).state_dict())
    assert not same_state(trained(1).state_dict(), trained(2).state_dict())
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("part", ["observations", "actions", "next_observations"])
def test_a_value_that_is_not_finite_is_named_and_changes_nothing(part: str) -> None:
    bonus = trained()
    before = bonus.state_dict()
    bad = pushed(3)
    rows = getattr(bad, part)
    (rows if part == "actions" else rows.vectors)[4, 1] = np.nan
    with pytest.raises(InputError, match=rf"{part}\[4\]\[1\] = nan"):
        bonus.evaluate([bad])
    with pytest.raises(InputError, match=rf"{part}\[4\]\[1\] = nan"):
        bonus.update([pushed(4), bad])
    assert same_state(bonus.state_dict(), before)


def test_images_and_wrong_widths_are_named() -> None:
    few = pushed(0, count=2)
    images = np.zeros((2, 4, 16, 16), dtype=np.uint8)
    with_images = Observations(few.observations.vectors, images)
    with pytest.raises(InputError, match="vectors alone"):
        make().evaluate([Transitions(with_images, few.actions, with_images)])
    with pytest.raises(InputError, match=r"actions has shape \(2, 5\); expected \(count, 2\)"):
        make().evaluate([Transitions(few.observations, np.zeros((2, 5)), few.next_observations)])


@pytest.mark.parametrize(
    ("name", "value"),
    [("width", 0), ("samples", 0), ("prior_deviation", -1.0), ("weight", np.inf)],
)
def test_settings_out_of_bounds_are_named(name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        VimeConfig(3, 2, **{name: value})  # type: ignore[arg-type]
