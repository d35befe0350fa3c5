"""What tests of experiments share: small settings, commands, made-up rows and cells."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.experiments.engine.jobs import Job, Row
from bayes_curiosity_ros.experiments.engine.running import jobs_of, work_of
from bayes_curiosity_ros.experiments.engine.settings import ExperimentSettings
from bayes_curiosity_ros.experiments.engine.store import Store
from bayes_curiosity_ros.experiments.engine.work import Work
from bayes_curiosity_ros.experiments.table1.analysis import CellReturns

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "config" / "experiments"
RESULTS = ROOT / "results"

TABLE = """
points: 2
evaluation_episodes: 2
every_task:
  demonstrations: {count: 100, parallel: 1}
  demonstrations_per_seed: true
  embedding: {max_epochs: 2}
tasks:
  pendulum:
    learners:
      trpo: {timesteps: 400, parallel: 2, min_steps: 200}
      ddpg: {timesteps: 400, parallel: 2, min_steps: 200, options: {updates_per_step: 0.05}}
      reinforce: {timesteps: 400, parallel: 2, min_steps: 200}
      ppo: {timesteps: 400, parallel: 2, min_steps: 200, options: {epochs: 2}}
      sac:
        timesteps: 400
        parallel: 2
        min_steps: 200
        options: {updates_per_step: 0.05, critics: 2, hidden: [8], minibatch: 16, warmup_steps: 50}
    methods:
      curiosity: {weight: 1.0}
      vime: {weight: 0.1}
      rnd: {weight: 1.0, width: 8}
      rnd_latent: {weight: 1.0, width: 8}
      none:
      continual_curiosity: {embedding: none, continual: {every_episodes: 2, epochs: 1}}
only: {learners: [trpo, ddpg], methods: [curiosity, vime, rnd, none]}
"""
# Counts that are whole batches, so that a preparation is the same from memory and from its file.
CURVES = """
points: 3
every_task:
  demonstrations: {count: 64}
  imitation: {epochs: 1}
  embedding: {max_epochs: 1}
  pretrained: true
tasks:
  reach:
    learners: {trpo: {timesteps: 450, parallel: 3, min_steps: 100}}
    methods: {curiosity: {weight: 0.1}, rnd: {weight: 0.1}, vime: {weight: 0.01}, none: }
  visual_reach:
    learners: {trpo: {timesteps: 250, parallel: 3, min_steps: 100}}
    methods: {curiosity: {weight: 0.1}, rnd: {weight: 0.1}, none: }
"""
ABLATIONS = """
extends: curves.yaml
only: {tasks: [reach]}
tasks:
  reach:
    methods:
      continual:
        like: curiosity
        bonus: continual_curiosity
        embedding: none
        continual: {every_episodes: 4, epochs: 1}
      random: {like: curiosity, embedding: random, encoder: {fourier_features: 16}}
      scratch: {like: none, pretrained: false}
panels: {all: [curiosity, continual, random, scratch]}
"""


def command(name: str, config: Path, output: Path, *more: str) -> int:
    """Exit code of `bayes-curiosity experiment NAME` with one worker, without figures."""
    words = ["experiment", name, "--config", str(config), "--output", str(output)]
    return cli.main([*words, "--workers", "1", "--no-plots", *more])


def parsed(words: Sequence[str]) -> argparse.Namespace:
    """What the command line makes of these words."""
    return cli.build_parser().parse_args(words)


def prepared(settings: ExperimentSettings, folder: Path, jobs: Sequence[Job]) -> Work:
    """The work of these settings, with all that the jobs start from."""
    work = work_of(settings, folder)
    for job in jobs:
        work.ground(job.cell).make([job.seed])
    return work


def stored(settings: ExperimentSettings, folder: Path, seeds: Sequence[int]) -> Work:
    """Run every cell of these settings with these seeds, in this process, into a folder."""
    jobs = jobs_of(settings, seeds)
    work = prepared(settings, folder, jobs)
    store = Store(folder, work.cells)
    for job in jobs:
        store.append(work(job))
    return work


def untimed(rows: Sequence[Row]) -> list[str]:
    """Rows as text, as nan is not equal to itself; wall time left out."""
    return [str(dataclasses.replace(row, seconds=0.0)) for row in rows]


def returns_of(*seeds: Sequence[float], first: float = np.inf) -> CellReturns:
    """A cell whose seeds have these returns, an evaluation every 1,000 timesteps."""
    times = np.arange(len(seeds[0])) * 1000.0
    return CellReturns(times, np.array(seeds, dtype=float), np.full(len(seeds), first))


def assert_same(left: Any, right: Any) -> None:
    """Fail unless two checkpoints hold the same, wall time left out."""
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left.keys() - {"seconds"}:
            assert_same(left[key], right[key])
    elif isinstance(left, list):
        assert len(left) == len(right)
        for ours, theirs in zip(left, right, strict=True):
            assert_same(ours, theirs)
    elif isinstance(left, torch.Tensor):
        assert torch.equal(left, right)
    elif isinstance(left, np.ndarray):
        assert np.array_equal(left, right)
    else:
        assert left == right or (left != left and right != right)
