"""From names and settings to a learner, a bonus and the trainer that joins them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.bonus import Bonus, NoBonus
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.embedding import EmbeddingTrainer, train_embedding
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.rnd import Rnd, RndConfig
from bayes_curiosity_ros.curiosity.vime import Vime, VimeConfig
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.experiments.table1.settings import (
    ALGORITHMS,
    BONUSES,
    CellSettings,
    TableSettings,
)
from bayes_curiosity_ros.learning.algorithm import Algorithm
from bayes_curiosity_ros.learning.critic import LinearBaseline
from bayes_curiosity_ros.learning.ddpg import Ddpg, DdpgConfig
from bayes_curiosity_ros.learning.gatherer import Rollouts
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.reinforce import Reinforce, ReinforceConfig
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.learning.trpo import Trpo, TrpoConfig
from bayes_curiosity_ros.tasks.demonstrations import DemonstrationConfig, collect
from bayes_curiosity_ros.tasks.registry import make_task
from bayes_curiosity_ros.tasks.task import Task


def build_trainer(
    task_name: str, algorithm: str, bonus: str, seed: int, settings: TableSettings
) -> Trainer:
    """A trainer before its first iteration; the seed decides everything random in it.

    Learner, rollouts and bonus draw from streams of their own, so that a seed's first policy
    and initial states are the same whatever the bonus.
    """
    task = make_task(task_name)
    learner_seed, rollout_seed = np.random.SeedSequence(seed).spawn(2)
    cell = settings.cell(task_name, algorithm)
    return Trainer(
        task,
        build_algorithm(algorithm, task, cell, np.random.default_rng(learner_seed)),
        build_bonus(bonus, task, seed, settings),
        Rollouts(task, cell.sampling, np.random.default_rng(rollout_seed)),
    )


def build_algorithm(
    name: str, task: Task, cell: CellSettings, rng: np.random.Generator
) -> Algorithm:
    """A learner with fresh networks."""
    center, scale, size = task.observation_center, task.observation_scale, task.action_size
    if name == "ddpg":
        return Ddpg(center, scale, size, make_config(DdpgConfig, cell.learner), rng)
    if name not in ALGORITHMS:
        raise unknown_name("algorithm", name, ALGORITHMS)
    policy = GaussianPolicy(center, scale, size, rng, **cell.policy)
    if name == "trpo":
        config = make_config(TrpoConfig, cell.learner)
        return Trpo(policy, LinearBaseline(center, scale, config.discount), config)
    reinforce = make_config(ReinforceConfig, cell.learner)
    return Reinforce(policy, LinearBaseline(center, scale, reinforce.discount), reinforce)


def build_bonus(
    name: str, task: Task, seed: int, settings: TableSettings, rehearse: bool = False
) -> Bonus:
    """A bonus that has seen nothing yet but, for curiosity, the demonstrations.

    Args:
        name: of the bonus.
        task: whose observations it will see.
        seed: decides its random weights and the demonstrations.
        settings: of the table.
        rehearse: leave out the embedding's training, to check the settings only.
    """
    if name not in BONUSES:
        raise unknown_name("bonus", name, BONUSES)
    options = dict(settings.bonuses[task.name].get(name, {}))
    generator = torch.Generator().manual_seed(seed)
    if name == "curiosity":
        if rehearse:
            options["trained"] = False
        return _build_curiosity(task, seed, settings, options, generator)
    return build_baseline(name, task, options, generator)


def build_baseline(
    name: str, task: Task, options: Mapping[str, Any], generator: torch.Generator
) -> Bonus:
    """A bonus that curiosity is compared with: "rnd", "vime" or "none"."""
    if name == "rnd":
        sizes = {"vector_size": task.observation_size}
        return Rnd(make_config(RndConfig, sizes | dict(options)), generator)
    if name == "vime":
        sizes = {"vector_size": task.observation_size, "action_size": task.action_size}
        return Vime(make_config(VimeConfig, sizes | dict(options)), generator)
    unknown = options.keys() - {"per_step"}
    if unknown:
        raise ConfigError(f"bonus 'none' has no option {', '.join(sorted(unknown))}")
    return NoBonus(**options)


def _build_curiosity(
    task: Task,
    seed: int,
    settings: TableSettings,
    options: dict[str, Any],
    generator: torch.Generator,
) -> Curiosity:
    """Algorithm 1 on the task's demonstrations, then the bonus at its prior."""
    shape = {"vector_size": task.observation_size} | options.pop("encoder", {})
    trained = options.pop("trained", True)
    encoder = Encoder(make_config(EncoderConfig, shape), generator)
    count = settings.demonstrations
    config = DemonstrationConfig(
        count, settings.demonstration_noise, parallel=max(1, min(count // 100, 20))
    )
    shown = collect(task, config, rng=np.random.default_rng([seed, 1]))
    observations, actions = shown.vectors, shown.actions
    if trained:
        trainer = EmbeddingTrainer(encoder, Observations(observations), actions, seed=seed)
        encoder = train_embedding(trainer, progress=False)
    else:
        encoder.standardise_inputs(observations)
    return Curiosity(encoder, make_config(CuriosityConfig, options))


def make_config(kind: Any, options: Mapping[str, Any]) -> Any:
    """A frozen configuration from keyword arguments; an unknown one is the user's mistake."""
    try:
        return kind(**{key: _tupled(value) for key, value in options.items()})
    except TypeError as error:
        raise ConfigError(f"{kind.__name__}: {error}") from None


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
