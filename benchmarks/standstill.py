"""How long an arm moves on after something fails: the fault table of docs/real_arm.md.

An arm node runs as a process of its own, over DDS, and drives an emulated arm of this process:
one on loopback TCP for `kortex`, a driver's node for `trajectory` and for the forward controllers.
While a stand-in for the learner keeps it moving, something fails. What is measured is the arm
itself, not what anybody says of it: from the fault to its last motion. READY must not be said in
between.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from bayes_curiosity_interfaces.msg import ArmStatus, Status
from bayes_curiosity_ros.robot.supervision import State
from benchmarks import _faults
from benchmarks._domain import private_domain
from benchmarks._faults import Fault
from benchmarks._rigs import Rig, rigged
from support.graph import eventually
from support.waiting import wait_for

WAIT_S, SETTLE_S, WARM_UP_S = 60.0, 1.0, 1.0
DELTA_RAD, STEP_S = 0.012, 0.1
ATTEMPTS = 3
FAULTS: dict[str, Callable[[], list[Fault]]] = {
    "sim": _faults.everywhere,
    "kortex": _faults.of_kortex,
    "trajectory": _faults.of_trajectory,
    "forward_position": _faults.of_trajectory,
    "forward_velocity": _faults.of_stream,
}


class NotMovingError(Exception):
    """The arm did not move when the fault was to strike: nothing was measured."""


def drive(rig: Rig, episode: int) -> None:
    """Commands without a pause, there and back, until told to cease or something fails."""
    step = 0
    while rig.moving.is_set():
        away = DELTA_RAD if step // 20 % 2 == 0 else -DELTA_RAD
        rig.learner.act(episode, step, [away] * 6)
        step += 1
        try:
            eventually(rig.learner.states, lambda m, s=step: m.step == s, 1.0)
        except AssertionError:
            return


def last_motion(rig: Rig, since_s: float) -> float:
    """Time from `since_s` to the last change of a joint, in [s]."""
    track = [(when, joints) for when, joints in list(rig.hardware.track) if when >= since_s - 0.05]
    moved = [
        when
        for (_, before), (when, joints) in itertools.pairwise(track)
        if np.abs(np.subtract(joints, before)).max() > 1e-6
    ]
    return max(max(moved, default=since_s) - since_s, 0.0)


def ready_in_motion(rig: Rig, since_s: float) -> int:
    """Number of times that READY was said while the arm moved on."""
    return sum(
        state == ArmStatus.READY and last_motion(rig, when) > 0.02
        for when, state in rig.statuses
        if when > since_s
    )


def trial(rig: Rig, fault: Fault, episode: int) -> tuple[float, int, str, str]:
    """Time to standstill, times READY was wrong, and what the node said in the end."""
    answer = rig.learner.reset(episode, confirmed=True)
    assert answer.status.code == Status.OK, answer.status.message
    rig.moving.set()
    commands = threading.Thread(target=drive, args=(rig, episode), daemon=True)
    commands.start()
    fault.before(rig)
    time.sleep(WARM_UP_S + random.uniform(0.0, 0.2))  # in every phase of a step
    struck_s = time.monotonic()
    if not commands.is_alive() or last_motion(rig, struck_s - STEP_S) == 0.0:
        raise NotMovingError  # this machine was too busy for the commands to come in time
    fault.strike(rig)
    time.sleep(fault.lasts_s)
    fault.repair(rig)
    time.sleep(SETTLE_S)
    rig.moving.clear()
    commands.join(5.0)
    said = None
    while not rig.learner.status.empty():
        said = rig.learner.status.get()
    stopped_s, wrong = last_motion(rig, struck_s), ready_in_motion(rig, struck_s)
    state = State(said.state).name if said else "silent"
    return stopped_s, wrong, state, said.reason if said else ""


def measure(arm: str, fault: Fault, trials: int) -> dict[str, object]:
    """A row of the table."""
    rows: list[tuple[float, int, str, str]] = []
    for attempt in range(ATTEMPTS * trials):
        if len(rows) < trials:
            with suppress(NotMovingError, AssertionError), rigged(arm, fault.parameters) as rig:
                eventually(rig.learner.status, lambda m: m.state == ArmStatus.READY, WAIT_S)
                run_trials(rig, fault, trials, rows, 1 + attempt * trials)
    if not rows:
        rows.append((math.nan, 0, "not measured", "this machine was too busy to keep it moving"))
    times_s = [round(row[0], 3) for row in rows]
    return {
        "arm": arm,
        "fault": fault.name,
        "standstill_s": times_s,
        "p100_s": max(times_s),
        "bar_s": fault.bar_s,
        "ready_while_moving": sum(row[1] for row in rows),
        "state": rows[-1][2],
        "reason": rows[-1][3],
        "load": round(os.getloadavg()[0], 1),
    }


def run_trials(
    rig: Rig, fault: Fault, trials: int, rows: list[tuple[float, int, str, str]], episode: int
) -> None:
    """Until there are enough, or one if the node does not outlive the fault."""
    rows.append(trial(rig, fault, episode))
    while len(rows) < trials and not fault.ends_node:
        wait_for(lambda: rig.learner.trigger("release").success, "release", WAIT_S)
        episode += 1
        rows.append(trial(rig, fault, episode))


def table(path: Path) -> str:
    """The rows of a file as the table of docs/real_arm.md: a line per fault, a column per arm."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    lines = [f"| fault | {' | '.join(arms)} |", f"|---|{'---|' * len(arms)}"]
    for fault in dict.fromkeys(row["fault"] for row in rows):
        found = {row["arm"]: f"{row['p100_s']:.2f}" for row in rows if row["fault"] == fault}
        lines.append(f"| {fault} | {' | '.join(found.get(arm, '–') for arm in arms)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--trials", type=int, default=3, help="trials of each fault")
    parser.add_argument("--output", type=Path, help="file to append the rows to, as JSON lines")
    parser.add_argument("--table", type=Path, help="print the table of such a file, and end")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(arguments.table))
        return 0
    private_domain()
    good = True
    for arm in arguments.arms:
        for fault in FAULTS[arm]():
            if arguments.only not in fault.name:
                continue
            row = measure(arm, fault, arguments.trials)
            good &= row["p100_s"] <= fault.bar_s and not row["ready_while_moving"]
            line = json.dumps(row, ensure_ascii=False)
            print(line, flush=True)
            if arguments.output:
                with arguments.output.open("a") as file:
                    file.write(line + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
