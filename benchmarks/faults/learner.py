"""Hostile messages at the learner, which needs a whole stack to hear anything."""

from __future__ import annotations

import array
import random
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from std_srvs.srv import Trigger

from bayes_curiosity_interfaces.msg import (
    Action,
    ArmState,
    ArmStatus,
    CuriosityState,
    IntrinsicReward,
)
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.nodes.background import BackgroundNode, ServiceTimeoutError
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS, LATCHED_QOS
from benchmarks.faults.hostile import broken, spoil
from benchmarks.faults.kills import reference
from benchmarks.faults.ledger import Trial
from benchmarks.faults.legitimate import legitimate_state
from benchmarks.faults.remains import remains_of
from benchmarks.faults.stack import Plan, Run
from benchmarks.faults.target import ANSWER_S

LEARNER = "learner"
EVERY = 1000  # messages between two legitimate requests
RATE = 500.0


class Eavesdropper:
    """Knows which step the learner waits for, and answers before the others do.

    Args:
        background: node of ours.
        rng: says what.
    """

    def __init__(self, background: BackgroundNode, rng: random.Random) -> None:
        node = background.node
        self._rng, self._episode, self._step = rng, 1, 0
        node.create_subscription(Action, "action", self._hear, EPISODE_QOS)
        self._publishers = {
            kind: node.create_publisher(kind, name, qos)
            for kind, name, qos in (
                (ArmState, "arm/state", EPISODE_QOS),
                (IntrinsicReward, "intrinsic_reward", EPISODE_QOS),
                (ArmStatus, "arm/status", LATCHED_QOS),
                (CuriosityState, "curiosity/state", LATCHED_QOS),
            )
        }

    def _hear(self, action: Action) -> None:
        self._episode, self._step = action.episode, action.step

    def fire(self) -> None:
        """Send one hostile message: a forged one, one with hostile values, or broken bytes."""
        kind, publisher = self._rng.choice(list(self._publishers.items()))
        message = self._message(kind)
        how = self._rng.random()
        with suppress(rclpy_implementation.RCLError, UnicodeError):
            if how < 0.4:
                publisher.publish(broken(message, self._rng))
            else:
                publisher.publish(spoil(message, self._rng) if how < 0.8 else message)

    def _message(self, kind: Any) -> Any:
        step = max(self._step + self._rng.choice((-1, 0, 1, 1, 1, 2, 1000)), 0)
        if kind is ArmState:
            state = legitimate_state(time.time(), self._episode)
            state.step = step
            state.positions = array.array("d", [0.1] * len(state.positions))
            return state
        if kind is IntrinsicReward:
            return IntrinsicReward(episode=self._episode, step=step, reward=1e3, variance=1.0)
        if kind is ArmStatus:
            return ArmStatus(state=self._rng.choice((ArmStatus.STOPPED, ArmStatus.FAULT)))
        return CuriosityState(log_determinant=1e9)


def learner_trial(prepared: Callable[[], tuple[Plan, Path]], count: int) -> Trial:
    """Fire at the learner of a stack; its rows, policy and posterior are as if nobody had."""
    plan, folder = prepared()
    wanted, sent, runs = reference(plan, folder), 0, 0
    while sent < count:
        runs += 1
        fired, outcome = _run(plan, folder / "fuzz_learner", count - sent, runs, wanted)
        sent += fired
        if outcome:
            return Trial("", "", sent, outcome, 0, f"in run {runs}")
        if not fired:
            return Trial("", "", sent, "no answer: the run was over at once", 0, f"in run {runs}")
    return Trial("", "", sent, "unharmed", 0, f"{runs} runs")


def _run(plan: Plan, output: Path, most: int, number: int, wanted: Any) -> tuple[int, str]:
    """One run under fire: messages sent, and what was wrong; empty for nothing."""
    shutil.rmtree(output, ignore_errors=True)
    log = output.with_suffix(".log")
    log.unlink(missing_ok=True)
    deadline = time.monotonic() + plan.timeout_s
    with (
        Run(plan.words(output), output, log) as run,
        BackgroundNode("stranger") as background,
    ):
        run.wait_for_steps(1, deadline)
        enemy = Eavesdropper(background, random.Random(f"learner {number}"))
        sent, problem = _fire(enemy, run, background, most)
        code = run.wait(deadline)
    if problem:
        return sent, problem
    if code != 0:
        tail = log.read_text(errors="replace").strip().splitlines()[-1:]
        return sent, f"death: exit code {code}: {' '.join(tail)[:200]}"
    try:
        differ = remains_of(output).differences(wanted)
    except (BayesCuriosityError, OSError) as error:
        differ = [f"unreadable: {error}"]
    return sent, f"state changed: {', '.join(differ)}" if differ else ""


def _fire(enemy: Eavesdropper, run: Run, background: BackgroundNode, most: int) -> tuple[int, str]:
    """Fire until enough was sent or the run is over, with a legitimate request now and then."""
    sent = 0
    while sent < most and run.code is None:
        enemy.fire()
        sent += 1
        time.sleep(1.0 / RATE)
        if sent % EVERY == 0:
            try:
                background.call(Trigger, "learner/save", Trigger.Request(), ANSWER_S)
            except ServiceTimeoutError as error:
                if run.code is None:
                    return sent, f"no answer: {error}"
    return sent, ""
