"""`bayes-curiosity map`: the map of a recorded run, in numbers and in pictures."""

import json

import numpy as np
import pytest
from matplotlib.colors import Normalize
from PIL import Image

from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.cli import main
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, save_model
from bayes_curiosity_ros.learning.map.figure import project
from bayes_curiosity_ros.learning.map.moments import gains_of, shown
from bayes_curiosity_ros.learning.map.points import CuriosityMap
from bayes_curiosity_ros.monitor.map_history import history_of
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.plan import ABOVE, SIDE
from support.events import events_of
from support.pretended import write_bag
from support.walking import COUNT, PLACE, walking


@pytest.fixture(autouse=True)
def _few_points(monkeypatch):
    """A map of fewer points, which is made once for all tests."""
    monkeypatch.setattr(CuriosityMap.over, "__defaults__", (COUNT,))


@pytest.fixture
def reach():
    return CuriosityMap.over("reach", RobotConfig.load())


def other_encoder():
    encoder = Encoder(EncoderConfig(9))
    for weights in encoder.parameters():
        weights.data += 0.01
    return encoder


def test_the_last_map_is_that_of_the_recorded_posterior(tmp_path, reach):
    run, _ = write_bag(tmp_path / "bag", walking())
    history = history_of(tmp_path / "bag")
    assert [moment.episodes for moment in history.moments] == [0, 1, 2, 3, 4]
    assert [len(path) for path in history.paths] == [21] * 4
    expected = reach.values(gains_of(run.curiosity), history.spot)
    np.testing.assert_array_equal(history.moments[-1].values, expected)


def test_it_goes_dark_where_the_hand_has_been(tmp_path):
    write_bag(tmp_path / "bag", walking())
    history = history_of(tmp_path / "bag")
    near, far = history.left()
    assert near < far - 0.05
    totals = [moment.values.sum() for moment in history.moments]
    assert totals == sorted(totals, reverse=True)


def test_an_aborted_episode_is_shown_and_not_learnt_from(tmp_path):
    write_bag(tmp_path / "bag", walking(episodes=2, aborted={1}))
    history = history_of(tmp_path / "bag")
    assert len(history.paths) == 2
    np.testing.assert_array_equal(history.moments[1].values, history.moments[2].values)


def test_a_long_run_is_shown_at_few_times_most_of_them_early():
    times = [count for count in range(1, 100_001) if shown(count)]
    assert times[:10] == list(range(1, 11))
    assert len(times) < 100


def test_the_command_writes_a_picture_and_a_film_that_goes_dark(tmp_path, capsys):
    write_bag(tmp_path / "bag", walking(episodes=2))
    words = ["map", "--bag", str(tmp_path / "bag"), "--output", str(tmp_path / "out")]
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "where the hand has been" in told
    assert "map.gif (3 frames)" in told
    with Image.open(tmp_path / "out" / "map.gif") as film:
        assert film.n_frames == 3
        light = []
        for frame in range(film.n_frames):
            film.seek(frame)
            light.append(np.asarray(film.convert("L")).mean())
    assert light == sorted(light, reverse=True)
    with Image.open(tmp_path / "out" / "map.png") as picture:
        pixels = np.asarray(picture.convert("L")).astype(float)
    before, after = np.split(pixels[:, : 2 * (pixels.shape[1] * 4 // 10)], 2, axis=1)
    assert after.mean() < before.mean()


def test_the_film_is_in_event_files_where_asked_for(tmp_path):
    pytest.importorskip("tensorboard")
    write_bag(tmp_path / "bag", walking(episodes=1))
    words = ["map", "--bag", str(tmp_path / "bag"), "--output", str(tmp_path / "out")]
    assert main([*words, "--log", "tensorboard"]) == 0
    images = events_of(tmp_path / "out" / "tensorboard").Images("curiosity/map")
    assert [image.step for image in images] == [0, 1]


@pytest.mark.parametrize("view", [ABOVE, SIDE])
def test_a_projection_is_dark_before_what_is_dark_and_empty_out_of_reach(reach, view):
    values = np.where(np.linalg.norm(reach.points - PLACE, axis=1) < 0.2, 0.1, 1.0)
    across, up, seen = project(reach, values, view, Normalize(0.0, 1.0))
    where = np.abs(up - PLACE[view.up]).argmin(), np.abs(across - PLACE[view.across]).argmin()
    assert seen[where] < 0.3
    assert np.nanmax(seen) == pytest.approx(1.0, abs=0.01)
    assert np.isnan(seen[-1, -1])


def test_a_run_without_a_curiosity_needs_a_model(tmp_path, monkeypatch):
    run = walking(episodes=1)
    records = [each for each in run.records() if each.topic != "/curiosity/state"]
    monkeypatch.setattr(run, "records", lambda: iter(records))
    write_bag(tmp_path / "bag", run)
    with pytest.raises(BagError, match=r"no curiosity node was recorded.*--model FILE"):
        history_of(tmp_path / "bag")
    save_model(tmp_path / "given", SavedModel(Curiosity(other_encoder())))
    assert len(history_of(tmp_path / "bag", tmp_path / "given").moments) == 2


def test_a_model_that_is_gone_is_asked_for(tmp_path):
    write_bag(tmp_path / "bag", walking(episodes=1, encoder=other_encoder()))
    with pytest.raises(BagError, match=r"recorded with model \w+, .* pass it with --model FILE"):
        history_of(tmp_path / "bag")


def test_a_model_that_is_another_is_refused(tmp_path):
    write_bag(tmp_path / "bag", walking(episodes=1))
    save_model(tmp_path / "given", SavedModel(Curiosity(other_encoder())))
    with pytest.raises(BagError, match="give the recorded one with --model"):
        history_of(tmp_path / "bag", tmp_path / "given")


@pytest.mark.parametrize("where", ["run/model.safetensors", "elsewhere.safetensors"])
def test_the_model_of_the_run_is_found_by_itself(tmp_path, where):
    save_model(tmp_path / where, SavedModel(Curiosity(other_encoder())))
    bag = tmp_path / "run" / "bags" / "bag"
    settings = json.dumps({"arm": "sim", "robot": "", "model": str(tmp_path / where)})
    about = {"task": "reach", "settings": settings if "elsewhere" in where else "no JSON"}
    write_bag(bag, walking(episodes=1, encoder=other_encoder()), about=about)
    assert len(history_of(bag).moments) == 2


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"seed": "7"}, "does not name its task"),
        ({"task": "visual_reach"}, "observations of 9 numbers.*has 6.*--robot"),
    ],
)
def test_a_bag_that_no_map_fits_is_refused(tmp_path, about, words):
    write_bag(tmp_path / "bag", walking(episodes=1), about=about)
    with pytest.raises(BagError, match=words):
        history_of(tmp_path / "bag")


def test_a_bag_without_observations_is_refused(tmp_path, monkeypatch):
    run = walking(episodes=1)
    records = [each for each in run.records() if each.topic == "/curiosity/state"]
    monkeypatch.setattr(run, "records", lambda: iter(records))
    write_bag(tmp_path / "bag", run)
    with pytest.raises(BagError, match="no observations"):
        history_of(tmp_path / "bag")
