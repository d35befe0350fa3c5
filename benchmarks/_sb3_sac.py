"""Stable-Baselines3's SAC in the peers' environment: JSON lines in, JSON lines out."""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.spaces import Box
from stable_baselines3 import SAC
from stable_baselines3.common.logger import configure


class Still(gymnasium.Env):
    """Spaces of a task, and nothing that moves: only updates are timed."""

    def __init__(self, observation_size: int, action_size: int) -> None:
        self.observation_space = Box(-np.inf, np.inf, (observation_size,), np.float32)
        self.action_space = Box(-1.0, 1.0, (action_size,), np.float32)


def speed(request: dict[str, Any]) -> dict[str, float]:
    """Updates per second, by clock and by CPU, from a buffer of random transitions."""
    model = SAC(
        "MlpPolicy",
        Still(request["observation_size"], request["action_size"]),
        batch_size=request["minibatch"],
        buffer_size=request["transitions"],
        policy_kwargs={"net_arch": request["hidden"], "n_critics": request["critics"]},
        seed=0,
        device="cpu",
    )
    model.set_logger(configure(None, []))
    fill(model, request["transitions"])
    model.train(10, request["minibatch"])
    began, began_cpu = time.perf_counter(), time.process_time()
    model.train(request["updates"], request["minibatch"])
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    return {
        "updates_per_s": request["updates"] / seconds,
        "updates_per_cpu_s": request["updates"] / cpu,
    }


def fill(model: SAC, count: int) -> None:
    """Random transitions."""
    rng, buffer = np.random.default_rng(0), model.replay_buffer
    assert buffer is not None
    for _ in range(count):
        seen = rng.standard_normal((2, 1, *buffer.obs_shape)).astype(np.float32)
        action = rng.uniform(-1, 1, (1, buffer.action_dim))
        buffer.add(seen[0], seen[1], action, rng.random(1), np.zeros(1), [{}])


def main() -> None:
    """Answer every line on standard input."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(speed(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
