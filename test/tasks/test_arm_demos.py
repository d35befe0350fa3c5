"""Demonstrations and pictures, as functions and as commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bayes_curiosity_ros.cli import main
from bayes_curiosity_ros.errors import ConfigError, ModelFileError
from bayes_curiosity_ros.robot.cameras.camera import CameraError
from bayes_curiosity_ros.robot.cameras.renderer import GLCamera
from bayes_curiosity_ros.tasks.arm.grasp import Grasp
from bayes_curiosity_ros.tasks.arm.reach import Reach
from bayes_curiosity_ros.tasks.demonstrations import (
    DemonstrationConfig,
    Demonstrations,
    collect,
)


def test_collects_as_many_as_asked_and_the_same_again():
    config = DemonstrationConfig(count=300, seed=2, parallel=8)
    told: list[int] = []
    first = collect(Reach(threads=1), config, told.append)
    second = collect(Reach(threads=2), config)
    assert first.vectors.shape == (300, 9)
    assert first.actions.shape == (300, 6)
    assert sum(told) == 300
    assert np.abs(first.actions).max() <= 1
    np.testing.assert_array_equal(first.vectors, second.vectors)
    np.testing.assert_array_equal(first.actions, second.actions)
    assert first.successes == first.episodes > 0


def test_a_file_holds_them_all(tmp_path: Path):
    task = Grasp(visual=True, threads=1)
    demonstrations = collect(task, DemonstrationConfig(count=20, parallel=4))
    path = tmp_path / "grasp.npz"
    demonstrations.save(path)
    loaded = Demonstrations.load(path)
    assert loaded.task == "visual_grasp"
    assert loaded.config == demonstrations.config
    np.testing.assert_array_equal(loaded.vectors, demonstrations.vectors)
    np.testing.assert_array_equal(loaded.images, demonstrations.images)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"no zip", None])
def test_other_files_are_refused(tmp_path: Path, content: bytes | None):
    path = tmp_path / "demos.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelFileError, match="bayes-curiosity demos"):
        Demonstrations.load(path)


def test_settings_are_checked():
    with pytest.raises(ConfigError, match="count = 0"):
        DemonstrationConfig(count=0)


def test_the_demos_command(tmp_path: Path, capsys):
    path = tmp_path / "reach.npz"
    assert main(["demos", "reach", "--count", "64", "--output", str(path)]) == 0
    assert "64 pairs" in capsys.readouterr().out
    assert len(Demonstrations.load(path).actions) == 64
    assert main(["demos", "reach", "--check", "10"]) == 0
    assert "100.0% of 10 placements" in capsys.readouterr().out


@pytest.mark.parametrize(("task", "robot"), [("grasp", "gen3_robotiq"), ("reach", "ur5e")])
def test_other_arms_do_what_they_are_modelled_for(task: str, robot: str, capsys):
    assert main(["demos", task, "--robot", f"{robot}.yaml", "--check", "10"]) == 0
    assert "100.0% of 10 placements" in capsys.readouterr().out


def test_the_view_command(tmp_path: Path, capsys):
    try:
        GLCamera(Reach(threads=1).stepper.world, 32, 32).close()
    except CameraError as error:
        pytest.skip(str(error))
    path = tmp_path / "reach.gif"
    options = ["--width", "320", "--height", "240"]
    assert main(["view", "reach", "--output", str(path), *options]) == 0
    with Image.open(path) as film:
        assert film.size == (320, 240)
        assert film.n_frames > 5
    assert main(["view", "reach", "--output", str(tmp_path / "film.avi"), *options]) == 2
    assert "choose one of .gif, .mp4, .png" in capsys.readouterr().err
