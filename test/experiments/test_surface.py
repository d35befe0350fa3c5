"""The paper's first figure, and the checks that it cannot pass by itself."""

import dataclasses

import numpy as np
import pytest

from bayes_curiosity_ros.cli import main
from bayes_curiosity_ros.curiosity.curiosity import PRESETS, Curiosity
from bayes_curiosity_ros.curiosity.model_file import load_model
from bayes_curiosity_ros.experiments import surface as module
from bayes_curiosity_ros.experiments.surface import (
    Surface,
    SurfaceError,
    check,
    episode_states,
    learn_encoder,
    measure,
    newly_visited,
)

GRID = 21


@pytest.fixture(scope="module", autouse=True)
def _coarse():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "GRID", GRID)
        yield


@pytest.fixture(scope="module")
def surfaces(_coarse):
    """What the command measures with its defaults."""
    rng = np.random.default_rng(0)
    encoder = learn_encoder(0, rng)
    earlier = [episode_states(False, rng) for _ in range(5)]
    states = episode_states(True, rng)
    return {
        name: measure(Curiosity(encoder, config), earlier, states)
        for name, config in PRESETS.items()
    }


def dark(surface):
    """Share of the plane where less than half of the curiosity is left."""
    return (surface.after < 0.5 * surface.before).mean()


def test_by_default_an_episode_darkens_where_it_went_and_elsewhere_less_than_the_papers(surfaces):
    """How much elsewhere depends on the encoder, and that on the processor it was trained on."""
    surface, papers = surfaces[""], surfaces["paper"]
    near, far = surface.halved(surface.after)
    assert near > 0.8
    assert far < 0.6 * papers.halved(papers.after)[1]
    assert dark(surface) < dark(papers) - 0.1
    np.testing.assert_allclose(surface.last_step, surface.after, rtol=0, atol=1e-3)


def test_the_papers_form_darkens_half_of_what_is_far_and_only_at_the_end(surfaces):
    surface = surfaces["paper"]
    near, far = surface.halved(surface.after)
    assert near > 0.8
    assert far > 0.45
    assert (surface.after < 0.5 * surface.before).mean() > 0.65
    np.testing.assert_allclose(surface.last_step, surface.before, rtol=0, atol=1e-3)


def test_the_elliptical_form_forgets_at_the_end(surfaces):
    surface = surfaces["e3b"]
    assert surface.halved(surface.last_step) == (1.0, 1.0)
    np.testing.assert_allclose(surface.after, surface.before)
    np.testing.assert_allclose(surface.fall, 0.0, rtol=0, atol=1e-9)


def test_the_command_writes_figure_and_model(tmp_path, capsys):
    assert main(["surface", "--output", str(tmp_path), "--earlier-episodes", "2"]) == 0
    assert (tmp_path / "surface.png").stat().st_size > 10_000
    assert load_model(tmp_path / "mountaincar.safetensors").curiosity.regression.count > 0
    printed = capsys.readouterr().out
    assert "at new states curiosity fell by" in printed
    assert "e3b      100% 100% at its last step,   0%   0% when the next begins" in printed


def made(scale: np.ndarray) -> Surface:
    """One with two new states in the middle, where curiosity goes from 1 to `scale`."""
    before, states = np.ones((GRID, GRID)), np.tile([-0.3, 0.0], (3, 1))
    new = np.array([False, True, True])
    return Surface(before, before, scale * before, states, np.array([0.1, 2.0, 3.0]), new)


def good() -> dict[str, Surface]:
    middle = np.ones((GRID, GRID))
    middle[8:13, 8:13] = 0.0
    return {"": made(middle), "paper": made(0.0 * middle), "e3b": made(0.0 * middle + 1.0)}


def test_good_surfaces_pass():
    check(good())


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("", {"new": np.zeros(3, dtype=bool)}, "no new state"),
        ("", {"fall": np.array([0.1, 0.0, 3.0])}, "did not fall"),
        ("", {"fall": np.array([5.0, 2.0, 3.0])}, "less at new states"),
        ("", {"after": np.zeros((GRID, GRID))}, "as much far from"),
        ("paper", {"last_step": np.zeros((GRID, GRID))}, "learnt within"),
        ("e3b", {"after": np.zeros((GRID, GRID))}, "remembers"),
    ],
)
def test_bad_surfaces_do_not(name, change, words):
    surfaces = good()
    surfaces[name] = dataclasses.replace(surfaces[name], **change)
    with pytest.raises(SurfaceError, match=words):
        check(surfaces)


def test_new_is_what_lies_more_than_a_cell_away():
    earlier = [np.array([[0.0, 0.0]])]
    states = np.array([[0.04, 0.004], [0.06, 0.0], [0.0, 0.006]])
    assert newly_visited(states, earlier).tolist() == [False, True, True]
    assert newly_visited(states, []).all()
