"""The paper's first figure: curiosity over Mountaincar's states before and after an episode."""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
import torch

from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, save_model
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.learning.preparation import observations_of, train_encoder
from bayes_curiosity_ros.tasks.classic.mountaincar import MAX_POSITION, MAX_SPEED, MIN_POSITION
from bayes_curiosity_ros.tasks.demonstrations import DemonstrationConfig, collect
from bayes_curiosity_ros.tasks.registry import make_task
from bayes_curiosity_ros.tasks.simulation import Simulation

matplotlib.use("Agg")
from matplotlib import pyplot as plt

GRID = 121
CELL = np.array([0.05, 0.005])  # states closer than this, in position and velocity, are one place
DEMONSTRATIONS = DemonstrationConfig(count=2000, noise_std=0.1, parallel=20)


class SurfaceError(BayesCuriosityError):
    """Curiosity did not fall where it must."""


@dataclass(frozen=True)
class Surface:
    """Curiosity c = log σ² on a grid, and at the states of one episode, before and after it.

    Attributes:
        before: (GRID, GRID) by velocity and position, in [nats].
        after: likewise.
        states: (T + 1, 2) visited in the episode: position and velocity.
        fall: (T + 1,) how far curiosity fell at each, in [nats].
        new: (T + 1,) bool, whether no earlier episode had been there.
    """

    before: np.ndarray
    after: np.ndarray
    states: np.ndarray
    fall: np.ndarray
    new: np.ndarray


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity surface`."""
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="of everything random")
    parser.add_argument(
        "--earlier-episodes", type=int, default=5, help="episodes of random actions before"
    )


def run(arguments: argparse.Namespace) -> int:
    """Train, explore, measure, draw, and check that curiosity fell at new states."""
    rng = np.random.default_rng(arguments.seed)
    curiosity = learn_curiosity(arguments.seed, rng)
    surface = measure(curiosity, arguments.earlier_episodes, rng)
    arguments.output.mkdir(parents=True, exist_ok=True)
    draw(surface, arguments.output / "surface.png")
    save_model(arguments.output / "mountaincar.safetensors", SavedModel(curiosity))
    print(summary(surface))
    check(surface)
    print(f"wrote {arguments.output}/surface.png and {arguments.output}/mountaincar.safetensors")
    return 0


def learn_curiosity(seed: int, rng: np.random.Generator) -> Curiosity:
    """Algorithm 1 on the scripted expert's demonstrations, then a regression at the prior."""
    shown = collect(make_task("mountaincar"), DEMONSTRATIONS, rng=rng)
    encoder = Encoder(EncoderConfig(vector_size=2), torch.Generator().manual_seed(seed))
    trained, summary = train_encoder(encoder, observations_of(shown), shown.actions, seed=seed)
    print(summary)
    return Curiosity(trained, CuriosityConfig())


def measure(curiosity: Curiosity, earlier_episodes: int, rng: np.random.Generator) -> Surface:
    """Some episodes of random actions, then one by the expert, with curiosity around it."""
    earlier = [episode_states(False, rng) for _ in range(earlier_episodes)]
    for states in earlier:
        curiosity.observe(Observations(states))
    states = episode_states(True, rng)
    before, at_states = surface_of(curiosity), curiosity.score(Observations(states)).curiosity
    curiosity.observe(Observations(states))
    fall = at_states - curiosity.score(Observations(states)).curiosity
    return Surface(before, surface_of(curiosity), states, fall, newly_visited(states, earlier))


def episode_states(expert: bool, rng: np.random.Generator) -> np.ndarray:
    """The states o_0 … o_T of one Mountaincar episode."""
    task = make_task("mountaincar")
    simulation = Simulation(task, 1, rng)
    states = [simulation.observe()]
    done = False
    while not done:
        action = task.expert(states[-1]) if expert else rng.uniform(-1.0, 1.0, (1, 1))
        step = simulation.step(action)
        states.append(step.observations)
        done = bool(step.terminated[0] or step.truncated[0])
    return np.concatenate(states)


def newly_visited(states: np.ndarray, earlier: list[np.ndarray]) -> np.ndarray:
    """Which states lie more than a cell away from all earlier ones: (T + 1,) bool."""
    if not earlier:
        return np.ones(len(states), dtype=bool)
    distance = np.abs(states[:, None] - np.concatenate(earlier)[None]) / CELL
    return distance.max(axis=2).min(axis=1) > 1.0


def surface_of(curiosity: Curiosity) -> np.ndarray:
    """Curiosity on the grid of all states: (GRID, GRID) by velocity and position."""
    position, velocity = np.meshgrid(
        np.linspace(MIN_POSITION, MAX_POSITION, GRID), np.linspace(-MAX_SPEED, MAX_SPEED, GRID)
    )
    grid = Observations(np.stack([position.ravel(), velocity.ravel()], axis=1))
    return curiosity.score(grid).curiosity.reshape(GRID, GRID)


def summary(surface: Surface) -> str:
    """Where curiosity fell, in words."""
    lines = [
        f"one episode of {len(surface.states) - 1} steps, {int(surface.new.sum())} of its states "
        "new:",
        f"  at new states curiosity fell by {surface.fall[surface.new].mean():.2f} nats",
    ]
    if not surface.new.all():
        seen = surface.fall[~surface.new].mean()
        lines.append(f"  at states seen before it fell by {seen:.2f} nats")
    fall = (surface.before - surface.after).mean(axis=0)
    edges = np.linspace(MIN_POSITION, MAX_POSITION, 7)
    columns = np.linspace(MIN_POSITION, MAX_POSITION, GRID)
    lines.append("  by position, averaged over all velocities:")
    for low, high in itertools.pairwise(edges):
        mean = fall[(columns >= low) & (columns <= high)].mean()
        lines.append(f"    {low:5.2f} … {high:5.2f}  {mean:5.2f} nats  {'█' * round(4 * mean)}")
    return "\n".join(lines)


def check(surface: Surface) -> None:
    """Raise unless curiosity fell at every new state, and more there than at known ones."""
    if not surface.new.any():
        raise SurfaceError("the episode visited no new state; try fewer --earlier-episodes")
    if surface.fall[surface.new].min() <= 0.0:
        raise SurfaceError("curiosity did not fall at a newly visited state")
    known = surface.fall[~surface.new]
    if len(known) and surface.fall[surface.new].mean() <= known.mean():
        raise SurfaceError("curiosity fell less at new states than at known ones")


def draw(surface: Surface, path: Path) -> None:
    """The two surfaces side by side on one colour scale, the episode's states on both."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
    extent = (MIN_POSITION, MAX_POSITION, -MAX_SPEED, MAX_SPEED)
    low, high = surface.after.min(), surface.before.max()
    for axis, values, title in zip(
        axes, (surface.before, surface.after), ("before", "after"), strict=True
    ):
        image = axis.imshow(
            values, origin="lower", extent=extent, aspect="auto", vmin=low, vmax=high
        )
        for group, color, label in (
            (surface.new, "hotpink", "new states of the episode"),
            (~surface.new, "white", "states seen in earlier episodes too"),
        ):
            points = surface.states[group]
            axis.scatter(
                points[:, 0], points[:, 1], s=10, color=color, ec="black", lw=0.3, label=label
            )
        axis.set(title=f"{title} the episode", xlabel="position")
    axes[0].set_ylabel("velocity")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, facecolor="lightgrey")
    figure.colorbar(image, ax=axes, label="curiosity c = log σ² [nats]")
    figure.savefig(path, dpi=150)
    plt.close(figure)
