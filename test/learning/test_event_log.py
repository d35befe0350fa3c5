"""Event files: written as asked for, read back by TensorBoard's own reader."""

import logging
from dataclasses import replace

import numpy as np
import pytest

from bayes_curiosity_ros.bringup.arguments import checked
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning import event_log
from bayes_curiosity_ros.learning.episode_log import EpisodeRow
from bayes_curiosity_ros.learning.event_log import FOLDER, EventLog, require_log
from bayes_curiosity_ros.learning.settings import LearnerConfig
from support.events import events_of, numbers_of

ROW = EpisodeRow(1, 50, 50, "success", 2.5, 0.25, -1.5, 12.0)


@pytest.fixture
def installed():
    pytest.importorskip("tensorboard")


@pytest.mark.usefixtures("installed")
def test_an_episode_is_read_back(tmp_path):
    with EventLog(tmp_path) as events:
        events.add(ROW, 600.0)
        events.add(replace(ROW, episode=2, timesteps=90, outcome="failure"), 610.0)
    assert numbers_of(tmp_path / FOLDER) == {
        "episode/success": [(50, 1.0), (90, 0.0)],
        "episode/extrinsic_return": [(50, 2.5), (90, 2.5)],
        "episode/intrinsic_return": [(50, 0.25), (90, 0.25)],
        "episode/curiosity": [(50, -1.5), (90, -1.5)],
        "episode/steps": [(50, 50.0), (90, 50.0)],
        "run/information": [(50, 12.0), (90, 12.0)],
        "run/steps_per_second": [(50, 600.0), (90, 610.0)],
    }


@pytest.mark.usefixtures("installed")
def test_a_run_that_goes_on_replaces_what_came_after_its_checkpoint(tmp_path):
    with EventLog(tmp_path) as events:
        for timesteps in (50, 100, 150):
            events.add(replace(ROW, timesteps=timesteps), 600.0)
    with EventLog(tmp_path, timesteps=100) as events:
        events.add(replace(ROW, timesteps=140, outcome="failure"), 600.0)
    found = numbers_of(tmp_path / FOLDER)["episode/success"]
    assert found == [(50, 1.0), (100, 1.0), (140, 0.0)]


@pytest.mark.usefixtures("installed")
def test_what_is_not_known_is_left_out_and_pictures_are_kept(tmp_path):
    picture = np.zeros((4, 6, 3), np.uint8)
    with EventLog(tmp_path) as events:
        events.add_numbers({"known": 1.0, "unknown": float("nan")}, 7)
        events.add_picture("map", picture, 7)
    found = events_of(tmp_path / FOLDER)
    assert found.Tags()["scalars"] == ["known"]
    (image,) = found.Images("map")
    assert (image.step, image.height, image.width) == (7, 4, 6)


@pytest.mark.usefixtures("installed")
def test_a_file_that_cannot_be_written_ends_no_run(tmp_path, caplog):
    events = EventLog(tmp_path)

    def fail(*arguments, **options):
        raise OSError("no space left")

    events._writer.add_scalar = fail
    with caplog.at_level(logging.WARNING):
        events.add(ROW, 1.0)
        events.add(ROW, 1.0)
    assert [record.message for record in caplog.records] == [
        "no more events for TensorBoard: no space left"
    ]
    events.close()


def test_nothing_is_written_unless_asked_for(tmp_path):
    with EventLog(tmp_path, "") as events:
        events.add(ROW, 1.0)
    assert list(tmp_path.iterdir()) == []


def test_a_package_that_is_missing_is_told_on_one_line(monkeypatch):
    monkeypatch.setattr(event_log, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="needs tensorboard: pip install tensorboard"):
        checked({"log": "tensorboard"})
    require_log("")


def test_an_unknown_log_is_refused():
    with pytest.raises(ConfigError, match="unknown log 'wandb'; choose one of: tensorboard"):
        LearnerConfig(log="wandb")
