"""sb3-contrib's TRPO on our Pendulum, in the peers' environment: JSON lines in, JSON lines out."""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import gymnasium
import torch
from sb3_contrib import TRPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from bayes_curiosity_ros.tasks import gymnasium_env


def make_env() -> gymnasium.Env:
    """The task that ours trains on, one copy."""
    return Monitor(gymnasium.make(f"{gymnasium_env.NAMESPACE}/pendulum"))


def train(request: dict[str, Any]) -> dict[str, float]:
    """Train once; steps per second of training alone, by clock and by CPU; noise-free return."""
    env = DummyVecEnv([make_env] * request["parallel"])
    model = TRPO(
        "MlpPolicy",
        env,
        n_steps=request["batch"] // request["parallel"],
        gamma=request["discount"],
        target_kl=request["max_kl"],
        cg_max_steps=request["cg_iterations"],
        sub_sampling_factor=request["fisher_stride"],
        policy_kwargs={"net_arch": [32, 32]},
        seed=request["seed"],
        device="cpu",
    )
    began, began_cpu = time.perf_counter(), time.process_time()
    model.learn(request["timesteps"])
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    mean_return, _ = evaluate_policy(model, DummyVecEnv([make_env] * 50), 100)
    steps = model.num_timesteps
    return {
        "steps_per_s": steps / seconds,
        "steps_per_cpu_s": steps / cpu,
        "return": float(mean_return),
    }


def main() -> None:
    """Answer every line on standard input."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        print(json.dumps(train(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
