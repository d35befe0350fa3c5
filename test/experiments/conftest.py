"""Small experiments: settings files in a folder of the test's own."""

from pathlib import Path

import pytest

from support.experiments import ABLATIONS, CURVES, TABLE


@pytest.fixture
def table(tmp_path) -> Path:
    """Settings like those of Table I, on Pendulum."""
    path = tmp_path / "table.yaml"
    path.write_text(TABLE)
    return path


@pytest.fixture
def curves(tmp_path) -> Path:
    """Settings like those of the arm's curves, on reach."""
    path = tmp_path / "curves.yaml"
    path.write_text(CURVES)
    return path


@pytest.fixture
def ablations(curves) -> Path:
    """Settings that extend those of the curves."""
    path = curves.with_name("ablations.yaml")
    path.write_text(ABLATIONS)
    return path
