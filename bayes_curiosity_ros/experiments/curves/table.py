"""The curves as a table: steps to reach, and how the paper's claims fared."""

from __future__ import annotations

from collections.abc import Mapping

from bayes_curiosity_ros.experiments.curves.analysis import LEVELS, Curve, Curves, of_task
from bayes_curiosity_ros.experiments.curves.claims import verdicts
from bayes_curiosity_ros.experiments.engine.tables import markdown_table, steps_text

LEGEND = """\
Successes ÷ timesteps of the {window} most recent training episodes, exploration noise included.
Final: per seed, the mean over the last tenth of training; median over seeds. All: the same over
all of training. Steps to reach 25, 50 and 75 % of the best method's final value on that task:
median (lower, upper quartile) over seeds, quartiles being values that a seed had. First success:
the same, of training steps to the end of the first successful episode.
"""


def to_markdown(by_window: Mapping[int, Curves], claims: bool = True) -> str:
    """A table for each window of episodes.

    Args:
        by_window: curves, by the number of episodes that they were judged over.
        claims: put the paper's claims to them.
    """
    sections = []
    for window, curves in by_window.items():
        sections += [_section(window, curves), *(_claims(curves) if claims else [])]
    return "\n".join(sections)


def _section(window: int, curves: Curves) -> str:
    levels = [f"steps to {level:.0%}" for level in LEVELS]
    head = ["task", "method", "final", "all", *levels, "first success", "seeds"]
    rows = []
    for task in dict.fromkeys(cell.task for cell in curves):
        mine = of_task(curves, task)
        best = max(curve.final() for curve in mine.values())
        rows += [_row(task, name, curve, best) for name, curve in mine.items()]
    title, legend = f"## Over {window} episodes\n", LEGEND.format(window=window)
    return "\n".join([title, legend, markdown_table(head, rows)])


def _row(task: str, name: str, curve: Curve, best: float) -> list[str]:
    reached = [_quartiles(curve.steps_to(level * best)) for level in LEVELS]
    values = [f"{curve.final():.4f}", f"{curve.overall():.4f}"]
    first = _quartiles(curve.first_success())
    return [task, name, *values, *reached, first, str(len(curve.runs))]


def _quartiles(values: tuple[float, float, float]) -> str:
    lower, median, upper = (steps_text(value) for value in values)
    return f"{median} ({lower}, {upper})"


def _claims(curves: Curves) -> list[str]:
    lines = [
        f"- {'holds' if verdict.holds else 'does not hold'}: {verdict.claim} ({verdict.evidence})"
        for verdict in verdicts(curves)
    ]
    return ["### Claims\n", *lines, ""] if lines else []
