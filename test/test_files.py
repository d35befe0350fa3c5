"""Every kind of file of ours: damage is named on one line, never loaded; names stay inside."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, load_model, save_model
from bayes_curiosity_ros.errors import BayesCuriosityError, ModelFileError
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.store import (
    END,
    ROWS,
    SETTINGS,
    Store,
    read_rows,
    read_settings,
)
from bayes_curiosity_ros.files import read_file, within
from bayes_curiosity_ros.learning.checkpoint import load_checkpoint, save_checkpoint
from bayes_curiosity_ros.learning.episode_log import EpisodeLog, EpisodeRow, read_log
from bayes_curiosity_ros.learning.policy import GaussianPolicy
from bayes_curiosity_ros.learning.pretrained import load_policy, save_policy
from bayes_curiosity_ros.learning.trail import Trail, read_trail
from bayes_curiosity_ros.nodes.recorder_node import RecorderConfig
from bayes_curiosity_ros.spans import Spans
from bayes_curiosity_ros.tasks.demonstrations import DemonstrationConfig, Demonstrations
from support.learners import make_trainer

DAMAGES = 60


@dataclass(frozen=True)
class Budget:
    """Settings of an experiment's cell."""

    timesteps: int = 10

    def fingerprint(self) -> dict[str, object]:
        return vars(self)


CELL = Cell("reach", "trpo", "rnd")


def model(path: Path) -> None:
    curiosity = Curiosity(Encoder(EncoderConfig(3, hidden_sizes=(8,), fourier_features=10)))
    curiosity.observe(Observations(np.random.default_rng(0).normal(size=(9, 3))))
    save_model(path, SavedModel(curiosity, episodes=Spans({1, 2})))


def checkpoint(path: Path) -> None:
    save_checkpoint(path, make_trainer("trpo"))


def policy() -> GaussianPolicy:
    return GaussianPolicy(np.zeros(3), np.ones(3), 2, np.random.default_rng(0), (4,))


def demonstrations(path: Path) -> None:
    rng = np.random.default_rng(0)
    config = DemonstrationConfig(count=8)
    shown = Demonstrations("reach", rng.random((8, 3)), None, rng.random((8, 2)), 2, 1, config)
    shown.save(path)


def log(path: Path) -> None:
    made = EpisodeLog(path)
    for number in range(1, 9):
        made.add(EpisodeRow(number, 10 * number, 10, "success", 1.5, 0.1 / number, -4.0, 7.25))
    made.close()


def trail(path: Path) -> None:
    made = Trail(path)
    for number in range(1, 5):
        made.add(number, np.full((6, 2), number / 3))
    made.close()


def rows(path: Path) -> None:
    Store(path.parent, {CELL: Budget()}).append(
        Row(*CELL, 0, timesteps, episodes=timesteps) for timesteps in (5, 10)
    )


def settings(path: Path) -> None:
    Store(path.parent, {CELL: Budget()})


@dataclass(frozen=True)
class Kind:
    """A kind of file: its name, who writes and who reads one, whether it only grows."""

    name: str
    write: Callable[[Path], object]
    read: Callable[[Path], object]
    grows: bool = False


def checkpoint_of(path: Path) -> Any:
    trainer = make_trainer("trpo")
    load_checkpoint(path, trainer)
    return trainer.state_dict()


def policy_of(path: Path) -> Any:
    fresh = policy()
    load_policy(path, fresh, "reach")
    return fresh.parameters


KINDS = {
    "checkpoint": Kind("c.pt", checkpoint, checkpoint_of),
    "policy": Kind("p.pt", lambda path: save_policy(path, policy(), "reach"), policy_of),
    "model": Kind("m.safetensors", model, load_model),
    "demonstrations": Kind("d.npz", demonstrations, Demonstrations.load),
    "settings": Kind(SETTINGS, settings, lambda path: read_settings(path.parent)),
    "rows": Kind(ROWS, rows, read_rows),
    "log": Kind("episodes.csv", log, read_log, grows=True),
    "trail": Kind("o.f32", trail, lambda path: read_trail(path, 2)),
    "trail's table": Kind(
        "o.csv",
        lambda path: trail(path.with_suffix(".f32")),
        lambda path: read_trail(path.with_suffix(".f32"), 2),
        grows=True,
    ),
}


def refusal(kind: Kind, path: Path) -> str:
    """What the reader says of a file that it must refuse."""
    with pytest.raises(BayesCuriosityError) as caught:
        kind.read(path)
    return str(caught.value)


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


