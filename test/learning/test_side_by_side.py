"""Runs side by side: the same episodes and updates as alone, in turns, and all end together."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.learning.network import Mlp
from bayes_curiosity_ros.learning.optimizer import Adam
from bayes_curiosity_ros.learning.rollout import UniformAction, Wave, run_wave, run_waves
from bayes_curiosity_ros.learning.side_by_side import side_by_side
from bayes_curiosity_ros.tasks.registry import TASKS, make_task


def wave(task, count, seed):
    return Wave(task, UniformAction(task.action_size), count, np.random.default_rng(seed))


@pytest.mark.parametrize("name", [name for name in TASKS.names() if "visual" not in name])
def test_waves_in_one_simulation_are_those_of_many(name):
    task = make_task(name)
    counts = (1, 3, 2)
    together = run_waves([wave(task, count, seed) for seed, count in enumerate(counts)])
    for seed, (count, episodes) in enumerate(zip(counts, together, strict=True)):
        alone = run_wave(wave(task, count, seed))
        np.testing.assert_array_equal(episodes.lengths, alone.lengths)
        for part in ("terminated", "succeeded"):
            np.testing.assert_array_equal(getattr(episodes, part), getattr(alone, part))
        for part in ("observations", "actions", "rewards"):
            mine, its = (getattr(each, part)[:, :-1] for each in (episodes, alone))
            mask = alone.mask[:, : mine.shape[1]]
            np.testing.assert_array_equal(mine[mask], its[mask])


def test_one_goes_on_at_a_time_and_in_order():
    task, told = make_task("pendulum"), []

    def body(number):
        def run(executor):
            for turn in range(2):
                told.append((turn, number, threading.active_count()))
                episodes = executor.run_wave(wave(task, 1, number))
                assert len(episodes) == 1
            return number

        return run

    before = threading.active_count()
    assert side_by_side([body(number) for number in range(3)]) == [0, 1, 2]
    assert [entry[:2] for entry in told] == [(turn, n) for turn in range(2) for n in range(3)]
    assert threading.active_count() == before


def test_runs_may_end_at_different_times():
    task = make_task("pendulum")

    def body(turns):
        def run(executor):
            return [executor.run_wave(wave(task, 1, turn)).returns()[0] for turn in range(turns)]

        return run

    short, none, long = side_by_side([body(1), body(0), body(3)])
    assert (len(short), none, len(long)) == (1, [], 3)
    assert long[0] == short[0]


def test_what_one_raises_ends_all():
    task, ended = make_task("pendulum"), []

    def fine(executor):
        try:
            executor.run_wave(wave(task, 1, 0))
            executor.run_wave(wave(task, 1, 0))
        finally:
            ended.append("fine")

    def broken(executor):
        executor.run_wave(wave(task, 1, 0))
        raise KeyboardInterrupt(15)

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt) as raised:
        side_by_side([fine, broken])
    assert raised.value.args == (15,)
    assert ended == ["fine"]
    assert threading.active_count() == before


SIZES = (3, 16, 16, 2)


@pytest.fixture
def networks():
    rng = np.random.default_rng(0)
    return [Mlp(SIZES, rng, activation="relu") for _ in range(4)]


def numbers(*shape):
    return torch.from_numpy(np.random.default_rng(1).standard_normal(shape, dtype=np.float32))


@pytest.mark.parametrize("sizes", [SIZES, (3, 16, 1), (1, 16, 2)], ids=str)
def test_stacked_networks_give_what_each_gives(sizes):
    rng = np.random.default_rng(0)
    parts = [Mlp(sizes, rng, activation="relu") for _ in range(4)]
    whole = Mlp.stacked(parts)
    inputs, cotangent = numbers(4, 20, sizes[0]), numbers(4, 20, sizes[-1])
    linearized = whole.linearize(inputs)
    for index, part in enumerate(parts):
        alone = part.linearize(inputs[index])
        pairs = [
            (whole(inputs)[index], part(inputs[index])),
            (linearized.vjp(cotangent)[index], alone.vjp(cotangent[index])),
            (linearized.input_gradient(cotangent)[index], alone.input_gradient(cotangent[index])),
        ]
        for mine, its in pairs:
            torch.testing.assert_close(mine, its, rtol=1e-5, atol=1e-6)


def test_a_stacked_optimizer_takes_the_step_of_each(networks):
    optimizers = [Adam(network.parameters, 0.01, fused=True) for network in networks]
    gradients = numbers(4, len(networks[0].parameters))
    optimizers[1].descend(gradients[0])  # one has come further than the others
    whole = Mlp.stacked(networks)
    stacked = Adam.stacked(optimizers, whole.parameters)
    stacked.descend(gradients)
    for index, (network, optimizer) in enumerate(zip(networks, optimizers, strict=True)):
        optimizer.descend(gradients[index])
        torch.testing.assert_close(whole.parameters[index], network.parameters, rtol=0, atol=0)
        assert stacked.count[index] == optimizer.count
