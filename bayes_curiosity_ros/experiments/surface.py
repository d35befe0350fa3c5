"""The paper's first figure: curiosity over Mountaincar's states before and after an episode.

With the default form, the paper's and the elliptical episodic one, in the same latent space.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
import torch

from bayes_curiosity_ros.configuration.ranges import SEED, whole
from bayes_curiosity_ros.curiosity.curiosity import PRESETS, Curiosity
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
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

GRID = 101
CELL = np.array([0.05, 0.005])  # states closer than this, in position and velocity, are one place
SPAN = np.array([MAX_POSITION - MIN_POSITION, 2.0 * MAX_SPEED])
NEAR, FAR = 0.05, 0.15  # distances from the episode's states, in widths of the plane
ROUNDING = 1e-3  # nats; features are float32, and round differently one by one and together
DEMONSTRATIONS = DemonstrationConfig(count=2000, noise_std=0.1, parallel=20)
TITLES = {
    "": "default: learns within the episode,\nFourier features",
    "paper": "preset paper: frozen within the episode,\nplain features",
    "e3b": "preset e3b: begins every episode anew,\nplain features",
}
MOMENTS = ("before the episode", "at its last step", "when the next begins")


class SurfaceError(BayesCuriosityError):
    """Curiosity did not fall where it must."""


@dataclass(frozen=True)
class Surface:
    """Curiosity c + log β on a grid at three moments, and how it fell at an episode's states.

    Attributes:
        before: (GRID, GRID) by velocity and position before the episode, in [nats].
        last_step: likewise at the episode's last step.
        after: likewise when the next episode begins.
        states: (T + 1, 2) visited in the episode: position and velocity.
        fall: (T + 1,) how far curiosity fell at each from `before` to `after`, in [nats].
        new: (T + 1,) bool, whether no earlier episode had been there.
    """

    before: np.ndarray
    last_step: np.ndarray
    after: np.ndarray
    states: np.ndarray
    fall: np.ndarray
    new: np.ndarray

    def halved(self, then: np.ndarray) -> tuple[float, float]:
        """Shares of the grid near the episode's states and far from them that lost over half.

        Args:
            then: `last_step` or `after`.
        """
        away = np.linalg.norm((grid()[:, None] - self.states[None]) / SPAN, axis=2).min(axis=1)
        lost = (then < 0.5 * self.before).ravel()
        return float(lost[away < NEAR].mean()), float(lost[away > FAR].mean())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `bayes-curiosity surface`."""
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder to write to")
    parser.add_argument("--seed", type=SEED, default=0, help="of everything random")
    parser.add_argument(
        "--earlier-episodes",
        type=whole("--earlier-episodes", 0, 1000),
        default=5,
        help="episodes of random actions before",
    )


def run(arguments: argparse.Namespace) -> int:
    """Train, explore, measure, draw, and check that curiosity fell at new states."""
    rng = np.random.default_rng(arguments.seed)
    encoder = learn_encoder(arguments.seed, rng)
    earlier = [episode_states(False, rng) for _ in range(arguments.earlier_episodes)]
    states = episode_states(True, rng)
    kinds = {name: Curiosity(encoder, config) for name, config in PRESETS.items()}
    surfaces = {name: measure(kind, earlier, states) for name, kind in kinds.items()}
    arguments.output.mkdir(parents=True, exist_ok=True)
    draw(surfaces, arguments.output / "surface.png")
    save_model(arguments.output / "mountaincar.safetensors", SavedModel(kinds[""]))
    print(summary(surfaces))
    check(surfaces)
    print(f"wrote {arguments.output}/surface.png and {arguments.output}/mountaincar.safetensors")
    return 0


def learn_encoder(seed: int, rng: np.random.Generator) -> Encoder:
    """Algorithm 1 on the scripted expert's demonstrations."""
    shown = collect(make_task("mountaincar"), DEMONSTRATIONS, rng=rng)
    encoder = Encoder(EncoderConfig(vector_size=2), torch.Generator().manual_seed(seed))
    trained, summary = train_encoder(encoder, observations_of(shown), shown.actions, seed=seed)
    print(summary)
    return trained


def measure(curiosity: Curiosity, earlier: list[np.ndarray], states: np.ndarray) -> Surface:
    """Episodes of random actions, then one by the expert, with curiosity around it."""
    for seen in earlier:
        curiosity.observe(Observations(seen))
    before, at_states = gains(curiosity, grid()), gains(curiosity, states)
    last_step = gains_at_last_step(curiosity, states)
    curiosity.observe(Observations(states))
    after, fall = gains(curiosity, grid()), at_states - gains(curiosity, states)
    before, last_step, after = (each.reshape(GRID, GRID) for each in (before, last_step, after))
    return Surface(before, last_step, after, states, fall, newly_visited(states, earlier))


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


def grid() -> np.ndarray:
    """All states, velocity by velocity: (GRID², 2)."""
    position, velocity = np.meshgrid(
        np.linspace(MIN_POSITION, MAX_POSITION, GRID), np.linspace(-MAX_SPEED, MAX_SPEED, GRID)
    )
    return np.stack([position.ravel(), velocity.ravel()], axis=1)


def gains(curiosity: Curiosity, states: np.ndarray) -> np.ndarray:
    """What each state would earn as the first of an episode that begins now: (N,) in [nats]."""
    whitened = curiosity.whitened(Observations(states), curiosity.start())
    beta = curiosity.config.regression.noise_precision
    return np.log1p(beta * np.einsum("ij,ij->i", whitened, whitened))


