"""Parameters of the learner node, and the trainer that they describe."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.bonus import Bonus, NoBonus
from bayes_curiosity_ros.curiosity.encoder import Encoder
from bayes_curiosity_ros.curiosity.model_file import load_model
from bayes_curiosity_ros.curiosity.rnd import Rnd, RndConfig
from bayes_curiosity_ros.curiosity.vime import Vime, VimeConfig
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.learning.critic import LinearBaseline
from bayes_curiosity_ros.learning.gathered import GatheredBonus
from bayes_curiosity_ros.learning.perception import PerceivedTask, encoder_config, seen_with
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.pretrained import load_policy
from bayes_curiosity_ros.learning.trainer import Sampling, Trainer
from bayes_curiosity_ros.learning.trpo import Trpo, TrpoConfig
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.names import named_arm_task
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.registry import ARM_TASKS
from bayes_curiosity_ros.tasks.task import Task

BONUSES = ("curiosity", "rnd", "vime", "none")
CHECKPOINT = "checkpoint.pt"


@dataclass(frozen=True)
class LearnerConfig:
    """Parameters of the learner node.

    Attributes:
        task: reach, grasp, visual_reach or visual_grasp.
        robot: file in config/, or a path.
        bonus: curiosity (the node), or rnd, vime or none in the learner itself.
        bonus_weight: of rnd and vime; curiosity has its own in the curiosity node.
        seed: of everything random.
        timesteps: control steps after which training ends.
        iteration_steps: control steps per policy update, at least; episodes are finished.
        policy: file of a policy pre-trained by imitation; empty for a random one.
        model: curiosity model whose encoder sees for a visual task; empty for a random one.
        hidden: widths of the policy's hidden layers.
        folder: for checkpoint, episode log and curiosity models.
        resume: go on from the checkpoint in `folder`.
        recorded: wait until a recorder hears us, so that it misses nothing.
        operator_confirmed: answer the arm's question for its operator beforehand; leave it
            false on a real arm.
        start_timeout_s: longest wait for the other nodes.
        step_timeout_s: longest wait for a control step, or an answer of the curiosity node.
        reset_timeout_s: longest wait for an episode's start, the operator's part included.
        max_aborts: episodes in a row that may be cut short before training gives up.
        trpo: settings of TRPO.
    """

    task: str = "reach"
    robot: str = "jaco.yaml"
    bonus: str = "curiosity"
    bonus_weight: float = 0.1
    seed: int = 0
    timesteps: int = 30_000
    iteration_steps: int = 1000
    policy: str = ""
    model: str = ""
    hidden: tuple[int, ...] = (32, 32)
    folder: str = "output/run"
    resume: bool = False
    recorded: bool = False
    operator_confirmed: bool = False
    start_timeout_s: float = 60.0
    step_timeout_s: float = 5.0
    reset_timeout_s: float = 600.0
    max_aborts: int = 5
    trpo: TrpoConfig = field(default_factory=lambda: TrpoConfig(max_kl=0.02, fisher_stride=1))

    def __post_init__(self) -> None:
        if self.task not in ARM_TASKS:
            raise unknown_name("task", self.task, ARM_TASKS)
        if self.bonus not in BONUSES:
            raise unknown_name("bonus", self.bonus, BONUSES)
        for name in ("timesteps", "iteration_steps", "max_aborts"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be at least 1")
        if self.seed < 0:
            raise ConfigError(f"seed = {self.seed}; it must be ≥ 0")

    @property
    def checkpoint(self) -> Path:
        """Where training is saved."""
        return Path(self.folder) / CHECKPOINT

    def make_task(self) -> ArmTask:
        """The task, in a cell of which only the geometry is used."""
        return named_arm_task(self.task, RobotConfig.load(self.robot), threads=1)

    def perceive(self, task: ArmTask) -> Task:
        """The task as the policy sees it: through the model's encoder, if it is visual."""
        if not task.visual:
            return task
        if self.model:
            return PerceivedTask(task, load_model(Path(self.model)).curiosity.encoder)
        return PerceivedTask(task, Encoder(encoder_config(task)))


def make_trainer(config: LearnerConfig, task: Task) -> Trainer:
    """A trainer before its first iteration."""
    center, scale = task.observation_center, task.observation_scale
    rng = np.random.default_rng(config.seed)
    policy = GaussianPolicy(center, scale, task.action_size, rng, config.hidden)
    if config.policy:
        load_policy(Path(config.policy), policy, task.name, seen_with(task))
    critic = LinearBaseline(center, scale, config.trpo.discount)
    return Trainer(
        task,
        Trpo(policy, critic, config.trpo),
        _make_bonus(config, task),
        Sampling(parallel=1, min_steps=config.iteration_steps),
        rng,
    )


def _make_bonus(config: LearnerConfig, task: Task) -> Bonus:
    generator = torch.Generator().manual_seed(config.seed)
    if config.bonus == "rnd":
        size = task.observation_size
        return Rnd(RndConfig(vector_size=size, weight=config.bonus_weight), generator)
    if config.bonus == "vime":
        sizes = {"vector_size": task.observation_size, "action_size": task.action_size}
        return Vime(VimeConfig(**sizes, weight=config.bonus_weight), generator)
    return GatheredBonus() if config.bonus == "curiosity" else NoBonus()
