"""Observations per second of `Curiosity`, against RLeXplore's RND and E3B.

    python -m benchmarks.curiosity [--threads 1] [--repetitions 15] [--only vector/2048]

`vector` and `image` are `evaluate` in the frozen form with plain features, M = 33; `episodes`,
`stream` and `features` the default form: sequential, with Fourier features; `floor` is what that
form cannot do without.

All sides run in one go, a repetition of each in turn, so that whatever else the machine does
hits them alike; the median repetition counts. The encoder is part of every call. RLeXplore gets
float tensors, images too, for it cannot take bytes; we get NumPy arrays, images as bytes, and turn
them into float tensors on the clock.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from benchmarks._floor import floor
from benchmarks._report import report
from benchmarks._sequential import FROZEN, many_features, streamed, whole_episodes
from benchmarks._threads import limit_threads
from benchmarks._turns import Call, medians

BATCHES = (1, 64, 2048)
METHODS = {
    "rnd": "RLeXplore RND.compute(samples, sync=False): without its training, but with the update "
    "of its running moments, which 1.0.1 does regardless; 8 environments",
    "rnd_frozen": "the same with that update patched out",
    "e3b": "RLeXplore E3B.compute(samples, sync=False): without its training; 8 environments",
}
IMAGE_SHAPE = (4, 64, 64)
VECTOR_SIZE = {"vector": 9, "image": 6}  # the arm's: Cartesian and visuomotor
ENCODER_BAR = 1.7


def curiosities(case: str) -> dict[str, Curiosity]:
    """The frozen form by name: with the default encoder, and with one of the peer's widths."""
    shape = IMAGE_SHAPE if case == "image" else None
    size = VECTOR_SIZE[case]
    usual = Encoder(EncoderConfig(size, shape))
    wide = Encoder(EncoderConfig(size, shape, hidden_sizes=(256,), latent_size=128))
    if shape is not None:
        wide = Encoder(EncoderConfig(size, shape, hidden_sizes=(), latent_size=128))
        wide.trunk = peer_convolutions(wide)
    return {case: Curiosity(usual, FROZEN), f"{case}_wide": Curiosity(wide, FROZEN)}


def peer_convolutions(encoder: Encoder) -> nn.Sequential:
    """The convolutions of RLeXplore's image encoder, as the trunk of ours."""
    convolutions = nn.Sequential(
        nn.Conv2d(4, 32, kernel_size=8, stride=4),
        nn.ReLU(),
        nn.Conv2d(32, 64, kernel_size=4, stride=2),
        nn.ReLU(),
        nn.Conv2d(64, 64, kernel_size=3),
        nn.ReLU(),
        nn.Flatten(),
    )
    mlp_input = encoder.mlp[0]
    assert isinstance(mlp_input, nn.Linear)
    trunk_size = mlp_input.in_features - encoder.config.vector_size
    flat = convolutions(torch.zeros(1, *IMAGE_SHAPE)).shape[1]
    return nn.Sequential(convolutions, nn.Linear(flat, trunk_size), nn.ReLU())


def transitions(case: str, batch: int) -> Transitions:
    """Random steps; images as bytes."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(batch, VECTOR_SIZE[case])).astype(np.float32)
    images = None
    if case == "image":
        images = rng.integers(0, 256, size=(batch, *IMAGE_SHAPE), dtype=np.uint8)
    observations = Observations(vectors, images)
    return Transitions(observations, np.zeros((batch, 6)), observations)


def evaluate_call(curiosity: Curiosity, batch: Transitions) -> Call:
    """What is measured, with a posterior that has seen something."""
    curiosity.update([batch])
    return lambda: curiosity.evaluate([batch])


def encoder_call(encoder: Encoder, batch: Transitions) -> Call:
    """The floor: the encoder's forward pass on tensors that are ready for it."""
    tensors = encoder.tensors(batch.next_observations)

    def forward() -> object:
        with torch.inference_mode():
            return encoder(*tensors)

    return forward


def measure(case: str, batch: int, threads: int, repetitions: int) -> dict[str, float]:
    """Median seconds per call, by name of what was called."""
    steps = transitions(case, batch)
    ours = {name: evaluate_call(each, steps) for name, each in curiosities(case).items()}
    ours["encoder_alone"] = encoder_call(curiosities(case)[case].encoder, steps)
    request = {"prepare": case, "batch": batch}
    return medians(ours, repetitions, f"{case} {batch}", METHODS, request, threads)


def figures(case: str, batch: int, seconds: dict[str, float]) -> Iterator[tuple[str, float]]:
    """Report all figures of a case; yields name and ratio."""
    rates = {name: batch / each for name, each in seconds.items()}
    for ours in (case, f"{case}_wide"):
        for method in METHODS:
            name = f"curiosity/{ours}/{batch}/{method}"
            yield name, observations_per_s(name, rates[ours], rates[method], METHODS[method])
    cost = seconds[case] / seconds["encoder_alone"]
    name = f"curiosity/{case}/{batch}/encoder_alone"
    bar = f"bar at 2048: at most {ENCODER_BAR}, so ratio ≥ {1 / ENCODER_BAR:.3f}"
    text = f"evaluate costs {cost:.2f} × the encoder's forward pass; {bar}"
    yield name, observations_per_s(name, rates[case], rates["encoder_alone"], text)


def observations_per_s(name: str, ours: float, peer: float, note: str) -> float:
    """Report one rate."""
    return report(name, ours, peer, unit="observations/s", higher_is_better=True, note=note)


def parsed() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1, help="of torch and NumPy, on both sides")
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--only", default="", help="for instance vector/2048 or episodes")
    return parser.parse_args()


def main() -> None:
    """Measure and report everything, or what `--only` names."""
    arguments = parsed()
    torch.set_num_threads(arguments.threads)
    for case in VECTOR_SIZE:
        for batch in BATCHES:
            if f"{case}/{batch}".startswith(arguments.only):
                seconds = measure(case, batch, arguments.threads, arguments.repetitions)
                list(figures(case, batch, seconds))
    if "episodes".startswith(arguments.only):
        whole_episodes(arguments.threads, arguments.repetitions)
    if "stream".startswith(arguments.only):
        streamed(arguments.repetitions)
    if "features".startswith(arguments.only):
        many_features(arguments.repetitions)
    if "floor".startswith(arguments.only):
        floor(arguments.repetitions)


if __name__ == "__main__":
    limit_threads(parsed().threads)
    main()
