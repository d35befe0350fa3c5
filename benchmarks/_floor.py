"""What the sequential form cannot do without: the floor of `benchmarks.curiosity`'s episodes."""

from __future__ import annotations

import numpy as np

from benchmarks._report import report
from benchmarks._sequential import EPISODES, FEATURES, STEPS, curiosity, episodes, evaluate
from benchmarks._turns import Call, medians

ROWS = EPISODES * (STEPS + 1)  # the first observation of an episode is taken in, but not paid
SIZE = FEATURES[0] + 1
PART_ROWS = 244
LAYERS = ((9, 64), (64, 64), (64, 32), (32, FEATURES[0]))


def floor(repetitions: int) -> None:
    """Report what each part of a priced observation costs at the least, in [µs]."""
    batch = episodes(EPISODES)
    calls = {"evaluate": evaluate(curiosity(), batch), "cholesky": cholesky_call()}
    calls |= {"dgemm": product_call(), "features": features_call()}
    found = medians(calls, repetitions, "floor")
    each = {name: 1e6 * seconds / (EPISODES * STEPS) for name, seconds in found.items()}
    parts = {
        "product": (each["dgemm"] / 2, "half of NumPy's dgemm with 257 × 257: a triangle's share"),
        "features": (each["features"], "NumPy's sgemm, tanh and cos of the encoder's shapes"),
        "gram": (each["dgemm"] * (STEPS + 1) / SIZE / 2, "a triangle's share, at dgemm's rate"),
        "cholesky": (each["cholesky"], "NumPy's, 61 × 61"),
    }
    whole = sum(least for least, _ in parts.values())
    for name, (least, note) in {**parts, "all": (whole, "all four")}.items():
        report(f"curiosity/floor/{name}", each["evaluate"], least, unit="µs per observation",
               higher_is_better=False, note=f"evaluate of episodes, against: {note}")  # fmt: skip


def product_call() -> Call:
    """The product of all rows with a full matrix, in float64."""
    rng = np.random.default_rng(0)
    rows, matrix = rng.normal(size=(ROWS, SIZE)), rng.normal(size=(SIZE, SIZE))
    product = np.empty_like(rows)
    return lambda: np.matmul(rows, matrix, out=product)


def features_call() -> Call:
    """Encoder and Fourier features of all rows in float32, without biases."""
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(PART_ROWS, LAYERS[0][0])).astype(np.float32)
    matrices = [rng.normal(size=shape).astype(np.float32) for shape in LAYERS]
    outputs = [np.empty((PART_ROWS, size), dtype=np.float32) for _, size in LAYERS]

    def all_parts() -> None:
        for _ in range(ROWS // PART_ROWS):
            values = inputs
            for matrix, out in zip(matrices, outputs, strict=True):
                values = np.matmul(values, matrix, out=out)
                (np.cos if out is outputs[-1] else np.tanh)(values, out=values)

    return all_parts


def cholesky_call() -> Call:
    """The Cholesky factors of as many matrices as there are episodes."""
    rows = np.random.default_rng(0).normal(size=(EPISODES, STEPS + 1, SIZE))
    grams = np.eye(STEPS + 1) + rows @ rows.swapaxes(1, 2)
    return lambda: np.linalg.cholesky(grams)
