"""Visuomotor learning on one core: rays, encoder, physics and TRPO, in steps per CPU second.

A policy with a random encoder on visual reach, with curiosity: what takes how long does not
depend on how well it does. CPU seconds, so that a busy machine changes little.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.curiosity import LatentCuriosity
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.learning.critic import LinearBaseline
from bayes_curiosity_ros.learning.gatherer import Rollouts, Sampling
from bayes_curiosity_ros.learning.perception import PerceivedTask, encoder_config
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.learning.trpo import Trpo, TrpoConfig
from bayes_curiosity_ros.tasks.arm.reach import Reach
from benchmarks._report import report

FRAMES_BAR = 1500.0
PARALLEL = 25


class Stopwatch:
    """CPU seconds in each of some calls."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def around(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, timed."""
        self.seconds[name] = 0.0

        def timed(*arguments: Any) -> Any:
            began = time.process_time()
            result = call(*arguments)
            self.seconds[name] += time.process_time() - began
            return result

        return timed


def make_trainer(steps: int) -> Trainer:
    """TRPO with curiosity on visual reach."""
    visual = Reach(visual=True, threads=1)
    encoder = Encoder(encoder_config(visual))
    task = PerceivedTask(visual, encoder)
    center, scale = task.observation_center, task.observation_scale
    policy = GaussianPolicy(center, scale, task.action_size, np.random.default_rng(0))
    config = TrpoConfig()
    return Trainer(
        task,
        Trpo(policy, LinearBaseline(center, scale, config.discount), config),
        LatentCuriosity(encoder),
        Rollouts(task, Sampling(PARALLEL, steps), np.random.default_rng(1)),
    )


def measure(steps: int) -> tuple[int, int, dict[str, float]]:
    """Steps, frames, and CPU seconds of an iteration and of its parts."""
    trainer, watch = make_trainer(steps), Stopwatch()
    task = trainer.task
    assert isinstance(task, PerceivedTask)
    visual: Any = task.task
    visual.images = watch.around("rays", visual.images)
    visual.advance = watch.around("physics", visual.advance)
    task.perception = watch.around("encoder", task.perception)  # type: ignore[assignment]
    learner: Any = trainer.algorithm
    learner.update = watch.around("learning", learner.update)
    began = time.process_time()
    iteration = trainer.iterate()
    total = time.process_time() - began
    frames = iteration.timesteps + len(iteration.lengths)
    return iteration.timesteps, frames, watch.seconds | {"total": total}


def main() -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=5000)
    torch.set_num_threads(1)
    steps, frames, seconds = measure(parser.parse_args().steps)
    seeing = frames / (seconds["rays"] + seconds["encoder"])
    report("visual/perceived_frames_per_core_s", seeing, FRAMES_BAR, unit="frames/core-second",
           higher_is_better=True, note="rays and encoder; against the bar")  # fmt: skip
    total = seconds.pop("total")
    shares = ", ".join(f"{name} {each / total:.0%}" for name, each in seconds.items())
    report("visual/steps_per_core_s", steps / total, steps / (total - seconds["rays"]),
           unit="steps/core-second", higher_is_better=True,
           note=f"TRPO with curiosity: {shares}; against the same without the rays")  # fmt: skip


if __name__ == "__main__":
    main()
