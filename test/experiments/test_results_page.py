"""What docs/results.md says, recomputed from the committed rows."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bayes_curiosity_ros.experiments.engine.comparisons import told
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.store import all_rows
from bayes_curiosity_ros.experiments.engine.successes import Successes
from bayes_curiosity_ros.experiments.exploration.table import successes_of
from bayes_curiosity_ros.experiments.memory.analysis import evaluations_of
from support.experiments import RESULTS, ROOT

PAGE = (ROOT / "docs/results.md").read_text().splitlines()
PARKED = successes_of(all_rows(RESULTS / "exploration"))
FORMS = successes_of(all_rows(RESULTS / "exploration/forms"))
TASKS = ("parked_reach", "parked_reach_far", "visual_parked_reach")
METHODS = {
    "curiosity": "curiosity",
    "e3b": "E3B, same latent space",
    "price": "a constant price on time",
    "rnd_latent": "RND, same latent space",
    "paper": "the paper's own form",
    "none": "no bonus",
    "rnd": "RND",
    "vime": "VIME",
    "imitation": "imitation of the ordinary pose",
    "placebo": "placebo: the same rewards, shuffled",
}
PARTS = {
    "sequential_fourier": "learns within the episode, remembers all episodes",
    "frozen_fourier": "frozen within the episode, remembers",
    "sequential_plain": "learns within the episode, remembers, plain features",
    "frozen_plain": "frozen, remembers, plain features",
    "episodic_plain": "as chosen, plain features",
}


def shown(cells: Mapping[Cell, Successes], cell: Cell) -> str:
    """Interquartile mean with its interval, and the number of seeds."""
    return f"{cells[cell].interval()}, {len(cells[cell])}" if cell in cells else "–"


@pytest.mark.parametrize("method", METHODS)
def test_who_finds_the_goal(method):
    texts = [shown(PARKED, Cell(task, "trpo", method)) for task in TASKS]
    assert f"| {METHODS[method]} | {' | '.join(texts)} |" in PAGE


@pytest.mark.parametrize("method", PARTS)
def test_which_part_does_it(method):
    text = shown(FORMS, Cell("parked_reach", "trpo", method))
    assert f"| {PARTS[method]} | {text} |" in PAGE


def memory_line(folder: str, task: str, ending: str, demonstrated: int) -> str:
    """What a bonus adds to SAC with so many demonstrated episodes in its memory."""
    cells = evaluations_of(all_rows(RESULTS / folder))
    mine, none, placebo = (
        Cell(task, "sac", f"{method}{ending}") for method in ("curiosity", "none", "placebo")
    )
    values = [f"{cells[mine].timesteps[0][-1] / 1000:.0f}k"]
    values += [shown(cells, cell) for cell in (mine, none, placebo)]
    for rival in (none, placebo):
        pair = [cells[cell].overall() for cell in (mine, rival) if cell in cells]
        values.append(told(*pair) if len(pair) == 2 else "–")
    return f"| {task} | {demonstrated} | {' | '.join(values)} |"


MEMORY = [
    ("memory", "reach", "", 20),
    ("memory", "parked_reach", "", 100),
    ("memory", "grasp", "", 20),
    *(
        ("memory/few", task, ending, count)
        for task in ("parked_reach", "parked_reach_far", "grasp")
        for ending, count in (("", 20), ("_5", 5), ("_0", 0))
    ),
]


@pytest.mark.parametrize(("folder", "task", "ending", "demonstrated"), MEMORY)
def test_what_curiosity_adds_to_a_learner_with_a_memory(folder, task, ending, demonstrated):
    assert memory_line(folder, task, ending, demonstrated) in PAGE
