"""What does a call of curiosity/evaluate cost, across processes?

Held against an empty std_srvs/Trigger on the same executor, call by call in turn.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from std_srvs.srv import Trigger
from tqdm import tqdm

from bayes_curiosity_interfaces.srv import Evaluate
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.conversions.observations import batch_of_observations
from benchmarks._domain import private_domain
from benchmarks._report import report

CALLS = 2000
WARM_UP = 100
START_S = 180.0  # for the server's process to come up
BATCH = 2048
BATCH_CALLS = 300


@contextmanager
def server() -> Iterator[None]:
    """The node under test in a process of its own, on a private domain."""
    private_domain()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks._service_server"])
    try:
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)


def seconds(call: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    """Print `service/single/…` and `service/batch/…`."""
    rows = Observations(np.random.default_rng(0).normal(size=(BATCH, 9)))
    one = Evaluate.Request(observations=batch_of_observations(rows[:1]))
    many = Evaluate.Request(observations=batch_of_observations(rows))
    with server(), BackgroundNode("service_benchmark") as node:

        def evaluate() -> object:
            return node.call(Evaluate, "curiosity/evaluate", one)

        def empty() -> object:
            return node.call(Trigger, "empty", Trigger.Request())

        def batch() -> object:
            return node.call(Evaluate, "curiosity/evaluate", many)

        node.call(Trigger, "empty", Trigger.Request(), START_S)
        for _ in range(WARM_UP):
            evaluate(), empty(), batch()
        turns = tqdm(range(CALLS), desc="calls", disable=None, leave=False)
        pairs = np.array([(seconds(evaluate), seconds(empty)) for _ in turns])
        batches = np.array([seconds(batch) for _ in range(BATCH_CALLS)])
    for name, quantile in (("single", 50), ("single_p99", 99)):
        ours, floor = 1e3 * np.percentile(pairs, quantile, axis=0)
        report(
            f"service/{name}/empty_service",
            ours,
            floor,
            unit="ms",
            higher_is_better=False,
            note=f"p{quantile} of {CALLS} calls; bar for p50: ratio ≥ 1/1.6",
        )
    in_process = in_process_rate(rows)
    report(
        "service/batch/observations_per_s",
        BATCH / float(np.median(batches)),
        in_process,
        unit="observations/s",
        higher_is_better=True,
        note=f"batch {BATCH}, median; peer: the same library without ROS; bar: ours ≥ 150,000",
    )


def in_process_rate(rows: Observations) -> float:
    """Observations per second of the library itself, on one thread as in the node."""
    torch.set_num_threads(1)
    curiosity = Curiosity(Encoder(EncoderConfig(9)))
    times = [seconds(lambda: curiosity.score(rows)) for _ in range(BATCH_CALLS)]
    return len(rows) / float(np.median(times))


if __name__ == "__main__":
    main()
