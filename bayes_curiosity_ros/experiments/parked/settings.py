"""What the runs of the comparison have in common, from the experiment's own settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bayes_curiosity_ros.bringup.arguments import defaults
from bayes_curiosity_ros.configuration.settings import build
from bayes_curiosity_ros.curiosity.bonus import BONUSES
from bayes_curiosity_ros.curiosity.curiosity import CuriosityConfig, preset_config
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.methods import Method
from bayes_curiosity_ros.experiments.engine.settings import (
    CellSettings,
    ExperimentSettings,
    Selection,
    load_settings,
)
from bayes_curiosity_ros.files import write_atomically
from bayes_curiosity_ros.learning.checkpoint import CHECKPOINT, has_checkpoint
from bayes_curiosity_ros.learning.episode_log import LOG
from bayes_curiosity_ros.learning.policy import PolicyConfig
from bayes_curiosity_ros.learning.preparation import Preparation, PreparedFiles, Tell
from bayes_curiosity_ros.learning.settings import LearnerConfig
from bayes_curiosity_ros.learning.trpo import TrpoConfig
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.names import named_arm_task
from bayes_curiosity_ros.tasks.arm.task import ArmTask

CONFIG = "exploration.yaml"
TASK, LEARNER = "parked_reach", "trpo"
OVER_ROS = "curiosity"
IN_PROCESS = ("none", "placebo")
METHODS = (OVER_ROS, *IN_PROCESS)


@dataclass(frozen=True)
class Comparison:
    """Runs that differ in their method alone, and where they are kept.

    Attributes:
        cell: settings of the run over ROS; those of the others differ in their method.
        methods: how each run explores, by name.
        folder: folder of everything.
        seed: seed of every run, which decides first policies, placements and noise.
        timesteps: control steps of each run.
        by_seed: whether runs of other seeds are kept beside these.
    """

    cell: CellSettings
    methods: Mapping[str, Method]
    folder: Path
    seed: int
    timesteps: int
    by_seed: bool = False

    def __post_init__(self) -> None:
        _require_known_over_ros(self.cell)
        _ = self.learner(self.over_ros)  # which checks its numbers

    @property
    def over_ros(self) -> str:
        """Name of the method that is run over ROS."""
        return self.cell.cell.method

    @property
    def files(self) -> PreparedFiles:
        """What is made before learning."""
        return PreparedFiles.within(self.folder)

    def folder_of(self, method: str) -> Path:
        """Folder of one run."""
        folder = self.folder / method
        return folder / f"seed_{self.seed}" if self.by_seed else folder

    def log_of(self, method: str) -> Path:
        """What came of every episode of one run."""
        return self.folder_of(method) / LOG

    @property
    def checkpoint(self) -> Path:
        """Where the run over ROS is saved."""
        return self.folder_of(self.over_ros) / CHECKPOINT

    @property
    def dynamics(self) -> str:
        """How the arm moves; "" for the robot's own."""
        return str(self.cell.options.get("dynamics", ""))

    def make_task(self, name: str = TASK) -> ArmTask:
        """A task of the arm as these runs have it."""
        return named_arm_task(name, RobotConfig.load(), threads=1, dynamics=self.dynamics)

    def preparation(self, tell: Tell = print) -> Preparation:
        """Demonstrations of the other task, and the embedding made of them."""
        shown = self.make_task(self.cell.embedding_from) if self.cell.embedding_from else None
        task = self.make_task()
        return Preparation(task, self.cell.preparation, self.files, tell, shown_task=shown)

    def learner(self, method: str) -> LearnerConfig:
        """Parameters of one run's learner."""
        chosen, usual = self.methods[method], LearnerConfig()
        lives_there = BONUSES[chosen.bonus].weighted and not BONUSES[chosen.bonus].node
        return LearnerConfig(
            task=TASK,
            dynamics=self.dynamics,
            learner=LEARNER,
            bonus=chosen.bonus,
            bonus_weight=chosen.options["weight"] if lives_there else usual.bonus_weight,
            seed=self.seed,
            timesteps=self.timesteps,
            iteration_steps=self.cell.learning.min_steps,
            hidden=self.cell.learning.policy.hidden,
            folder=str(self.folder_of(method)),
        )

    @property
    def trpo(self) -> TrpoConfig:
        """Settings of every run's TRPO."""
        return build(TrpoConfig, self.cell.learning.options, f"{CONFIG}: {LEARNER}")

    def curiosity(self, method: str) -> CuriosityConfig:
        """How a method prices observations."""
        return preset_config(self.methods[method].options, f"{CONFIG}: {method}")

    def bringup(self, resume: bool) -> dict[str, str]:
        """Arguments of the bringup for the run over ROS, all of them."""
        given = {
            "task": TASK,
            "dynamics": self.dynamics,
            "learner": LEARNER,
            "bonus": self.methods[self.over_ros].bonus,
            "seed": str(self.seed),
            "timesteps": str(self.timesteps),
            "model": str(self.files.model.resolve()),
            "output": str(self.folder_of(self.over_ros)),
            "resume": str(resume).lower(),
            "params_file": str(self._parameter_file().resolve()),
        }
        return defaults() | given

    def parameters(self) -> dict[str, Any]:
        """Parameters of the nodes that no argument decides, as ROS reads them."""
        learner, chosen = self.learner(self.over_ros), self.methods[self.over_ros]
        mine = {"iteration_steps": learner.iteration_steps, "hidden": list(learner.hidden)}
        mine |= {"keep_observations": True, LEARNER: self.cell.learning.options}
        if not BONUSES[chosen.bonus].node:
            return {
                "/**/learner": {"ros__parameters": mine | {"bonus_weight": learner.bonus_weight}}
            }
        options = dict(chosen.options)
        priced = {"preset": options.pop("preset", ""), "curiosity": options}
        return {
            "/**/learner": {"ros__parameters": mine},
            "/**/curiosity": {"ros__parameters": priced},
        }

    def how_to_go_on(self, timesteps: int) -> str:
        """The command that goes on with these runs, to so many control steps each."""
        words = ["bayes-curiosity explore", f"--output {self.folder}", f"--timesteps {timesteps}"]
        if has_checkpoint(self.checkpoint):
            words.insert(1, "--resume")
        if self.seed:
            words.append(f"--seed {self.seed}")
        return " ".join(words)

    def _parameter_file(self) -> Path:
        path = self.folder / "parameters.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, yaml.safe_dump(self.parameters(), sort_keys=False).encode())
        return path


