"""A robot arm that explores on purpose: Bayesian curiosity on ROS 2.

What a user of the library needs can be imported from here. A name is looked up when it is first
used, so that `import bayes_curiosity_ros` alone loads no torch.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same as HOMES, for whoever checks types
    from bayes_curiosity_ros.curiosity.bonus import BONUSES as BONUSES
    from bayes_curiosity_ros.curiosity.bonus import Bonus as Bonus
    from bayes_curiosity_ros.curiosity.bonus import BonusInputs as BonusInputs
    from bayes_curiosity_ros.curiosity.bonus import NoBonus as NoBonus
    from bayes_curiosity_ros.curiosity.curiosity import Curiosity as Curiosity
    from bayes_curiosity_ros.curiosity.curiosity import CuriosityConfig as CuriosityConfig
    from bayes_curiosity_ros.curiosity.data import Observations as Observations
    from bayes_curiosity_ros.curiosity.data import Transitions as Transitions
    from bayes_curiosity_ros.curiosity.embedding import EmbeddingConfig as EmbeddingConfig
    from bayes_curiosity_ros.curiosity.encoder import Encoder as Encoder
    from bayes_curiosity_ros.curiosity.encoder import EncoderConfig as EncoderConfig
    from bayes_curiosity_ros.curiosity.model_file import SavedModel as SavedModel
    from bayes_curiosity_ros.curiosity.model_file import load_model as load_model
    from bayes_curiosity_ros.curiosity.model_file import save_model as save_model
    from bayes_curiosity_ros.curiosity.rnd import Rnd as Rnd
    from bayes_curiosity_ros.curiosity.rnd import RndConfig as RndConfig
    from bayes_curiosity_ros.curiosity.vime import Vime as Vime
    from bayes_curiosity_ros.curiosity.vime import VimeConfig as VimeConfig
    from bayes_curiosity_ros.curiosity.wrappers.gymnasium import (
        BonusVectorWrapper as BonusVectorWrapper,
    )
    from bayes_curiosity_ros.curiosity.wrappers.sb3 import BonusVecEnvWrapper as BonusVecEnvWrapper
    from bayes_curiosity_ros.errors import BayesCuriosityError as BayesCuriosityError
    from bayes_curiosity_ros.learning.algorithm import LEARNERS as LEARNERS
    from bayes_curiosity_ros.learning.algorithm import make_learner as make_learner
    from bayes_curiosity_ros.learning.gatherer import Rollouts as Rollouts
    from bayes_curiosity_ros.learning.gatherer import Sampling as Sampling
    from bayes_curiosity_ros.learning.policy import PolicyConfig as PolicyConfig
    from bayes_curiosity_ros.learning.preparation import train_encoder as train_encoder
    from bayes_curiosity_ros.learning.trainer import Trainer as Trainer
    from bayes_curiosity_ros.tasks.registry import TASKS as TASKS
    from bayes_curiosity_ros.tasks.registry import make_task as make_task
    from bayes_curiosity_ros.tasks.task import Task as Task

__version__ = (Path(__file__).parent / "version.txt").read_text().strip()

# The module that each name is defined in.
HOMES = {
    "BONUSES": "curiosity.bonus",
    "BayesCuriosityError": "errors",
    "Bonus": "curiosity.bonus",
    "BonusInputs": "curiosity.bonus",
    "BonusVecEnvWrapper": "curiosity.wrappers.sb3",
    "BonusVectorWrapper": "curiosity.wrappers.gymnasium",
    "Curiosity": "curiosity.curiosity",
    "CuriosityConfig": "curiosity.curiosity",
    "EmbeddingConfig": "curiosity.embedding",
    "Encoder": "curiosity.encoder",
    "EncoderConfig": "curiosity.encoder",
    "LEARNERS": "learning.algorithm",
    "NoBonus": "curiosity.bonus",
    "Observations": "curiosity.data",
    "PolicyConfig": "learning.policy",
    "Rnd": "curiosity.rnd",
    "RndConfig": "curiosity.rnd",
    "Rollouts": "learning.gatherer",
    "Sampling": "learning.gatherer",
    "SavedModel": "curiosity.model_file",
    "TASKS": "tasks.registry",
    "Task": "tasks.task",
    "Trainer": "learning.trainer",
    "Transitions": "curiosity.data",
    "Vime": "curiosity.vime",
    "VimeConfig": "curiosity.vime",
    "load_model": "curiosity.model_file",
    "make_learner": "learning.algorithm",
    "make_task": "tasks.registry",
    "save_model": "curiosity.model_file",
    "train_encoder": "learning.preparation",
}
__all__ = ["__version__", *HOMES]


def __getattr__(name: str) -> Any:
    """Import a name from its home, and keep it."""
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})
