"""What docs/benchmarks.md says of the fault campaign is what its committed trials say."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.faults import soak
from benchmarks.faults.ledger import Ledger

ROOT = Path(__file__).parent.parent
LEDGER = Ledger(ROOT / "results/faults/trials.csv")
PAGE = (ROOT / "docs/benchmarks.md").read_text()


def row(part: str, words: str) -> str:
    faults = sum(trial.count for trial in LEDGER.of(part))
    return f"| `{part}` | {faults:,} | {words} |"


def share(part: str, outcome: str) -> str:
    trials = LEDGER.of(part)
    good = sum(trial.count for trial in trials if trial.outcome == outcome)
    return f"{good:,} of {sum(trial.count for trial in trials):,}"


def losses(part: str) -> str:
    """Runs whose bag lacks an episode, those left out whose recorder was disturbed."""
    trials = [trial for trial in LEDGER.of(part) if not trial.name.startswith("recorder")]
    lost = [trial for trial in trials if "lost in the bag: none" not in trial.note]
    return f"{len(lost)} of {len(trials)}"


@pytest.mark.parametrize("part", ["kill", "hang"])
def test_kills_and_hangs(part):
    words = f"{share(part, 'identical')} in runs with the rows, policy and posterior of the "
    words += f"undisturbed one; bags that lack an episode: {losses(part)} runs"
    assert row(part, words) in PAGE


def test_hostile_messages():
    assert row("fuzz", f"{share('fuzz', 'unharmed')} at nodes that were unharmed") in PAGE


def test_damaged_files():
    counts = Counter(trial.outcome.partition(":")[0] for trial in LEDGER.of("files"))
    words = f"{counts['refused']:,} refused, {counts['told']} told, {counts['identical']} read as "
    words += f"what it was, {counts['edited']} edited, {counts['silent']} silent, "
    words += f"{counts['traceback']} tracebacks"
    assert row("files", words) in PAGE


def test_disks_and_stacks():
    assert row("disk", f"{share('disk', 'refused')} refused with a line") in PAGE
    words = f"{share('stacks', 'identical')}: the first run as it is alone"
    assert row("stacks", words) in PAGE


def test_the_soak():
    grown = {trial.name: trial.outcome for trial in LEDGER.of("soak")}
    drift, left = grown.pop("all"), grown.pop("shared memory")
    words = ", ".join(f"{node} {float(growth):.2f}" for node, growth in grown.items())
    assert f"in [MB/h] after five minutes: {words}" in PAGE
    assert f"steps per processor time changed by {100 * float(drift):+.1f} %" in PAGE
    assert f"{left} files were left in shared memory" in PAGE


def test_the_soaks_growth_is_that_of_its_samples():
    with (ROOT / "results/faults/soak.csv").open() as file:
        samples = [
            soak.Sample(float(row["time_s"]), row["node"], int(row["private_kb"]), 0.0, 0)
            for row in csv.DictReader(file)
        ]
    warm = [sample for sample in samples if sample.time_s >= soak.WARM_UP_S]
    for trial in LEDGER.of("soak"):
        if mine := [sample for sample in warm if sample.node == trial.name]:
            assert trial.outcome == f"{soak.mb_per_hour(mine):.2f}"