def comparison(folder: Path, seed: int, timesteps: int) -> Comparison:
    """The comparison as config/experiments/exploration.yaml has it.

    Raises:
        ConfigError: a setting is bad, or one that a run over ROS does not know.
    """
    return Comparison(cell_of(OVER_ROS), _methods(METHODS), folder, seed, timesteps)


def run_over_ros(method: str, folder: Path, seed: int, timesteps: int) -> Comparison:
    """A run over ROS of one method, to be kept beside those of others and of other seeds.

    Raises:
        ConfigError: a setting is bad, or one that a run over ROS does not know.
    """
    return Comparison(cell_of(method), _methods([method]), folder, seed, timesteps, by_seed=True)


def cell_of(method: str) -> CellSettings:
    """Settings of a method's runs, as config/experiments/exploration.yaml has them.

    Raises:
        ConfigError: a setting is bad, or there is no such method.
    """
    settings: ExperimentSettings = load_settings(find("config/experiments", CONFIG))
    settings = settings.only(Selection((TASK,), (LEARNER,), (method,)))
    return settings.cell(Cell(TASK, LEARNER, method))


def _methods(names: Iterable[str]) -> dict[str, Method]:
    return {name: cell_of(name).method for name in names}


def _require_known_over_ros(cell: CellSettings) -> None:
    unknown = sorted((cell.options.keys() - {"dynamics"}) | cell.shown.keys())
    if unknown:
        raise ConfigError(
            f"{CONFIG}: {TASK} has the options {', '.join(unknown)}; over ROS there is "
            "only dynamics to choose"
        )
    method = cell.method
    own = sorted(method.options.keys() - {"weight"})
    if method.shuffled or method.pretrained or (own and not BONUSES[method.bonus].node):
        raise ConfigError(
            f"{CONFIG}: {cell.cell.method} cannot be run over ROS: it is shuffled, has imitated, "
            f"or has settings of its own ({', '.join(own) or 'none'}) beside its weight"
        )
    policy = cell.learning.policy
    if policy != PolicyConfig(policy.hidden):
        raise ConfigError(f"{CONFIG}: {policy}; over ROS only `hidden` of a policy can be chosen")
