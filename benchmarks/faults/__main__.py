"""The fault campaign, before every release: `make faults`.

Nodes are killed and hung, every input is fuzzed, every kind of file damaged, disks are full, two
stacks share a domain, and a stack soaks. One JSON line per figure; trials are kept in OUTPUT, so
that a campaign that was stopped goes on.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks._domain import private_domain
from benchmarks.faults import files, fuzz, kills, soak, surroundings
from benchmarks.faults.learner import LEARNER
from benchmarks.faults.ledger import Ledger
from benchmarks.faults.loaders import KINDS
from benchmarks.faults.stack import Plan, make_plan
from benchmarks.faults.targets import TARGETS


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts")
    parser.add_argument("--output", type=Path, default=Path("output/faults"), help="folder")
    parser.add_argument("--restart", action="store_true", help="forget the trials in OUTPUT")
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    parser.add_argument("--nodes", nargs="+", default=[], help="nodes to disturb; all if absent")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS, help="of files")
    parser.add_argument("--kills", type=int, default=20, help="kills of each node")
    parser.add_argument("--hangs", type=int, default=5, help="hangs of each node")
    parser.add_argument("--hang-s", type=float, default=8.0, help="length of a hang in [s]")
    parser.add_argument("--steps", type=int, default=3000, help="control steps of a run")
    parser.add_argument("--messages", type=int, default=20_000, help="hostile ones for each node")
    parser.add_argument("--damages", type=int, default=200, help="damages of each kind of file")
    parser.add_argument("--soak-minutes", type=float, default=0.0, help="length of the soak")
    return parser


def _plan(chosen: argparse.Namespace) -> tuple[Plan, Path]:
    """What every run is, and the folder of the runs."""
    folder = chosen.output.resolve() / "runs"
    return make_plan(folder, chosen.steps), folder


def _kill(chosen: argparse.Namespace, ledger: Ledger) -> None:
    _disturb(chosen, ledger, kills.killing(), chosen.kills)


def _hang(chosen: argparse.Namespace, ledger: Ledger) -> None:
    _disturb(chosen, ledger, kills.hanging(chosen.hang_s), chosen.hangs)


def _disturb(
    chosen: argparse.Namespace, ledger: Ledger, disturbance: kills.Disturbance, each: int
) -> None:
    plan, folder = _plan(chosen)
    nodes = [node for node in kills.NODES if node in (chosen.nodes or kills.NODES)]
    kills.campaign(ledger, plan, folder, disturbance, each, nodes)


def _fuzz(chosen: argparse.Namespace, ledger: Ledger) -> None:
    names = [*TARGETS, LEARNER]
    nodes = [name for name in names if name in (chosen.nodes or names)]
    plan = partial(_plan, chosen)
    fuzz.campaign(ledger, chosen.output.resolve(), chosen.messages, nodes, plan)


def _files(chosen: argparse.Namespace, ledger: Ledger) -> None:
    files.campaign(ledger, chosen.output, chosen.damages, chosen.kinds)


def _disk(chosen: argparse.Namespace, ledger: Ledger) -> None:
    surroundings.disks(ledger, *_plan(chosen))


def _stacks(chosen: argparse.Namespace, ledger: Ledger) -> None:
    surroundings.stacks(ledger, *_plan(chosen))


def _soak(chosen: argparse.Namespace, ledger: Ledger) -> None:
    if chosen.soak_minutes > 0:
        soak.campaign(ledger, chosen.output.resolve(), chosen.soak_minutes)


PARTS: dict[str, Callable[[argparse.Namespace, Ledger], None]] = {
    "files": _files,
    "fuzz": _fuzz,
    "kill": _kill,
    "hang": _hang,
    "disk": _disk,
    "stacks": _stacks,
    "soak": _soak,
}


def main() -> int:
    """Make the trials that are missing, part by part."""
    chosen = options().parse_args()
    if chosen.restart:
        shutil.rmtree(chosen.output, ignore_errors=True)
    private_domain()
    ledger = Ledger(chosen.output / "trials.csv", chosen.quiet)
    try:
        for part in chosen.only:
            PARTS[part](chosen, ledger)
    except KeyboardInterrupt:
        print("stopped; the same command goes on from here", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
