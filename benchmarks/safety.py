"""Random commands through the safety filter, on moving arms: how many broke a limit?

    python -m benchmarks.safety [--commands 100000] [--arms 256] [--seed 0]

Each arm is pushed somewhere for a while, then elsewhere: into the table, into itself, into its
joint limits, out of the workspace; some commands are not even numbers. What the arms *did* is
checked at every physics step, against the limits themselves and not the filter's margins.
Prints one JSON line; the exit code is 1 if anything was violated.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from tqdm import tqdm

from bayes_curiosity_ros.robot.clearance import PoseChecker
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.robot.decisions import REFUSALS, Change
from bayes_curiosity_ros.robot.safety import SafetyFilter
from bayes_curiosity_ros.robot.stepper import Stepper
from bayes_curiosity_ros.robot.world import build_world

PUSH_STEPS = 15
BAD_SHARE = 0.01
TOLERANCE = 1e-9


@dataclass
class Tally:
    """What happened."""

    commands: int = 0
    changed: dict[str, int] = field(default_factory=dict)
    violations: dict[str, int] = field(default_factory=dict)
    top_speed: float = 0.0  # as a share of the joint's limit

    def change(self, flags: np.ndarray) -> None:
        for flag in Change:
            count = int(((flags & flag) != 0).sum())
            self.changed[str(flag.name)] = self.changed.get(str(flag.name), 0) + count

    def violation(self, name: str, broken: np.ndarray) -> None:
        self.violations[name] = self.violations.get(name, 0) + int(broken.sum())


class Arms:
    """Many arms, each behind the filter."""

    def __init__(self, robot: RobotConfig, count: int, rng: np.random.Generator) -> None:
        self.robot, self.rng = robot, rng
        self.stepper = Stepper(build_world(robot))
        self.filter = SafetyFilter(robot, threads=0)
        self.bare = PoseChecker(robot, clearance_m=0.0, threads=0)
        ready = np.tile(robot.arm.ready_rad, (count, 1))
        spot = [*robot.safety.workspace_upper_m[:2], robot.world.object.height_m / 2]
        self.rows = self.stepper.initial(ready, np.tile(spot, (count, 1)))
        self.velocities = np.zeros_like(ready)
        self.push = np.zeros_like(ready)
        self.grips = np.zeros(count)

    def requests(self, base: np.ndarray) -> np.ndarray:
        """Joint targets: a lasting push, noise, sometimes far too much, sometimes no number."""
        rng, world = self.rng, self.stepper.world
        renew = rng.random(len(base)) < 1.0 / PUSH_STEPS
        self.push[renew] = rng.uniform(-2, 2, (int(renew.sum()), base.shape[1]))
        noise = 0.5 * rng.standard_normal(base.shape)
        scale = np.where(rng.random((len(base), 1)) < 0.05, 1e3, 1.0)
        wanted = base + (self.push + noise) * scale * world.max_delta_rad
        bad = rng.random(len(base)) < BAD_SHARE
        wanted[bad, rng.integers(base.shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
        return wanted

    def step(self, tally: Tally) -> None:
        layout = self.stepper.layout
        base = self.stepper.base_targets(self.rows)
        fingers = self.rows[:, layout.grip]
        renew = self.rng.random(len(base)) < 1.0 / PUSH_STEPS
        self.grips[renew] = self.rng.random(int(renew.sum()))
        targets, flags = self.filter.permit_batch(
            base,
            self.velocities,
            self.requests(base),
            fingers,
            self.stepper.fingers_after(self.rows, self.grips),
        )
        refused = (flags & REFUSALS) != 0
        grips = np.where(refused, self._hold(fingers), self.grips)
        before, self.velocities = self.velocities, (targets - base) / self._dt
        self.rows, seen = self.stepper.trace(self.rows, targets - base, grips, "qpos", "qvel")
        tally.commands += len(base)
        tally.change(flags)
        self._judge(tally, seen, self.velocities - before)

    def _hold(self, fingers: np.ndarray) -> np.ndarray:
        """The gripper commands that keep the fingers where they are."""
        gripper = self.robot.arm.gripper
        if gripper is None:
            return np.zeros(len(fingers))
        return (fingers - gripper.open_rad) / gripper.travel_rad

    @property
    def _dt(self) -> float:
        return self.robot.world.control_step_s

    def _judge(self, tally: Tally, seen: dict[str, np.ndarray], change: np.ndarray) -> None:
        world, layout = self.stepper.world, self.stepper.layout
        joints = seen["qpos"][..., world.joint_qpos]
        speeds = np.abs(seen["qvel"][..., world.joint_dof])
        outside = (joints < world.lower_rad) | (joints > world.upper_rad)
        tally.top_speed = max(tally.top_speed, float((speeds / world.max_velocity_rad_s).max()))
        tally.violation("joint limit", outside.any(axis=(1, 2)))
        tally.violation("velocity", (speeds > world.max_velocity_rad_s).any(axis=(1, 2)))
        most = np.max(self.robot.safety.max_acceleration_rad_s2) * self._dt + TOLERANCE
        tally.violation("acceleration (commanded)", (np.abs(change) > most).any(axis=1))
        tally.violation("self-collision", layout.touching(self.rows, "self"))
        tally.violation("scene collision", layout.touching(self.rows, "scene"))
        poses = self.bare.check(layout.joints(self.rows), self.rows[:, layout.grip])
        tally.violation("table or workspace", poses != 0)


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--robot", default="jaco.yaml", help="file in config/robots/, or a path")
    parser.add_argument("--commands", type=int, default=100_000)
    parser.add_argument("--arms", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    arms, tally = Arms(RobotConfig.load(arguments.robot), arguments.arms, rng), Tally()
    steps = -(-arguments.commands // arguments.arms)
    with suppress(KeyboardInterrupt):  # what was found so far is worth reporting
        for _ in tqdm(range(steps), unit="step", mininterval=5):
            arms.step(tally)
    broken = sum(tally.violations.values())
    line = {"name": "safety/violations", "ours": broken, "commands": tally.commands}
    line |= {"top_speed_of_limit": round(tally.top_speed, 3)}
    print(json.dumps(line | {"violations": tally.violations, "changed": tally.changed}))
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
