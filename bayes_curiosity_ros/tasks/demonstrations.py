"""What a scripted expert would do, with a little noise: data for the embedding and imitation."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.tasks.registry import make_task
from bayes_curiosity_ros.tasks.simulation import Simulation


def demonstrations(
    task_name: str, count: int, noise_std: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """`count` pairs of an observation and the noisy action that the expert took there.

    Args:
        task_name: a name of the registry.
        count: pairs, N, from as many episodes as it takes.
        noise_std: standard deviation of the Gaussian noise on actions in [-1, 1].
        rng: source of the initial states and of the noise.

    Returns:
        Observations (N, D) and the executed actions (N, A).
    """
    if count < 1 or noise_std < 0:
        raise ConfigError(f"count = {count}, noise_std = {noise_std}; need count ≥ 1, noise ≥ 0")
    task = make_task(task_name)
    simulation = Simulation(task, max(1, min(count // 100, 20)), rng)
    observations, actions, gathered = [], [], 0
    while gathered < count:
        seen = simulation.observe()
        action = task.expert(seen)
        action = np.clip(action + noise_std * rng.standard_normal(action.shape), -1.0, 1.0)
        step = simulation.step(action)
        simulation.restart(step.terminated | step.truncated)
        observations.append(seen)
        actions.append(action)
        gathered += len(seen)
    return np.concatenate(observations)[:count], np.concatenate(actions)[:count]
