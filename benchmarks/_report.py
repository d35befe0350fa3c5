"""One JSON line per figure."""

from __future__ import annotations

import json


def report(
    name: str, ours: float, peer: float, *, unit: str, higher_is_better: bool, note: str = ""
) -> float:
    """Print a figure and return its ratio; above 1, ours is better; 1 where both are 0.

    Args:
        name: what was measured, for instance "curiosity/vector/2048/rnd".
        ours: our figure.
        peer: the figure it is held against: another library's, or a floor or bound.
        unit: of both.
        higher_is_better: whether more of the unit is better.
        note: what a reader must know to judge the figure.
    """
    ratio = 1.0 if ours == peer else ours / peer if higher_is_better else peer / ours
    line = {"name": name, "ours": _short(ours), "peer": _short(peer), "ratio": _short(ratio)}
    print(json.dumps(line | {"unit": unit, "note": note}, ensure_ascii=False), flush=True)
    return ratio


def _short(value: float) -> float:
    return float(f"{value:.4g}")
