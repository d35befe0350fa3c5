"""`bayes-curiosity embed --bag BAG …`: Algorithm 1 from recorded demonstrations."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.embedding import (
    EmbeddingConfig,
    EmbeddingTrainer,
    train_embedding,
)
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, save_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    defaults = EmbeddingConfig()
    parser.add_argument("--bag", required=True, nargs="+", help="bags of the same task")
    parser.add_argument(
        "--output", type=Path, default=Path("output/embedding.safetensors"), help="model file"
    )
    parser.add_argument("--seed", type=int, default=0, help="of weights, split and minibatches")
    parser.add_argument(
        "--max-epochs", type=int, default=defaults.max_epochs, help="it stops when converged"
    )
    parser.add_argument(
        "--latent-size", type=int, default=EncoderConfig(1).latent_size, help="features learnt"
    )
    parser.add_argument("--namespace", default="", help="of the recorded graph")
    parser.add_argument("--successes-only", action="store_true", help="leave other episodes out")


def run(arguments: argparse.Namespace) -> int:
    """Gather pairs, train, save."""
    observations, actions = gather(
        arguments.bag, arguments.namespace, arguments.successes_only, show=print
    )
    images = None if observations.images is None else observations.images.shape[1:]
    config = EncoderConfig(
        vector_size=observations.vectors.shape[1],
        image_shape=images,
        image_trunk="keypoints",
        latent_size=arguments.latent_size,
    )
    encoder = Encoder(config, torch.Generator().manual_seed(arguments.seed))
    trainer = EmbeddingTrainer(
        encoder,
        observations,
        actions,
        EmbeddingConfig(max_epochs=arguments.max_epochs),
        seed=arguments.seed,
    )
    train_embedding(trainer)
    save_model(arguments.output, SavedModel(Curiosity(encoder)))
    print(
        f"{len(actions)} pairs: held-out negative log-likelihood {trainer.losses[0]:.2f} → "
        f"{trainer.best_loss:.2f} nats in {trainer.epoch} epochs; wrote {arguments.output}"
    )
    return 0


def gather(
    bags: Sequence[str], namespace: str = "", successes_only: bool = False, show: object = None
) -> tuple[Observations, np.ndarray]:
    """All pairs of observation and action of these bags.

    Raises:
        BagError: there are none, or the bags are of different tasks.
    """
    parts: list[Observations] = []
    actions: list[np.ndarray] = []
    tasks: dict[str, str] = {}
    for bag in bags:
        reader = BagReader(bag)
        for episode in read_episodes(reader, namespace):
            if successes_only and episode.outcome != "success":
                continue
            seen, done = episode.pairs()
            if len(done):
                parts.append(seen)
                actions.append(done)
        for loss in reader.losses:
            if callable(show):
                show(f"{bag}: {loss}")
        tasks.setdefault(reader.about.get("task", ""), bag)
        if len(tasks) > 1:
            (first, one), (second, other) = list(tasks.items())[:2]
            raise BagError(f"{one} is of task {first!r}, {other} of {second!r}; give bags of one")
    if not parts:
        raise BagError(f"{', '.join(map(str, bags))}: no observation with an action to learn from")
    widths = {
        (part.vectors.shape[1], done.shape[1]) for part, done in zip(parts, actions, strict=True)
    }
    if len(widths) > 1:
        raise BagError(f"observations and actions differ in size between episodes: {widths}")
    joined = np.concatenate(actions)
    if (joined[:, -1] == joined[0, -1]).all():
        joined = joined[:, :-1]  # a gripper that never moved predicts nothing
    return Observations.concatenate(parts), joined