@pytest.fixture
def path(kind: Kind, tmp_path: Path) -> Path:
    """A whole file of the kind, which can be read."""
    made = tmp_path / kind.name
    kind.write(made)
    kind.read(made)
    return made


def test_a_flipped_bit_anywhere_is_noticed(kind, path):
    whole = path.read_bytes()
    for place in np.linspace(0, len(whole) * 8 - 1, DAMAGES).astype(int):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        words = refusal(kind, path)
        assert "damaged" in words, (place, words)
        assert "\n" not in words
    path.write_bytes(whole)
    kind.read(path)


def test_a_block_that_is_lost_or_overwritten_is_noticed(kind, path):
    rng, whole = np.random.default_rng(0), path.read_bytes()
    for start in rng.integers(0, len(whole), DAMAGES // 2):
        size = int(rng.integers(1, 64))
        for block in (b"", bytes(size), rng.bytes(size)):
            damaged = whole[:start] + block + whole[start + size :]
            if damaged == whole or (kind.grows and start + size >= len(whole)):
                continue
            path.write_bytes(damaged)
            assert "\n" not in refusal(kind, path)


def test_what_is_left_of_a_file_that_was_cut_is_refused_or_what_it_was_then(kind, path):
    """A file that grows line by line, cut, is the file of an earlier moment."""
    whole = path.read_bytes()
    for size in np.linspace(0, len(whole) - 1, DAMAGES // 2).astype(int):
        path.write_bytes(whole[:size])
        if not kind.grows:
            assert "\n" not in refusal(kind, path)
            continue
        left = kind.read(path)
        assert len(left) <= whole[:size].count(b"\n") * 6  # type: ignore[arg-type]


def test_files_of_another_kind_are_refused(kind, tmp_path):
    for other in KINDS.values():
        if other is kind:
            continue
        folder = tmp_path / other.name
        other.write(folder / other.name)
        (folder / other.name).rename(folder / f"of_{kind.name}")
        target = folder / kind.name
        target.unlink(missing_ok=True)
        (folder / f"of_{kind.name}").rename(target)
        assert "\n" not in refusal(kind, target)


OUTSIDE = ["", ".", "a/..", "..", "../x", "a/../../x", "/etc/passwd", "out/x", "link", "loop"]


@pytest.mark.parametrize("name", [*OUTSIDE, "x" * 300, "x\0y", "\udcff" * 200])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path, name):
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path)
    (folder / "link").symlink_to(tmp_path / "not there")
    (folder / "loop").symlink_to(folder / "loop")
    with pytest.raises(ModelFileError) as caught:
        read_file(within(folder, name))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_name_within_the_folder_is_taken_even_if_the_folder_is_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "models").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "here").symlink_to(tmp_path / "real" / "arm")
    for name in ("arm", "a/../arm", "here"):
        assert within(tmp_path / "models", name) == tmp_path / "real" / "arm"
    assert within(tmp_path / "models", "deep/arm") == tmp_path / "real" / "deep" / "arm"


def test_a_bag_stays_in_its_folder(tmp_path):
    recorder = RecorderConfig(folder=str(tmp_path), name="mine")
    assert recorder.path() == tmp_path / "mine"
    with pytest.raises(ModelFileError, match="is not the name of a file in"):
        dataclasses.replace(recorder, name="../theirs").path()


def test_what_is_no_file_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero"), tmp_path / ("x" * 300)):
        with pytest.raises(ModelFileError):
            read_file(path)


def test_a_file_of_a_version_without_checksums_has_to_be_made_again(tmp_path):
    torch.save({"format": "bayes_curiosity_policy/1"}, tmp_path / "policy.pt")
    with pytest.raises(ModelFileError, match="version that wrote no checksums"):
        load_policy(tmp_path / "policy.pt", policy(), "reach")


def test_rows_and_settings_of_a_version_without_checksums_are_read(tmp_path):
    rows(tmp_path / ROWS)
    kept = read_rows(tmp_path / ROWS)
    (tmp_path / END).unlink()
    text = (tmp_path / ROWS).read_text()
    old = [f"{line.rpartition(',')[0]}\n" for line in text.splitlines()]
    (tmp_path / ROWS).write_text("".join(old))
    (tmp_path / SETTINGS).write_text('{"a": {}}')
    assert list(map(str, read_rows(tmp_path / ROWS))) == list(map(str, kept))  # NaN is not NaN
    assert read_settings(tmp_path) == {"a": {}}
