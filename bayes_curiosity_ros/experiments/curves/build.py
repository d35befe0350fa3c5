"""From a cell's settings and its groundwork to a trainer before its first iteration."""

from __future__ import annotations

import torch

from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.curiosity.continual import ContinualCuriosity
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.curves.groundwork import Groundwork, rollout_rng
from bayes_curiosity_ros.experiments.table1.build import build_baseline
from bayes_curiosity_ros.learning.perception import perceived, perceived_curiosity
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.tasks.task import Task


def build_trainer(ground: Groundwork, seed: int) -> Trainer:
    """The seed decides everything random; what the bonus draws touches nothing else."""
    bonus = build_bonus(ground, ground.task, encoder_of(ground, seed), seed)
    sampling = ground.cell.training.sampling
    return Trainer(ground.task, ground.learner(seed), bonus, sampling, rollout_rng(seed))


def build_bonus(ground: Groundwork, task: Task, encoder: Encoder | None, seed: int) -> Bonus:
    """The cell's bonus, at its prior.

    Args:
        ground: of the cell.
        task: as policies see it.
        encoder: of curiosity.
        seed: of what the bonus draws.
    """
    method = ground.cell.method
    if encoder is None:
        generator = torch.Generator().manual_seed(seed)
        return build_baseline(method.bonus, task, method.options, generator)
    config = build(CuriosityConfig, method.options, method.bonus)
    if method.embedding == "continual":
        return ContinualCuriosity(encoder, config, method.continual, seed)
    return perceived_curiosity(task, Curiosity(encoder, config))


def encoder_of(ground: Groundwork, seed: int) -> Encoder | None:
    """The encoder of a cell's curiosity; None where there is no curiosity."""
    method = ground.cell.method
    if method.bonus != "curiosity":
        return None
    if method.embedding == "demonstrations":
        return ground.trained_encoder()
    encoder = ground.random_encoder(seed)
    if method.embedding == "random":
        encoder.standardise_inputs(ground.shown().vectors)
    else:  # without demonstrations, the task's own idea of its range must do
        encoder.offset.copy_(torch.from_numpy(ground.task.observation_center))
        encoder.scale.copy_(torch.from_numpy(1.0 / ground.task.observation_scale))
    return encoder


def check_buildable(ground: Groundwork) -> None:
    """Make learner and bonus once without groundwork, so that a bad setting fails now."""
    method, encoder = ground.cell.method, ground.random_encoder(0)
    if ground.arm.visual and (method.encoder or method.embedding != "demonstrations"):
        raise ConfigError(
            f"{ground.cell.task}: a method has its own encoder; every method sees a visual task "
            "through the same one, so set `encoder` of the task instead"
        )
    task = perceived(ground.arm, encoder)
    ground.fresh_learner(task, 0)
    build_bonus(ground, task, encoder if method.bonus == "curiosity" else None, 0)
