"""From a cell's settings and its groundwork to a trainer before its first iteration."""

from __future__ import annotations

import torch

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.curiosity.continual import ContinualCuriosity
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.experiments.build import build_baseline
from bayes_curiosity_ros.experiments.curves.groundwork import (
    Groundwork,
    learner_rng,
    rollout_rng,
)
from bayes_curiosity_ros.learning.pretrained import load_policy
from bayes_curiosity_ros.learning.trainer import Sampling, Trainer
from bayes_curiosity_ros.robot.settings import build


def build_trainer(ground: Groundwork, seed: int) -> Trainer:
    """The seed decides everything random; what the bonus draws touches nothing else."""
    cell = ground.cell
    learner = ground.learner(learner_rng(seed))
    if cell.method.pretrained:
        load_policy(ground.policy(seed), learner.policy, ground.task.name)
    sampling = Sampling(cell.training.parallel, cell.training.min_steps)
    return Trainer(ground.task, learner, build_bonus(ground, seed), sampling, rollout_rng(seed))


def build_bonus(ground: Groundwork, seed: int) -> Bonus:
    """The cell's bonus; it has seen nothing yet but, for curiosity, the demonstrations."""
    method = ground.cell.method
    if method.bonus != "curiosity":
        generator = torch.Generator().manual_seed(seed)
        return build_baseline(method.bonus, ground.task, method.options, generator)
    config = build(CuriosityConfig, method.options, method.bonus)
    if method.embedding == "continual":
        encoder = _scaled_by_task(ground.random_encoder(seed), ground)
        return ContinualCuriosity(encoder, config, method.continual, seed)
    if method.embedding == "random":
        encoder = ground.random_encoder(seed)
        encoder.standardise_inputs(ground.shown().vectors)
        return Curiosity(encoder, config)
    return Curiosity(ground.trained_encoder(), config)


def check_buildable(ground: Groundwork) -> None:
    """Make learner and bonus once without groundwork, so that a bad setting fails now."""
    method = ground.cell.method
    ground.learner(learner_rng(0))
    if method.bonus != "curiosity":
        build_bonus(ground, 0)
        return
    config, encoder = (
        build(CuriosityConfig, method.options, method.bonus),
        ground.random_encoder(0),
    )
    if method.embedding == "continual":
        ContinualCuriosity(encoder, config, method.continual)
    else:
        Curiosity(encoder, config)


def _scaled_by_task(encoder: Encoder, ground: Groundwork) -> Encoder:
    """Without demonstrations, the task's own idea of its range must do."""
    encoder.offset.copy_(torch.from_numpy(ground.task.observation_center))
    encoder.scale.copy_(torch.from_numpy(1.0 / ground.task.observation_scale))
    return encoder
