"""SAC: its speed, the steps that it needs, and how late actions are while it learns.

- `speed`: updates per second against Stable-Baselines3's, of the same networks and minibatch. Both
  learn from a buffer of random transitions of the arm's size, minibatches of 256, one update of
  critics, policy and temperature each, one thread, in turns. `default` has their default networks
  (two critics and a policy of 256 × 256), `ensemble` ours (six critics and a policy of 128 × 128).
  Theirs has no normalised layers, so that these are left out of ours; `normalised` has them.
- `steps`: control steps until 80 % of the episodes succeed without noise, on reach and grasp, from
  the same demonstrated episodes (median over seeds; one that never gets there counts with the
  budget). It takes an hour and more: `--tasks`, `--seeds`.
- `corrections`: success at the end of a run over ROS that begins with a bag of a person who took
  over twenty times, against the same run without.
- `delay`: from when a state was published to when the action at it was, with an emulated arm at
  its own ten steps a second, while updates run in a thread; 10,000 steps take 40 minutes. Also
  less the time in which the machine itself stood still, which is judged: the host of a virtual
  one holds up whatever runs there.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import torch

from bayes_curiosity_ros.configuration.ranges import parse_ranges
from bayes_curiosity_ros.curiosity.bonus import NoBonus
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.sac import Sac, SacConfig
from benchmarks._peers import PeerProcess
from benchmarks._report import report

SPEED_BAR, DELAY_BAR_MS = 1.5, 5.0
CONTROL_HZ = 10.0
CORRECTIONS = 20  # episodes that a person drives
OBSERVATION_SIZE, ACTION_SIZE, MINIBATCH = 9, 6, 256
TRANSITIONS = 5000
SIZES: dict[str, dict[str, Any]] = {
    "default": {"hidden": (256, 256), "critics": 2},
    "ensemble": {"hidden": (128, 128), "critics": 6},
}
FIGURES = {"updates_per_s": "updates/s", "updates_per_cpu_s": "updates/CPU s"}


def transitions(count: int) -> Episodes:
    """Random episodes of one step each."""
    rng = np.random.default_rng(0)
    return Episodes(
        rng.standard_normal((count, 2, OBSERVATION_SIZE)),
        rng.uniform(-1, 1, (count, 1, ACTION_SIZE)),
        rng.random((count, 1)),
        np.ones(count, dtype=np.int64),
        np.zeros(count, dtype=bool),
        np.zeros(count, dtype=bool),
    )


def speed(updates: int, **size: Any) -> dict[str, float]:
    """Updates per second of ours, by clock and by CPU."""
    config = SacConfig(
        minibatch=MINIBATCH, warmup_steps=0, updates_per_step=updates, policy_delay=1, **size
    )
    center, scale = np.zeros(OBSERVATION_SIZE), np.ones(OBSERVATION_SIZE)
    sac = Sac(center, scale, ACTION_SIZE, config, np.random.default_rng(0))
    sac.buffer.add(transitions(TRANSITIONS))
    sac.update(transitions(1), NoBonus())  # to warm up
    began, began_cpu = time.perf_counter(), time.process_time()
    sac.update(transitions(1), NoBonus())
    seconds, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    return {"updates_per_s": updates / seconds, "updates_per_cpu_s": updates / cpu}


def request(updates: int, size: dict[str, Any]) -> dict[str, Any]:
    """The same in the peer's words."""
    return {
        "observation_size": OBSERVATION_SIZE,
        "action_size": ACTION_SIZE,
        "minibatch": MINIBATCH,
        "transitions": TRANSITIONS,
        "updates": updates,
        **size,
    }


def compare(peer: PeerProcess, name: str, updates: int, turns: int) -> float:
    """Report the best turn of each side, the least disturbed one; the ratio by CPU time."""
    size, ours, theirs, normalised = SIZES[name], [], [], []
    for _ in range(turns):
        ours.append(speed(updates, layer_norm=False, **size))
        theirs.append(peer.ask(request(updates, size)))
        normalised.append(speed(updates, layer_norm=True, **size))
    ratio = 0.0
    for figure, unit in FIGURES.items():
        for runs, ending in ((normalised, f"_{name}_normalised"), (ours, f"_{name}")):
            ratio = report(
                f"sac/{figure}{'' if ending == '_default' else ending}/sb3",
                max(run[figure] for run in runs),
                max(run[figure] for run in theirs),
                unit=unit,
                higher_is_better=True,
                note=f"{updates} updates, best of {turns} turns, {size}",
            )
    return ratio


def speeds(arguments: argparse.Namespace) -> bool:
    """Print `sac/updates_per_s…`; whether all are at their bar."""
    with PeerProcess("trpo", "benchmarks._sb3_sac") as peer:
        ratios = [compare(peer, name, arguments.updates, arguments.turns) for name in SIZES]
    return min(ratios) >= SPEED_BAR


