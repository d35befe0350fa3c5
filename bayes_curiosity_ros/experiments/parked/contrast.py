"""The runs beside the one over ROS: the same episodes' starts, learner and pricing, in process."""

from __future__ import annotations

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.bonus import BONUSES, Bonus
from bayes_curiosity_ros.curiosity.curiosity import Scores
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.keeper import CuriosityKeeper, KeeperConfig
from bayes_curiosity_ros.experiments.engine.placebo import Shuffled
from bayes_curiosity_ros.experiments.parked.settings import OVER_ROS, Comparison
from bayes_curiosity_ros.learning.cell import EpisodeAbortedError, TaskCell
from bayes_curiosity_ros.learning.checkpoint import load_checkpoint
from bayes_curiosity_ros.learning.episode_log import EpisodeLog, EpisodeRow
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.gathered import GatheredBonus
from bayes_curiosity_ros.learning.gatherer import Audience, CellGatherer
from bayes_curiosity_ros.learning.settings import make_bonus, make_trainer
from bayes_curiosity_ros.learning.trail import NAME as TRAIL
from bayes_curiosity_ros.learning.trail import Trail
from bayes_curiosity_ros.learning.trainer import Trainer
from bayes_curiosity_ros.tasks.arm.task import ArmTask


class Nobody:
    """Audience of episodes that nobody watches."""

    def begin(self, episode: int) -> None:
        pass

    def see(self, step: int, observation: np.ndarray) -> None:
        pass

    def end(self, episode: Episodes, timesteps: int) -> None:
        pass

    def abort(self, error: EpisodeAbortedError) -> None:
        raise error  # a simulated cell in this process is never stopped


class Observer(Nobody):
    """Audience of the episodes: has each priced as in the curiosity node, and keeps the log.

    Args:
        keeper: what prices observations; None where nobody does.
        log: what came of every episode.
        trail: every observation.

    Attributes:
        paid: rewards of the episodes, as the bonus that learning sees.
    """

    def __init__(self, keeper: CuriosityKeeper | None, log: EpisodeLog, trail: Trail) -> None:
        self.paid = GatheredBonus()
        self._keeper = keeper
        self._log = log
        self._trail = trail
        self._number = 0
        self._seen: list[np.ndarray] = []
        self._scores: list[Scores] = []

    def begin(self, episode: int) -> None:
        self._number = episode
        self._seen.clear()
        self._scores.clear()

    def see(self, step: int, observation: np.ndarray) -> None:
        self._seen.append(observation.copy())
        if self._keeper is not None:
            row = Observations(observation[None])
            self._scores.append(self._keeper.observe(self._number, step, row))

    def end(self, episode: Episodes, timesteps: int) -> None:
        vectors = np.array(self._seen)
        rewards = curiosity = np.zeros(len(vectors))
        information = 0.0
        if self._keeper is not None:
            scores = Scores.joined(self._scores)
            rewards, curiosity = scores.reward, scores.curiosity
            information = self._keeper.curiosity.regression.information
            self._keeper.update(self._number, Observations(vectors))
            self.paid.add(rewards[1:])
        self._trail.add(self._number, vectors)
        self._log.add(
            EpisodeRow.of(episode, self._number, timesteps, rewards, curiosity, information)
        )

    def close(self) -> None:
        """Finish the files."""
        self._log.close()
        self._trail.close()


def run_in_process(runs: Comparison, method: str) -> list[EpisodeRow]:
    """One whole run without ROS, from its first episode; no rows: the log has them."""
    torch.set_num_threads(1)
    task, folder = runs.make_task(), runs.folder_of(method)
    log, trail = EpisodeLog(runs.log_of(method)), Trail(folder / TRAIL)
    observer = Observer(_keeper(runs, method), log, trail)
    bonus = _bonus(runs, method, task, observer.paid)
    trainer = _trainer(runs, method, task, bonus, observer)
    while trainer.timesteps < runs.timesteps:
        trainer.iterate()
    observer.close()
    return []


def first_trainer(runs: Comparison, task: ArmTask) -> Trainer:
    """The run over ROS before its first iteration."""
    return _trainer(runs, OVER_ROS, task, GatheredBonus(), Nobody())


def trained(runs: Comparison, task: ArmTask) -> Trainer:
    """The run over ROS as its checkpoint has it."""
    trainer = first_trainer(runs, task)
    load_checkpoint(runs.checkpoint, trainer)
    return trainer


def _keeper(runs: Comparison, method: str) -> CuriosityKeeper | None:
    """What the curiosity node would have; None where a method has no such node."""
    if not BONUSES[runs.methods[method].bonus].node:
        return None
    model = str(runs.files.model.resolve())
    return CuriosityKeeper(KeeperConfig(model=model, curiosity=runs.curiosity(method)))


def _trainer(
    runs: Comparison, method: str, task: ArmTask, bonus: Bonus, audience: Audience
) -> Trainer:
    config = runs.learner(method)
    gatherer = CellGatherer(task, TaskCell(task), audience, config.seed, config.iteration_steps)
    return make_trainer(config, runs.trpo, task, bonus, gatherer)


def _bonus(runs: Comparison, method: str, task: ArmTask, paid: GatheredBonus) -> Bonus:
    chosen = runs.methods[method]
    if not BONUSES[chosen.bonus].node:
        return make_bonus(runs.learner(method), task)
    return Shuffled(paid, runs.seed) if chosen.shuffled else paid
