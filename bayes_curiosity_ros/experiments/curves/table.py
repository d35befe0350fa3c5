"""The curves as a table: steps to reach, and how the paper's claims fared."""

from __future__ import annotations

from collections.abc import Mapping

from bayes_curiosity_ros.experiments.curves.analysis import LEVELS, Curve, Curves
from bayes_curiosity_ros.experiments.curves.claims import steps, verdicts

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
    levels = " | ".join(f"steps to {level:.0%}" for level in LEVELS)
    head = f"| task | bonus | final | all | {levels} | first success | seeds |"
    lines = []
    for task in dict.fromkeys(task for task, _ in curves):
        row = {name: curve for (t, name), curve in curves.items() if t == task}
        best = max(curve.final() for curve in row.values())
        lines += [_line(task, name, curve, best) for name, curve in row.items()]
    table = [head, "|---" * (len(LEVELS) + 6) + "|", *lines, ""]
    title = f"## Over {window} episodes\n"
    return "\n".join([title, LEGEND.format(window=window), *table])


def _line(task: str, name: str, curve: Curve, best: float) -> str:
    reached = [_quartiles(curve.steps_to(level * best)) for level in LEVELS]
    values = [f"{curve.final():.4f}", f"{curve.overall():.4f}"]
    fields = [task, name, *values, *reached, _quartiles(curve.first_success())]
    return "| " + " | ".join([*fields, str(len(curve.runs))]) + " |"


def _quartiles(values: tuple[float, float, float]) -> str:
    lower, median, upper = (steps(value) for value in values)
    return f"{median} ({lower}, {upper})"


def _claims(curves: Curves) -> list[str]:
    lines = [
        f"- {'holds' if verdict.holds else 'does not hold'}: {verdict.claim} ({verdict.evidence})"
        for verdict in verdicts(curves)
    ]
    return ["### Claims\n", *lines, ""] if lines else []
