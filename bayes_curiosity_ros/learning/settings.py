"""Parameters of the learner node, and the trainer that they describe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.bonus import BONUSES, Bonus, BonusInputs
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import load_model
from bayes_curiosity_ros.errors import ConfigError, unknown_name
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.learning.asynchronous import Asynchronous
from bayes_curiosity_ros.learning.checkpoint import CHECKPOINT
from bayes_curiosity_ros.learning.demonstrated import Remembering, remembering
from bayes_curiosity_ros.learning.episode_file import load_episodes
from bayes_curiosity_ros.learning.event_log import require_log
from bayes_curiosity_ros.learning.gatherer import CellGatherer, Gatherer
from bayes_curiosity_ros.learning.judge import Watching, load_judge, perception_of
from bayes_curiosity_ros.learning.perception import PerceivedTask, encoder_config, seen_with
from bayes_curiosity_ros.learning.policy import PolicyConfig
from bayes_curiosity_ros.learning.pretrained import load_policy
from bayes_curiosity_ros.learning.sac import Sac
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.names import named_arm_task
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.registry import arm_task_names
from bayes_curiosity_ros.tasks.task import Task

# Longest episodes' worth of updates that a learner which learns meanwhile may be behind.
EPISODES_BEHIND = 2


@dataclass(frozen=True)
class LearnerConfig:
    """Parameters of the learner node.

    Attributes:
        task: what is learnt, a task of the arm.
        robot: file in config/robots/, or a path.
        dynamics: how the simulated arm moves; see `ArmNodeConfig`.
        learner: what learns; its own settings are parameters under its name.
        bonus: what rewards exploration; curiosity is a node of its own, others live in the
            learner.
        bonus_weight: factor of a bonus that lives in the learner.
        seed: of everything random.
        timesteps: control steps after which training ends.
        iteration_steps: control steps per policy update, at least; episodes are finished. A
            learner with a memory learns after every episode.
        policy: file of a policy pre-trained by imitation; empty for a random one.
        asynchronous: whether a learner with a memory learns while the next episode runs; what it
            learns then depends on the machine's speed. Others learn between two.
        real_time_priority: where it does, its threads come before other work of the machine, as
            SCHED_RR with this priority, 1 to 99, the one that learns with 1; 0: they do not.
        shown: file of demonstrated episodes that a learner with a memory begins with; empty for
            none.
        model: curiosity model whose encoder sees for a visual task; empty for a random one.
        judge: file of a judge that says when a visual task has succeeded (`bayes-curiosity
            judge`); empty for none.
        judge_threshold: probability from which the judge takes an observation for a success,
        judge_steps: and how many observations in a row have to be one.
        hidden: widths of the policy's hidden layers.
        folder: for checkpoint, episode log and curiosity models.
        resume: go on from the checkpoint in `folder`.
        restarted: go on from the checkpoint in `folder` if there is one already; for whoever
            starts a learner again in mid-run.
        keep_observations: keep the numbers of all observations in `folder`, images left out.
        log: "tensorboard" for event files in `folder`, for which that must be installed.
        recorded: wait until a recorder hears us, so that it misses nothing, and at the end until
            it has all.
        operator_confirmed: answer the arm's question for its operator beforehand; leave it
            false on a real arm.
        start_timeout_s: longest wait for the other nodes.
        step_timeout_s: longest wait for a control step, or an answer of the curiosity node.
        reset_timeout_s: longest wait for an episode's start, the operator's part included.
        recover_timeout_s: longest wait for a node that did not answer in time; it may have been
            started again.
        recorder_timeout_s: longest wait at the end for the recorder.
        max_aborts: times in a row that an episode may be cut short before training gives up.
    """

    task: str = "reach"
    robot: str = "jaco.yaml"
    dynamics: str = ""
    learner: str = "trpo"
    bonus: str = "curiosity"
    bonus_weight: float = 0.1
    seed: int = 0
    timesteps: int = 30_000
    iteration_steps: int = 1000
    policy: str = ""
    asynchronous: bool = False
    real_time_priority: int = 0
    shown: str = ""
    model: str = ""
    judge: str = ""
    judge_threshold: float = 0.8
    judge_steps: int = 2
    hidden: tuple[int, ...] = (32, 32)
    folder: str = "output/run"
    resume: bool = False
    restarted: bool = False
    keep_observations: bool = False
    log: str = ""
    recorded: bool = False
    operator_confirmed: bool = False
    start_timeout_s: float = 60.0
    step_timeout_s: float = 5.0
    reset_timeout_s: float = 600.0
    recover_timeout_s: float = 60.0
    recorder_timeout_s: float = 30.0
    max_aborts: int = 5

    def __post_init__(self) -> None:
        if self.task not in arm_task_names():
            raise unknown_name("task", self.task, arm_task_names())
        BONUSES.require(self.bonus)
        LEARNERS.require(self.learner)
        require_log(self.log)
        for name in ("timesteps", "iteration_steps", "max_aborts", "judge_steps"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be at least 1")
        if self.seed < 0:
            raise ConfigError(f"seed = {self.seed}; it must be ≥ 0")

    @property
    def checkpoint(self) -> Path:
        """Where training is saved."""
        return Path(self.folder) / CHECKPOINT

    @property
    def gathered_steps(self) -> int:
        """Control steps of an iteration, at least."""
        return 1 if LEARNERS[self.learner].remembers else self.iteration_steps

    def make_task(self) -> ArmTask:
        """The task, in a cell of which only the geometry is used."""
        robot = RobotConfig.load(self.robot)
        return named_arm_task(self.task, robot, threads=1, dynamics=self.dynamics)

    def perceive(self, task: ArmTask) -> Task:
        """The task as the policy sees it: through the model's encoder, if it is visual."""
        if not task.visual:
            return task
        if self.model:
            return PerceivedTask(task, load_model(Path(self.model)).curiosity.encoder)
        return PerceivedTask(task, Encoder(encoder_config(task)))


