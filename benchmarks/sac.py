"""SAC against Stable-Baselines3's: updates per second, of the same networks and minibatch.

Both learn from a buffer of random transitions of the arm's size, minibatches of 256, one update of
critics, policy and temperature each, one thread, in turns. `default` has their default networks
(two critics and a policy of 256 × 256), `ensemble` ours (six critics and a policy of 128 × 128).
Theirs has no normalised layers, so that these are left out of ours; `normalised` has them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.bonus import NoBonus
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.sac import Sac, SacConfig
from benchmarks._peers import PeerProcess
from benchmarks._report import report

SPEED_BAR = 1.5
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


def main() -> int:
    """Print the figures; 1 if one misses its bar."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=200)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with PeerProcess("trpo", "benchmarks._sb3_sac") as peer:
        ratios = [compare(peer, name, arguments.updates, arguments.turns) for name in SIZES]
    return 0 if min(ratios) >= SPEED_BAR else 1


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


if __name__ == "__main__":
    sys.exit(main())
