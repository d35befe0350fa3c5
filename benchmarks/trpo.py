"""TRPO against sb3-contrib's: environment steps per second of a full training, and the return.

Same sparse Pendulum, 50 parallel copies, 32×32 tanh networks, batches of 5,000 steps, 10
conjugate-gradient iterations, δ = 0.01, γ = 0.99, one thread each, run in turns. What differs is
each library's own: its value function (theirs a network, ours the linear baseline), its advantage
λ (theirs 0.95, ours as in config/experiments/table1.yaml) and its policy's deviation (theirs a
constant vector, ours a network).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import torch

from bayes_curiosity_ros.experiments.engine.build import Ground
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.settings import CellSettings, load_settings
from benchmarks._peers import PeerProcess
from benchmarks._report import report

CONFIG = Path(__file__).resolve().parents[1] / "config/experiments" / "table1.yaml"
SPEED_BAR = 20.0


def settings() -> CellSettings:
    """Those of Table I without a bonus."""
    return load_settings(CONFIG).cell(Cell("pendulum", "trpo", "none"))


def train_ours(seed: int, timesteps: int) -> dict[str, float]:
    """Steps per second of training alone, by clock and by CPU; noise-free return."""
    trainer = Ground(settings(), Path()).trainer(seed)
    began, began_cpu = time.perf_counter(), time.process_time()
    while trainer.timesteps < timesteps:
        trainer.iterate()
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    returns = trainer.evaluate(100, np.random.default_rng([seed, 1])).returns()
    return {
        "steps_per_s": trainer.timesteps / seconds,
        "steps_per_cpu_s": trainer.timesteps / cpu,
        "return": float(returns.mean()),
    }


def request(timesteps: int) -> dict[str, float]:
    """The same training in the peer's words."""
    learning = settings().learning
    names = ("discount", "max_kl", "cg_iterations", "fisher_stride")
    return {
        "timesteps": timesteps,
        "parallel": learning.parallel,
        "batch": learning.min_steps,
        **{name: learning.options[name] for name in names},
    }


def main() -> int:
    """Print the figures; 1 if one misses its bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150_000)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    wanted = request(arguments.steps)
    ours, theirs = [], []
    with PeerProcess("trpo", "benchmarks._sb3_trpo") as peer:
        for seed in range(arguments.seeds):
            ours.append(train_ours(seed, arguments.steps))
            theirs.append(peer.ask({**wanted, "seed": seed}))
    return judge(ours, theirs, f"{arguments.steps} steps, {arguments.seeds} seeds")


def judge(ours: list[dict[str, float]], theirs: list[dict[str, float]], note: str) -> int:
    """Report the fastest run of each side, the least disturbed one, and the median returns."""
    ratios = {}
    for figure, unit in (("steps_per_s", "steps/s"), ("steps_per_cpu_s", "steps/CPU s")):
        best, peer_best = (max(run[figure] for run in runs) for runs in (ours, theirs))
        ratios[figure] = report(
            f"trpo/{figure}/sb3_contrib",
            best,
            peer_best,
            unit=unit,
            higher_is_better=True,
            note=f"{note}, best of each",
        )
    gain, peer_gain = (statistics.median(run["return"] for run in runs) for runs in (ours, theirs))
    report(
        "trpo/return/sb3_contrib",
        gain,
        peer_gain,
        unit="extrinsic return, noise-free",
        higher_is_better=False,
        note=f"{note}, medians; returns are ≤ 0, ratio is peer ÷ ours",
    )
    return 0 if ratios["steps_per_s"] >= SPEED_BAR and gain >= peer_gain else 1


if __name__ == "__main__":
    sys.exit(main())
