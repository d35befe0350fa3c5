"""RLeXplore's side of the curiosity benchmark; runs in the peers' environment.

Each request is a JSON line: {"prepare": case, "method": M, "batch": N} with M one of "rnd",
"rnd_frozen", "rnd_update" and "e3b" builds what is to be timed, {"repeat": true} times one
repetition of it and answers {"seconds": …} per call.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from gymnasium.vector import VectorEnv
from rllte.xplore.reward import E3B, RND

from benchmarks._timing import calls_per_repetition, repetition_s

SHAPES = {"vector": (9,), "image": (4, 64, 64)}
METHODS = {"rnd": RND, "rnd_frozen": RND, "rnd_update": RND, "e3b": E3B}
MAX_PARALLEL = 8  # environments in RLeXplore's own examples


class Noise(VectorEnv):
    """Random observations as tensors, as rllte's own wrapped environments give them.

    RLeXplore steps it 2,560 times when a module is made, to start its running moments.
    """

    def __init__(self, shape: tuple[int, ...], num_envs: int) -> None:
        self.num_envs = num_envs
        self.single_observation_space = _box(shape)
        self.single_action_space = spaces.Box(-1.0, 1.0, (6,))
        self.action_space = self.single_action_space
        self.observation_space = self.single_observation_space
        rng = np.random.default_rng(0)
        self._observations = _draw(rng, (num_envs, *shape))

    def reset(self, **_: Any) -> tuple[torch.Tensor, dict[str, Any]]:
        return self._observations, {}

    def step(self, actions: Any) -> tuple[torch.Tensor, Any, Any, Any, dict[str, Any]]:
        nothing = torch.zeros(self.num_envs)
        return self._observations, nothing, nothing, nothing, {}


def prepare(case: str, method: str, batch: int) -> Callable[[], object]:
    """RLeXplore's documented call: `compute` of a batch shaped (steps, environments, …).

    `sync=False` leaves out the module's own training, as our `evaluate` does. In 1.0.1, RND does
    not hand `sync` on to its base class, so its running moments are updated all the same:
    "rnd_frozen" takes that out, which its interface cannot. E3B updates its inverse covariance as
    it goes: that is how its reward is defined; its training fails with actions of a Box in 1.0.1.
    "rnd_update" is `sync=True`, training included.
    """
    parallel = min(batch, MAX_PARALLEL)
    shape = SHAPES[case]
    module = METHODS[method](Noise(shape, parallel), device="cpu")
    if method == "rnd_frozen":
        module.obs_norm.update = module.rwd_norm.update = lambda _: None
    rng = np.random.default_rng(1)
    size = (batch // parallel, parallel)
    samples = {
        "observations": _draw(rng, (*size, *shape)),
        "next_observations": _draw(rng, (*size, *shape)),
        "actions": torch.zeros(*size, 6),
        "rewards": torch.zeros(*size),
        "terminateds": torch.zeros(*size),
        "truncateds": torch.zeros(*size),
    }
    return lambda: module.compute(samples, sync=method == "rnd_update")


def main() -> None:
    """Answer requests until standard input closes."""
    torch.set_num_threads(int(sys.argv[1]))
    torch.manual_seed(0)
    call: Callable[[], object] = lambda: None  # noqa: E731
    calls = 1
    for line in sys.stdin:
        request = json.loads(line)
        if "prepare" in request:
            call = prepare(request["prepare"], request["method"], request["batch"])
            calls = calls_per_repetition(call)
            answer = {"calls": calls, "torch": torch.__version__}
        else:
            answer = {"seconds": repetition_s(call, calls)}
        print(json.dumps(answer), flush=True)


def _box(shape: tuple[int, ...]) -> spaces.Box:
    if len(shape) == 3:
        return spaces.Box(0, 255, shape, dtype=np.uint8)
    return spaces.Box(-np.inf, np.inf, shape, dtype=np.float32)


def _draw(rng: np.random.Generator, shape: tuple[int, ...]) -> torch.Tensor:
    """Numbers for vectors; 0..255 for images, as floats: its moments cannot take bytes."""
    if len(shape) > 3:
        return torch.from_numpy(rng.integers(0, 256, size=shape, dtype=np.uint8)).float()
    return torch.from_numpy(rng.normal(size=shape).astype(np.float32))


if __name__ == "__main__":
    main()