def gains_at_last_step(curiosity: Curiosity, states: np.ndarray) -> np.ndarray:
    """What each state of the grid would earn after all these, in one episode: (GRID²,)."""
    stream = curiosity.begin(Observations(states[:1]))
    for state in states[1:]:
        stream.take(Observations(state[None]))
    beta = curiosity.config.regression.noise_precision
    found = [stream.preview(Observations(state[None])).variance[0] for state in grid()]
    return np.log(beta * np.array(found))


def summary(surfaces: dict[str, Surface]) -> str:
    """Where curiosity fell, in words."""
    surface = surfaces[""]
    lines = [
        f"one episode of {len(surface.states) - 1} steps, {int(surface.new.sum())} of its states "
        "new:",
        f"  at new states curiosity fell by {surface.fall[surface.new].mean():.2f} nats",
    ]
    if not surface.new.all():
        seen = surface.fall[~surface.new].mean()
        lines.append(f"  at states seen before it fell by {seen:.2f} nats")
    lines.append("  by position, averaged over all velocities:")
    lines += bars((surface.before - surface.after).mean(axis=0))
    lines.append("share of the plane where it fell by more than half, near the episode and far:")
    for name, each in surfaces.items():
        (near, far), (near_later, far_later) = (
            each.halved(then) for then in (each.last_step, each.after)
        )
        lines.append(
            f"  {name or 'default':8} {near:4.0%} {far:4.0%} at its last step, "
            f"{near_later:4.0%} {far_later:4.0%} when the next begins"
        )
    return "\n".join(lines)


def bars(fall: np.ndarray) -> list[str]:
    """Mean fall over sixths of the positions, as a diagram in text."""
    edges = np.linspace(MIN_POSITION, MAX_POSITION, 7)
    columns = np.linspace(MIN_POSITION, MAX_POSITION, GRID)
    lines = []
    for low, high in itertools.pairwise(edges):
        mean = fall[(columns >= low) & (columns <= high)].mean()
        lines.append(f"    {low:5.2f} … {high:5.2f}  {mean:5.2f} nats  {'█' * round(4 * mean)}")
    return lines


def check(surfaces: dict[str, Surface]) -> None:
    """Raise unless curiosity fell where the episode was new, and forms differ as they must."""
    surface, paper, e3b = (surfaces[name] for name in ("", "paper", "e3b"))
    if not surface.new.any():
        raise SurfaceError("the episode visited no new state; try fewer --earlier-episodes")
    if surface.fall[surface.new].min() <= 0.0:
        raise SurfaceError("curiosity did not fall at a newly visited state")
    known = surface.fall[~surface.new]
    if len(known) and surface.fall[surface.new].mean() <= known.mean():
        raise SurfaceError("curiosity fell less at new states than at known ones")
    near, far = surface.halved(surface.after)
    if near <= far or far >= paper.halved(paper.after)[1]:
        raise SurfaceError("curiosity fell as much far from the episode as near it")
    if not np.allclose(paper.before, paper.last_step, rtol=0, atol=ROUNDING):
        raise SurfaceError("the paper's form learnt within the episode")
    if not np.allclose(e3b.before, e3b.after, rtol=0, atol=ROUNDING):
        raise SurfaceError("the elliptical episodic form remembers an episode that has ended")


def draw(surfaces: dict[str, Surface], path: Path) -> None:
    """A column for each form, a row for each moment, the episode's states on all of them."""
    figure, axes = plt.subplots(
        3, 3, figsize=(11.5, 9.2), sharex=True, sharey=True, layout="constrained"
    )
    for column, (name, surface) in zip(axes.T, surfaces.items(), strict=True):
        planes = surface.before, surface.last_step, surface.after
        for axis, plane in zip(column, planes, strict=True):
            image = draw_plane(axis, plane, surface)
        column[0].set_title(TITLES[name], fontsize=11)
        column[-1].set_xlabel("position")
        figure.colorbar(
            image, ax=column, location="bottom", aspect=30, pad=0.02, label="c + log β [nats]"
        )
    for axis, moment in zip(axes[:, 0], MOMENTS, strict=True):
        axis.set_ylabel(f"$\\bf{{{moment.replace(' ', '~')}}}$\nvelocity")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, facecolor="lightgrey")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_plane(axis: Axes, plane: np.ndarray, surface: Surface) -> AxesImage:
    """Curiosity at one moment, and how much of the plane is below half of what it was."""
    extent = (MIN_POSITION, MAX_POSITION, -MAX_SPEED, MAX_SPEED)
    high = surface.before.max()
    image = axis.imshow(plane, origin="lower", extent=extent, aspect="auto", vmin=0.0, vmax=high)
    for group, color, label in (
        (surface.new, "hotpink", "new states of the episode"),
        (~surface.new, "white", "states seen in earlier episodes too"),
    ):
        points = surface.states[group]
        axis.scatter(points[:, 0], points[:, 1], s=9, color=color, ec="black", lw=0.3, label=label)
    if plane is not surface.before:
        near, far = surface.halved(plane)
        words = f"below half: {near:.0%} near the path, {far:.0%} far from it"
        box = {"facecolor": "white", "alpha": 0.85, "edgecolor": "none", "pad": 2.5}
        axis.text(0.5, 0.035, words, transform=axis.transAxes, ha="center", fontsize=9, bbox=box)
    return image
