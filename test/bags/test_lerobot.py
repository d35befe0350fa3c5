"""A LeRobot dataset, file by file against the layout of version 3.0.

That LeRobot's own reader takes it was tried with lerobot 0.4.4, which is too large for every run.
"""

import io
import json

import numpy as np
import pytest
from PIL import Image

from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.exports import lerobot
from bayes_curiosity_ros.bags.exports.lerobot_frames import frame_rate
from bayes_curiosity_ros.bags.exports.lerobot_stats import column_stats, histogram, image_stats
from bayes_curiosity_ros.bags.exports.registry import ExportSource
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.cli import main
from support.pretended import Run, write_bag, write_records

parquet = pytest.importorskip("pyarrow.parquet")
EPISODES, STEPS, FPS = 3, 5, 10


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A dataset with images, and the run that it is of."""
    folder = tmp_path_factory.mktemp("lerobot")
    run, _ = write_bag(folder / "bag", Run(episodes=EPISODES, steps=STEPS, images=True))
    words = ["bag", "export", str(folder / "bag"), "--format", "lerobot", "--fps", str(FPS)]
    assert main([*words, "--output", str(folder / "set")]) == 0
    return folder / "set", run


def data_of(folder):
    return parquet.read_table(folder / "data/chunk-000/file-000.parquet")


def test_info_describes_every_column(made):
    folder, _ = made
    info = json.loads((folder / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"]) == ("v3.0", FPS)
    assert (info["total_episodes"], info["total_frames"]) == (EPISODES, EPISODES * STEPS)
    assert (info["total_tasks"], info["splits"]) == (1, {"train": f"0:{EPISODES}"})
    assert info["data_path"].format(chunk_index=0, file_index=0) == (
        "data/chunk-000/file-000.parquet"
    )
    features = info["features"]
    assert list(features) == data_of(folder).column_names
    shapes = {name: (feature["dtype"], feature["shape"]) for name, feature in features.items()}
    assert shapes == {
        "observation.state": ("float32", [9]),
        "action": ("float32", [7]),
        "next.done": ("bool", [1]),
        "next.success": ("bool", [1]),
        "complementary_info.is_intervention": ("bool", [1]),
        "next.intrinsic_reward": ("float32", [1]),
        "observation.images.color": ("image", [8, 8, 3]),
        "depth": ("float32", [8, 8]),
        "timestamp": ("float32", [1]),
        "frame_index": ("int64", [1]),
        "episode_index": ("int64", [1]),
        "index": ("int64", [1]),
        "task_index": ("int64", [1]),
    }
    assert len(features["observation.state"]["names"]) == 9
    assert features["action"]["names"][-1] == "gripper"


def test_frames_are_the_recorded_ones(made):
    folder, run = made
    columns = data_of(folder).to_pydict()
    states = np.array(columns["observation.state"], dtype=np.float32)
    expected = run.vectors[:, :-1].reshape(-1, 9).astype(np.float32)
    np.testing.assert_array_equal(states, expected)
    actions = np.array(columns["action"], dtype=np.float32)
    np.testing.assert_array_equal(actions[:, :6], run.actions.reshape(-1, 6).astype(np.float32))
    np.testing.assert_array_equal(actions[:, 6], np.float32(0.25))
    rewards = np.array(columns["next.intrinsic_reward"], dtype=np.float32)
    np.testing.assert_array_equal(rewards, run.rewards[:, 1:].ravel().astype(np.float32))
    images = [
        np.asarray(Image.open(io.BytesIO(image["bytes"])))
        for image in columns["observation.images.color"]
    ]
    np.testing.assert_array_equal(images, run.color[:, :-1].reshape(-1, 8, 8, 3))
    depth = np.array(columns["depth"], dtype=np.float32)
    np.testing.assert_array_equal(depth, run.depth[:, :-1].reshape(-1, 8, 8))


def test_rows_are_numbered_as_readers_expect(made):
    columns = data_of(made[0]).to_pydict()
    assert columns["index"] == list(range(EPISODES * STEPS))
    assert columns["episode_index"] == [row // STEPS for row in range(EPISODES * STEPS)]
    assert columns["frame_index"] == [row % STEPS for row in range(EPISODES * STEPS)]
    np.testing.assert_allclose(columns["timestamp"], np.array(columns["frame_index"]) / FPS)
    assert columns["next.done"] == [frame == STEPS - 1 for frame in columns["frame_index"]]
    file = parquet.ParquetFile(made[0] / "data/chunk-000/file-000.parquet")
    assert file.num_row_groups == EPISODES


def test_episodes_and_tasks_are_listed(made):
    folder, _ = made
    rows = parquet.read_table(folder / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    for index, row in enumerate(rows):
        assert (row["episode_index"], row["length"], row["tasks"]) == (index, STEPS, ["reach"])
        span = row["dataset_from_index"], row["dataset_to_index"]
        assert span == (index * STEPS, (index + 1) * STEPS)
        assert (row["data/chunk_index"], row["data/file_index"]) == (0, 0)
        assert row["outcome"] == "time_limit"
        assert len(row["stats/action/mean"]) == 7
        assert np.shape(row["stats/observation.images.color/std"]) == (3, 1, 1)
    tasks = parquet.read_table(folder / "meta/tasks.parquet")
    assert tasks.to_pydict() == {"task_index": [0], "task": ["reach"]}
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["task"]


def test_statistics_are_those_of_the_data(made):
    folder, run = made
    stats = json.loads((folder / "meta/stats.json").read_text())
    action = run.actions.reshape(-1, 6)
    np.testing.assert_allclose(stats["action"]["mean"][:6], action.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(stats["action"]["std"][:6], action.std(axis=0), rtol=1e-5)
    pixels = run.color[:, :-1].reshape(-1, 3) / 255.0
    color = {name: np.ravel(value) for name, value in stats["observation.images.color"].items()}
    np.testing.assert_allclose(color["mean"], pixels.mean(axis=0))
    np.testing.assert_allclose(color["std"], pixels.std(axis=0))
    np.testing.assert_allclose(color["max"], pixels.max(axis=0))
    assert color["count"] == EPISODES * STEPS


def test_a_histogram_has_the_quantiles_of_its_pixels():
    images = np.random.default_rng(0).integers(0, 200, (3, 32, 32, 3), dtype=np.uint8)
    from_counts = image_stats(histogram(images), len(images))
    from_pixels = column_stats(images.reshape(-1, 3) / 255.0)
    for name in ("min", "max", "mean", "std", "q01", "q10", "q50", "q90", "q99"):
        np.testing.assert_allclose(np.ravel(from_counts[name]), from_pixels[name], atol=1.01 / 255)


def test_a_full_file_is_followed_by_another(tmp_path, monkeypatch):
    write_bag(tmp_path / "bag", Run(episodes=3, images=True))
    monkeypatch.setattr(lerobot, "MAX_FILE_MB", 0.001)
    episodes = read_episodes(BagReader(tmp_path / "bag"))
    lerobot.export_lerobot(tmp_path / "set", ExportSource(episodes, {}, FPS))
    rows = parquet.read_table(tmp_path / "set" / lerobot.EPISODES_PATH).to_pylist()
    assert [row["data/file_index"] for row in rows] == [0, 1, 2]
    for row in rows:
        path = lerobot.DATA_PATH.format(chunk_index=0, file_index=row["data/file_index"])
        (index,) = set(parquet.read_table(tmp_path / "set" / path)["episode_index"].to_pylist())
        assert index == row["episode_index"]


def test_what_is_not_whole_is_left_out_and_named(tmp_path, capsys):
    write_bag(tmp_path / "bag", close=False)
    records = list(BagReader(tmp_path / "bag").records())
    write_records(tmp_path / "less", records[: len(records) // 2])
    words = ["bag", "export", str(tmp_path / "less"), "--format", "lerobot", "--fps", "10"]
    assert main([*words, "--output", str(tmp_path / "set")]) == 0
    told = capsys.readouterr().out
    assert "1 episodes in" in told
    assert "episode 1 is left out" in told
    assert main([*words, "--output", str(tmp_path / "set")]) == 2
    assert "never overwritten" in capsys.readouterr().err


def test_the_frame_rate_is_that_of_the_stamps(tmp_path):
    write_bag(tmp_path / "bag", Run(episodes=1))
    (episode,) = read_episodes(BagReader(tmp_path / "bag"))
    with pytest.raises(BagError, match="give --fps"):
        frame_rate(episode)
    episode.stamps_s[:] = 100.0 + 0.1 * np.arange(len(episode))
    assert frame_rate(episode) == 10