def make_trainer(
    config: LearnerConfig, settings: Any, task: Task, bonus: Bonus, gatherer: Gatherer
) -> Trainer:
    """A trainer before its first iteration.

    Args:
        config: of the node.
        settings: of the learner itself, of the kind that its registry entry names.
        task: as the policy sees it.
        bonus: what rewards exploration.
        gatherer: of episodes over the graph.

    Raises:
        ConfigError: there is a pre-trained policy, and the learner cannot begin with one; or
            there are demonstrated episodes, and it has no memory for them.
    """
    rng = np.random.default_rng(config.seed)
    learner = LEARNERS[config.learner].make(task, settings, PolicyConfig(config.hidden), rng)
    if config.asynchronous and isinstance(learner, Sac):
        learner = Asynchronous(learner, EPISODES_BEHIND * learner.due(task.horizon))
    if config.policy:
        if learner.imitator is None:
            raise ConfigError(
                f"learner {config.learner!r} cannot begin with a policy; leave `policy` empty "
                "(`bayes-curiosity up --scratch`)"
            )
        load_policy(Path(config.policy), learner.imitator, task.name, seen_with(task))
    if config.shown:
        remembering(learner).remember(load_episodes(Path(config.shown), task))
    if isinstance(learner, Remembering) and isinstance(gatherer, CellGatherer):
        gatherer.remember = learner.remember
    return Trainer(task, learner, bonus, gatherer)


def make_watching(config: LearnerConfig, task: Task) -> Watching | None:
    """What says when an episode has succeeded, where a judge is given.

    Raises:
        ConfigError: the task has no camera.
        ModelFileError: the judge cannot be read, or sees with another encoder.
    """
    if not config.judge:
        return None
    perception = perception_of(task)
    judge = load_judge(Path(config.judge), perception)
    return Watching(judge, perception, config.judge_threshold, config.judge_steps)


def make_bonus(config: LearnerConfig, task: Task) -> Bonus:
    """A bonus that lives in the learner."""
    entry = BONUSES[config.bonus]
    inputs = BonusInputs(
        task.observation_size,
        task.action_size,
        config.seed,
        lambda: Encoder(
            EncoderConfig(task.observation_size), torch.Generator().manual_seed(config.seed)
        ),
    )
    return entry.make({"weight": config.bonus_weight} if entry.weighted else {}, inputs)
