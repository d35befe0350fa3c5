"""`bayes-curiosity embed --bag BAG …`: Algorithm 1 from recorded demonstrations."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.configuration.ranges import SEED, whole
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.embedding import EmbeddingConfig
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, save_model
from bayes_curiosity_ros.learning.preparation import train_encoder

Pairs = tuple[Observations, np.ndarray]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--bag", required=True, nargs="+", help="bags of the same task")
    parser.add_argument(
        "--output", type=Path, default=Path("output/model.safetensors"), help="model file"
    )
    parser.add_argument("--seed", type=SEED, default=0, help="of weights, split and minibatches")
    parser.add_argument(
        "--embedding-epochs",
        "--max-epochs",
        type=whole("--embedding-epochs", 1),
        default=EmbeddingConfig().max_epochs,
        help="of Algorithm 1, at most; it stops when converged",
    )
    parser.add_argument(
        "--latent-size",
        type=whole("--latent-size", 1),
        default=EncoderConfig(1).latent_size,
        help="features learnt",
    )
    parser.add_argument("--namespace", default="", help="of the recorded graph")
    parser.add_argument("--successes-only", action="store_true", help="leave other episodes out")


def run(arguments: argparse.Namespace) -> int:
    """Gather pairs, train an encoder on them, save it as a model."""
    observations, actions = gather(
        arguments.bag, arguments.namespace, arguments.successes_only, tell=print
    )
    config = EncoderConfig(
        vector_size=observations.vectors.shape[1],
        image_shape=None if observations.images is None else observations.images.shape[1:],
        image_trunk="keypoints",
        latent_size=arguments.latent_size,
    )
    encoder, summary = train_encoder(
        Encoder(config, torch.Generator().manual_seed(arguments.seed)),
        observations,
        actions,
        EmbeddingConfig(max_epochs=arguments.embedding_epochs),
        arguments.seed,
    )
    save_model(arguments.output, SavedModel(Curiosity(encoder)))
    print(f"{len(actions)} pairs: {summary}; wrote {arguments.output}")
    return 0


def gather(
    bags: Sequence[str],
    namespace: str = "",
    successes_only: bool = False,
    tell: Callable[[str], object] = lambda line: None,
) -> Pairs:
    """All pairs of observation and action of these bags.

    Args:
        bags: folders of bags, or files.
        namespace: namespace of the recorded graph.
        successes_only: leave out episodes that did not succeed.
        tell: told a line per thing that could not be read.

    Raises:
        BagError: there are none, or the bags are of different tasks.
    """
    pairs: list[Pairs] = []
    tasks: dict[str, str] = {}
    for bag in bags:
        reader = BagReader(bag)
        for episode in read_episodes(reader, namespace):
            if episode.outcome == "success" or not successes_only:
                pairs.append(episode.pairs())
        for loss in reader.losses:
            tell(f"{bag}: {loss}")
        tasks.setdefault(reader.about.get("task", ""), bag)
        if len(tasks) > 1:
            (first, one), (second, other) = tasks.items()
            raise BagError(f"{one} is of task {first!r}, {other} of {second!r}; give bags of one")
    pairs = [(seen, done) for seen, done in pairs if len(done)]
    if not pairs:
        raise BagError(f"{', '.join(map(str, bags))}: no observation with an action to learn from")
    return _joined(pairs)


def _joined(pairs: Sequence[Pairs]) -> Pairs:
    """All pairs as one batch; a gripper that never moved predicts nothing and is left out.

    Raises:
        BagError: they differ in size.
    """
    sizes = {(seen.vectors.shape[1], done.shape[1]) for seen, done in pairs}
    if len(sizes) > 1:
        raise BagError(f"observations and actions differ in size between episodes: {sizes}")
    actions = np.concatenate([done for _, done in pairs])
    if (actions[:, -1] == actions[0, -1]).all():
        actions = actions[:, :-1]
    return Observations.concatenate([seen for seen, _ in pairs]), actions