def steps(arguments: argparse.Namespace) -> bool:
    """Print `sac/steps_to_80/…`; whether ours needs no more steps."""
    from benchmarks import _steps_to

    seeds, ratios = parse_ranges(arguments.seeds, "--seeds"), []
    with tempfile.TemporaryDirectory() as folder:
        for task in arguments.tasks:
            ground = _steps_to.ground_of(task, Path(folder), arguments.budget)
            found = np.array(
                [[_steps_to.ours(ground, s), _steps_to.theirs(ground, s)] for s in seeds]
            )
            budget = float(ground.cell.timesteps)
            mine, peer = np.median(np.minimum(found, budget), axis=0)
            reached = np.isfinite(found).sum(0)
            ratios.append(
                report(
                    f"sac/steps_to_80/{task}/sb3",
                    mine,
                    peer,
                    unit="control steps",
                    higher_is_better=False,
                    note=f"reached by {reached[0]} and {reached[1]} of {len(seeds)} seeds within "
                    f"{budget:.0f}; {mine / CONTROL_HZ / 60:.0f} and "
                    f"{peer / CONTROL_HZ / 60:.0f} minutes of a real arm",
                )
            )
    return min(ratios) >= 1.0


def corrections(arguments: argparse.Namespace) -> bool:
    """Print `sac/corrections/without`; whether they help, by intervals that do not meet."""
    from bayes_curiosity_ros.learning.intervals import at_the_end
    from benchmarks._corrections import with_and_without
    from benchmarks._domain import private_domain

    private_domain()
    with tempfile.TemporaryDirectory() as folder:
        found = with_and_without(Path(folder), CORRECTIONS, arguments.corrected_steps, 0)
    learnt, bare = (at_the_end(rows).interval for rows in found)
    ratio = report(
        "sac/corrections/without",
        learnt.lower,
        bare.upper,
        unit="success in the last tenth of the episodes",
        higher_is_better=True,
        note=f"the ends of the intervals that face each other: {learnt} with {CORRECTIONS} "
        f"episodes that a person drove, {bare} without, {arguments.corrected_steps} steps",
    )
    return ratio > 1.0


def delays(arguments: argparse.Namespace) -> bool:
    """Print `sac/action_delay…_p100_ms`; whether it is at its bar, stalls left out."""
    from benchmarks._delays import watch
    from benchmarks._domain import private_domain

    private_domain()
    priority = arguments.real_time_priority
    changes = {} if priority is None else {"real_time_priority": priority}
    with tempfile.TemporaryDirectory() as folder:
        seen = watch(arguments.delay_steps, Path(folder), changes)
    ratios = []
    for name, delays_ms in (("", seen.delays_ms), ("_besides_stalls", seen.ours_ms)):
        found = np.array(list(delays_ms.values()))
        episode, step = max(delays_ms, key=delays_ms.__getitem__)
        ratios.append(
            report(
                f"sac/action_delay{name}_p100_ms",
                float(found.max()),
                DELAY_BAR_MS,
                unit="ms",
                higher_is_better=False,
                note=f"{len(found)} actions, median {np.median(found):.2f} ms, p99 "
                f"{np.percentile(found, 99):.2f} ms; {(found > DELAY_BAR_MS).sum()} above the "
                f"bar, the latest at step {step} of episode {episode}; the machine itself stood "
                f"still {seen.stalls} times, for up to {seen.longest_ms:.1f} ms; the arm was "
                f"released {seen.releases} times; peer: the bar",
            )
        )
    return ratios[1] >= 1.0


PARTS: dict[str, Callable[[argparse.Namespace], bool]] = {
    "speed": speeds,
    "steps": steps,
    "corrections": corrections,
    "delay": delays,
}


def main() -> int:
    """Print the figures; 1 if one misses its bar."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=["speed"], help="parts")
    parser.add_argument("--updates", type=int, default=200, help="of a turn of speed")
    parser.add_argument("--turns", type=int, default=5, help="of speed, each side")
    parser.add_argument("--tasks", nargs="+", default=["reach", "grasp"], help="of steps")
    parser.add_argument("--seeds", default="0-2", help="of steps")
    parser.add_argument("--budget", type=int, help="control steps of a run of steps, at most")
    parser.add_argument("--corrected-steps", type=int, default=8000, help="of corrections")
    parser.add_argument("--delay-steps", type=int, default=10_000, help="control steps of delay")
    parser.add_argument(
        "--real-time-priority",
        type=int,
        help="of delay, in place of that of real arms; 0 for none",
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    met = [PARTS[part](arguments) for part in arguments.only]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
