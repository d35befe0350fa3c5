"""What the experiments' Markdown tables share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table, with a line's end after its last row."""
    lines = [_line(head), "|---" * len(head) + "|", *(_line(row) for row in rows)]
    return "\n".join([*lines, ""])


def steps_text(count: float) -> str:
    """A number of steps, in thousands where there are many; infinitely many: "never"."""
    if not math.isfinite(count):
        return "never"
    return f"{count / 1000:.1f}k" if count >= 1000 else f"{count:.0f}"


def _line(fields: Sequence[str]) -> str:
    return "| " + " | ".join(fields) + " |"
