"""`bayes-curiosity score --bag BAG`: how new every recorded observation was."""

from __future__ import annotations

import argparse
import csv
import itertools
from pathlib import Path

import numpy as np
import torch

from bayes_curiosity_ros.bags.episode import Episode, read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.posterior import (
    RecordedStates,
    curiosity_for,
    recorded_states,
    score_episodes,
)
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, Scores
from bayes_curiosity_ros.curiosity.model_file import SavedModel, save_model
from bayes_curiosity_ros.spans import Spans

COLUMNS = (
    "episode", "step", "variance", "curiosity", "reward", "recorded_reward", "outcome",
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--bag", required=True, help="a bag's folder, or one of its files")
    parser.add_argument(
        "--model", type=Path, default=None, help="model file; the node's random encoder if absent"
    )
    parser.add_argument("--namespace", default="", help="of the recorded graph")
    parser.add_argument("--output", type=Path, default=Path("output/score"), help="folder")


def run(arguments: argparse.Namespace) -> int:
    """Score, write CSV, plot and a model of the rebuilt posterior, compare with the recorded."""
    torch.set_num_threads(1)  # as the node has: with more, sums round otherwise
    states = recorded_states(BagReader(arguments.bag))
    reader = BagReader(arguments.bag)
    episodes = (e for e in read_episodes(reader, arguments.namespace) if e.vectors.shape[1])
    first = next(episodes, None)
    if first is None:
        raise BagError(f"{arguments.bag} has no observations to score")
    curiosity = curiosity_for(states, first, arguments.model)
    arguments.output.mkdir(parents=True, exist_ok=True)
    scored = list(score_episodes(curiosity, itertools.chain([first], episodes)))
    write_csv(arguments.output / "scores.csv", scored)
    draw(arguments.output / "scores.png", scored)
    ids = Spans(episode.id for episode, _ in scored if episode.learnt_from)
    model = SavedModel(curiosity, trained=arguments.model is not None, episodes=ids)
    save_model(arguments.output / "model.safetensors", model)
    for line in (*reader.losses, *comparison(scored, curiosity, states)):
        print(line)
    print(f"wrote scores.csv, scores.png and model.safetensors to {arguments.output}")
    return 0


def write_csv(path: Path, scored: list[tuple[Episode, Scores]]) -> None:
    """A row per observation."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for episode, scores in scored:
            for row, step in enumerate(episode.steps):
                writer.writerow(
                    [
                        episode.id,
                        step,
                        *(repr(float(v[row])) for v in vars(scores).values()),
                        repr(float(episode.reward[row])),
                        episode.outcome,
                    ]
                )


def draw(path: Path, scored: list[tuple[Episode, Scores]]) -> None:
    """Curiosity over the steps of each episode, later episodes darker."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
    shades = plt.get_cmap("viridis_r")(np.linspace(0.05, 1.0, len(scored)))
    for (episode, scores), shade in zip(scored, shades, strict=True):
        axis.plot(episode.steps, scores.curiosity, color=shade, lw=1.0)
    ids = [episode.id for episode, _ in scored]
    scale = ScalarMappable(Normalize(min(ids), max(ids)), "viridis_r")
    figure.colorbar(scale, ax=axis, label="episode")
    axis.set(xlabel="step", ylabel="curiosity c = log σ² [nats]")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def comparison(
    scored: list[tuple[Episode, Scores]], curiosity: Curiosity, states: RecordedStates
) -> list[str]:
    """Rewards and posterior against the recorded ones, in words."""
    rows = sum(len(episode) for episode, _ in scored)
    recorded = sum(int(np.isfinite(episode.reward).sum()) for episode, _ in scored)
    equal = sum(int((episode.reward == scores.reward).sum()) for episode, scores in scored)
    lines = [
        f"{rows} observations of {len(scored)} episodes; {equal} of {recorded} recorded rewards "
        "equal bit for bit"
    ]
    count, ours = curiosity.regression.count, curiosity.regression.log_determinant
    theirs = states.log_determinants.get(count)
    if theirs is None:
        lines.append(f"posterior of {count} observations; the bag has no state to compare with")
    elif theirs == ours:
        lines.append(f"posterior of {count} observations: the recorded one, bit for bit")
    else:
        lines.append(
            f"posterior of {count} observations: log-determinant {ours!r}, recorded {theirs!r}"
        )
    return lines
