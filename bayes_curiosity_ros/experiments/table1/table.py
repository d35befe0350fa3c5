"""The table as Markdown: ours beside the paper's."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bayes_curiosity_ros.experiments.table1 import paper
from bayes_curiosity_ros.experiments.table1.analysis import Cell, speedup
from bayes_curiosity_ros.experiments.table1.settings import ALGORITHMS, BONUSES

Cells = Mapping[tuple[str, str, str], Cell]
MOST = 0.9
MARKS = {"": "", "never learned": " †", "not matched": " ‡"}
LEGEND = """\
Reward: per seed, the mean extrinsic return of the evaluations (no noise, no bonus) in the last
tenth of the budget; median (lower, upper quartile) over seeds. Speedup: the baseline's steps to
the best of its median curve ÷ curiosity's steps to match it; above 1, curiosity was faster.
† the baseline never learned: its whole budget stands for its steps. ‡ curiosity never matched
it: its whole budget stands for its steps. To 90 %: the same for nine tenths of the way from the
baseline's start to its best. First success: median (range) of training steps to the end of the
first successful episode, and how many seeds had one.
"""


def to_markdown(cells: Cells) -> str:
    """One table per algorithm, tasks and bonuses as rows, then how the claims fared."""
    tasks = list(dict.fromkeys(task for task, _, _ in cells))
    parts = [LEGEND]
    for algorithm in ALGORITHMS:
        lines = [
            _row(cells, task, algorithm, bonus)
            for task in tasks
            for bonus in BONUSES
            if (task, algorithm, bonus) in cells
        ]
        if lines:
            head = (
                "| task | bonus | reward | paper | speedup | paper | to 90 % | first success "
                "| seeds |"
            )
            parts.append("\n".join([f"## {algorithm}\n", head, "|---" * 9 + "|", *lines, ""]))
    parts.append(_claims(cells))
    return "\n".join(parts)


def _row(cells: Cells, task: str, algorithm: str, bonus: str) -> str:
    key = (task, algorithm, bonus)
    cell = cells[key]
    fields = [
        task,
        bonus,
        quartiles_text(cell.quartiles()),
        quartiles_text(paper.REWARD[key]) if key in paper.REWARD else "–",
        _speedup(cells, key),
        f"{paper.SPEEDUP[key]:g}" if key in paper.SPEEDUP else "–",
        _speedup(cells, key, MOST),
        _first_success(cell),
        str(len(cell.returns)),
    ]
    return "| " + " | ".join(fields) + " |"


def quartiles_text(values: tuple[float, float, float]) -> str:
    """Median (lower, upper quartile)."""
    return "{:.1f} ({:.1f}, {:.1f})".format(*values)


def _speedup(cells: Cells, key: tuple[str, str, str], share: float = 1.0) -> str:
    curious = cells.get((key[0], key[1], "curiosity"))
    if key[2] == "curiosity" or curious is None:
        return "–"
    result = speedup(cells[key], curious, share)
    return "neither learned" if result is None else f"{result.value:.2f}{MARKS[result.mark]}"


def _first_success(cell: Cell) -> str:
    median, worst = cell.median_first_success(), float(cell.first_success.max())
    found = int(sum(math.isfinite(value) for value in cell.first_success))
    steps = [thousands(value) for value in (median, float(cell.first_success.min()), worst)]
    return f"{steps[0]} ({steps[1]}–{steps[2]}), {found} of {len(cell.returns)}"


def thousands(steps: float) -> str:
    """Steps in thousands; infinitely many: never."""
    return f"{steps / 1000:.1f}k" if math.isfinite(steps) else "never"


def _claims(cells: Cells) -> str:
    """How often curiosity did as well as the paper's, and as well as no bonus."""
    pairs = [
        (key, cell, cells[key[0], key[1], "none"])
        for key, cell in cells.items()
        if key[2] == "curiosity" and (key[0], key[1], "none") in cells
    ]
    total = len(pairs)
    counts = {
        "median ≥ the paper's curiosity median": sum(
            cell.quartiles()[0] >= paper.REWARD[key][0] for key, cell, _ in pairs
        ),
        "median ≥ vanilla's": sum(c.quartiles()[0] >= v.quartiles()[0] for _, c, v in pairs),
        "speedup over vanilla > 1": sum(_faster(c, v, 1.0) for _, c, v in pairs),
        f"speedup to {MOST:.0%} of vanilla's best > 1": sum(
            _faster(c, v, MOST) for _, c, v in pairs
        ),
        "first success no later than vanilla's": sum(
            c.median_first_success() <= v.median_first_success() for _, c, v in pairs
        ),
    }
    lines = [f"- curiosity's {claim}: {count} of {total}" for claim, count in counts.items()]
    return "\n".join(["## Claims\n", *lines, ""])


def _faster(curious: Cell, vanilla: Cell, share: float) -> bool:
    ratio = speedup(vanilla, curious, share)
    return ratio is not None and ratio.value > 1
