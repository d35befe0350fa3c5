"""Event files, read back by TensorBoard's own reader."""

from __future__ import annotations

from pathlib import Path

import pytest


def events_of(folder: Path):
    """All events of a run; the test is skipped where TensorBoard is not installed."""
    package = "tensorboard.backend.event_processing.event_accumulator"
    accumulator = pytest.importorskip(package)
    events = accumulator.EventAccumulator(str(folder), {accumulator.IMAGES: 0})
    return events.Reload()


def numbers_of(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Steps and values by name."""
    events = events_of(folder)
    names = events.Tags()["scalars"]
    return {name: [(each.step, each.value) for each in events.Scalars(name)] for name in names}
