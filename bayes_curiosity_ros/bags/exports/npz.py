"""Episodes as NPZ files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from bayes_curiosity_ros.bags.episode import Episode
from bayes_curiosity_ros.bags.exports.arrays import arrays_of
from bayes_curiosity_ros.bags.exports.registry import EXPORTS, Exported, ExportSource


@EXPORTS.register("npz", output="folder with an NPZ file per episode")
def export_npz(folder: Path, source: ExportSource) -> Exported:
    """Write one file per episode, its arrays by name and its description as `about`."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for episode in source.episodes:
        count += 1
        about = np.array(json.dumps({**source.about, **_description(episode)}))
        arrays: dict[str, Any] = arrays_of(episode)
        np.savez_compressed(folder / f"episode_{episode.id:06d}.npz", about=about, **arrays)
    return Exported(folder, count)


def _description(episode: Episode) -> dict[str, Any]:
    """What an episode is besides its arrays."""
    return {
        "episode": episode.id,
        "outcome": episode.outcome,
        "extrinsic_return": episode.extrinsic_return,
        "faults": list(episode.faults),
    }
