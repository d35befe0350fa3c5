"""The paper's first figure, and the check that it cannot pass by itself."""

import dataclasses

import numpy as np
import pytest

from bayes_curiosity_ros.cli import main
from bayes_curiosity_ros.curiosity.model_file import load_model
from bayes_curiosity_ros.experiments.surface import Surface, SurfaceError, check, newly_visited

GOOD = Surface(
    before=np.ones((2, 2)),
    after=np.zeros((2, 2)),
    states=np.zeros((3, 2)),
    fall=np.array([0.1, 2.0, 3.0]),
    new=np.array([False, True, True]),
)


def test_the_command_writes_figure_and_model(tmp_path, capsys):
    assert main(["surface", "--output", str(tmp_path), "--earlier-episodes", "2"]) == 0
    assert (tmp_path / "surface.png").stat().st_size > 10_000
    assert load_model(tmp_path / "mountaincar.safetensors").curiosity.regression.count > 0
    assert "at new states curiosity fell by" in capsys.readouterr().out


def test_a_good_surface_passes():
    check(GOOD)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"new": np.zeros(3, dtype=bool)}, "no new state"),
        ({"fall": np.array([0.1, 0.0, 3.0])}, "did not fall"),
        ({"fall": np.array([5.0, 2.0, 3.0])}, "less at new states"),
    ],
)
def test_a_bad_surface_does_not(change, words):
    with pytest.raises(SurfaceError, match=words):
        check(dataclasses.replace(GOOD, **change))


def test_new_is_what_lies_more_than_a_cell_away():
    earlier = [np.array([[0.0, 0.0]])]
    states = np.array([[0.04, 0.004], [0.06, 0.0], [0.0, 0.006]])
    assert newly_visited(states, earlier).tolist() == [False, True, True]
    assert newly_visited(states, []).all()
