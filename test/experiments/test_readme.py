"""What the README says of who finds the goal, recomputed from the committed rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.experiments.engine.successes import Successes
from bayes_curiosity_ros.experiments.exploration.table import successes_of
from bayes_curiosity_ros.experiments.memory.analysis import evaluations_of
from support.experiments import RESULTS, ROOT


class Claim(NamedTuple):
    """A line of the README's table.

    Attributes:
        words: its first column.
        folder: of the rows, in results/.
        cells: method of each further column; "" for none.
        task: what was learnt,
        learner: and what learnt it.
    """

    words: str
    folder: str
    cells: tuple[str, ...]
    task: str
    learner: str = "trpo"


BONUSES = ("curiosity", "none", "placebo", "e3b", "rnd")
CLAIMS = [
    Claim("parked aside by 1.0 rad, TRPO, 200k steps", "exploration", BONUSES, "parked_reach"),
    Claim("by 1.5 rad, 400k steps", "exploration", BONUSES, "parked_reach_far"),
    Claim(
        "by 1.0 rad, seen by camera, 100k steps",
        "exploration",
        (*BONUSES[:4], ""),
        "visual_parked_reach",
    ),
    Claim(
        "by 1.0 rad, SAC, nothing demonstrated, 15k steps",
        "memory/few",
        ("curiosity_0", "none_0", "placebo_0", "", ""),
        "parked_reach",
        "sac",
    ),
    Claim(
        "by 1.0 rad, SAC, 100 demonstrated episodes, 14k steps",
        "memory",
        ("curiosity", "none", "placebo", "", ""),
        "parked_reach",
        "sac",
    ),
]


def cells_in(claim: Claim) -> Mapping[Cell, Successes]:
    """Success at the end is of training episodes, or, of SAC, of episodes without noise."""
    rows = all_rows(RESULTS / claim.folder)
    return evaluations_of(rows) if claim.learner == "sac" else successes_of(rows)


def line_of(claim: Claim) -> str:
    """The line as it should be."""
    found = cells_in(claim)
    shown = []
    for method in claim.cells:
        runs = found[Cell(claim.task, claim.learner, method)] if method else None
        shown.append("–" if runs is None else f"{runs.interval()}, {len(runs)}")
    return f"| {claim.words} | {' | '.join(shown)} |"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.words)
def test_the_readme_says_what_the_rows_say(claim):
    assert line_of(claim) in (ROOT / "README.md").read_text().splitlines()


def test_the_readme_says_what_make_run_gave():
    verdict = (RESULTS / "explore" / "verdict.txt").read_text()
    ends = re.search(r"curiosity .*\[ *([\d.]+)%, *([\d.]+)%\] +(\d+) of (\d+)", verdict)
    assert ends is not None
    lower, upper, successes, episodes = map(float, ends.groups())
    said = f"{100 * successes / episodes:.0f} % [{lower:.0f}, {upper:.0f}] of the last episodes"
    assert said in " ".join((ROOT / "README.md").read_text().split())
