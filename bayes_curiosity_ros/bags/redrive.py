"""Recorded actions, fed to the simulated arm: does it go the same way again?"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bayes_curiosity_ros.bags.episode import Episode, read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.player import parse_selection
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.robot.arms.simulated import SimulatedArm
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.names import named_arm_task

TIMEOUT_S = 1.0
TOLERANCE_RAD = 1e-9


@dataclass(frozen=True)
class Redriven:
    """One episode again.

    Attributes:
        id: number of the episode.
        positions: (N, J + F) reached in simulation, in [rad].
        deviation_rad: (N,) largest difference of any joint from the recorded one.
    """

    id: int
    positions: np.ndarray
    deviation_rad: np.ndarray


class Redriver:
    """The simulated arm of a task.

    Args:
        task: name, such as "reach"; decides whether the object can be touched.
        robot: the cell that was recorded; the shipped one if None.
        collisions: whether commands pass the safety filter's collision check, as recorded.
        dynamics: how the arm moved, as recorded; "" for the robot's own.

    Raises:
        ConfigError: no such task, or none for an arm.
    """

    def __init__(
        self,
        task: str,
        robot: RobotConfig | None = None,
        collisions: bool = False,
        dynamics: str = "",
    ) -> None:
        robot = robot or RobotConfig.load()
        cell = named_arm_task(task, robot, threads=1, dynamics=dynamics)
        safety = replace(cell.robot.safety, collisions=collisions)
        self.arm = SimulatedArm(replace(cell.robot, safety=safety), cell.stepper)
        self.arm.connect(TIMEOUT_S)

    def drive(self, episode: Episode) -> Redriven:
        """Start where the episode did, and repeat its actions.

        Raises:
            BagError: it has not been recorded without gaps, or of another arm.
        """
        self._require_drivable(episode)
        joints = len(self.arm.joint_names)
        start = episode.positions[None, 0, :joints], episode.objects[None, 0]
        self.arm.place(self.arm.stepper.initial(*start)[0])
        reached = [self._positions(episode.positions.shape[1])]
        for deltas, gripper in zip(episode.actions[:-1], episode.gripper[:-1], strict=True):
            self.arm.move(deltas, float(gripper), TIMEOUT_S)
            reached.append(self._positions(episode.positions.shape[1]))
        positions = np.array(reached)
        deviation = np.abs(positions - episode.positions).max(axis=1)
        return Redriven(episode.id, positions, deviation)

    def _positions(self, width: int) -> np.ndarray:
        state = self.arm.state(TIMEOUT_S)
        return np.concatenate([state.joints, state.fingers])[:width]

    def _require_drivable(self, episode: Episode) -> None:
        joints = len(self.arm.joint_names)
        if episode.actions.shape[1] != joints:
            raise BagError(
                f"episode {episode.id} has actions of {episode.actions.shape[1]} joints, the "
                f"simulated arm {joints}"
            )
        whole = (
            np.isfinite(episode.actions[:-1]).all()
            and np.isfinite(episode.positions).all()
            and np.isfinite(episode.objects[:1]).all()
            and episode.objects.shape[1] == 3
            and (episode.steps == np.arange(len(episode))).all()
        )
        if not whole:
            reasons = "; ".join(episode.faults) or "arm states or the object's place are missing"
            raise BagError(f"episode {episode.id} cannot be driven again: {reasons}")


def recorded_dynamics(settings: str) -> str:
    """How the arm moved, by a recorder's `settings`; "" where these do not say."""
    try:
        values = json.loads(settings)
    except ValueError:  # a user's recorder may note anything there
        return ""
    return str(values.get("dynamics", "")) if isinstance(values, dict) else ""


def report(bag: str, episodes: str, show: Callable[[str], object] = print) -> int:
    """Re-drive a bag's episodes and say how far off they were; 0 if none was.

    Raises:
        BagError: the bag does not say which task it is of.
        ConfigError: that task is none of an arm.
    """
    reader, selected = BagReader(bag), parse_selection(episodes)
    task = reader.about.get("task")
    if not task:
        raise BagError(f"{bag} does not name its task; record with task:=… to drive it again")
    redriver = Redriver(task, dynamics=recorded_dynamics(reader.about.get("settings", "")))
    driven, worst, refused = 0, 0.0, 0
    for episode in read_episodes(reader, selected=selected):
        try:
            deviation = float(redriver.drive(episode).deviation_rad.max())
        except BagError as error:
            show(str(error))
            refused += 1
            continue
        driven, worst = driven + 1, max(worst, deviation)
        if deviation > TOLERANCE_RAD:
            show(f"episode {episode.id}: up to {deviation:.3g} rad away from the recording")
    for loss in reader.losses:
        show(loss)
    show(f"{driven} episodes driven again, {refused} not; largest deviation {worst:.3g} rad")
    return 0 if driven and worst <= TOLERANCE_RAD and not refused else 1
