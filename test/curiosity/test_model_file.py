"""Model files: exact, whole or absent, and unable to run code."""

import dataclasses
import hashlib
import io
import json
import os
import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import load as from_safetensors
from safetensors.torch import save as to_safetensors
from safetensors.torch import save_file

from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.keeper import CuriosityKeeper, KeeperConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, load_model, model_id, save_model
from bayes_curiosity_ros.curiosity.regression import RegressionConfig
from bayes_curiosity_ros.errors import DamagedFileError, ModelFileError
from bayes_curiosity_ros.files import load_state, save_state, sealed_zip, write_atomically
from bayes_curiosity_ros.spans import Spans


def model() -> SavedModel:
    encoder = Encoder(EncoderConfig(3, image_shape=(4, 16, 16), fourier_features=10))
    config = CuriosityConfig(weight=0.3, form="paper", regression=RegressionConfig(1e-3, 50.0))
    curiosity = Curiosity(encoder, config)
    curiosity.observe(probe(0))
    return SavedModel(curiosity, trained=True, episodes=Spans({3, 2**63 + 1}))


def probe(seed: int) -> Observations:
    rng = np.random.default_rng(seed)
    return Observations(rng.normal(size=(9, 3)), rng.random((9, 4, 16, 16)))


def test_model_round_trips_bit_for_bit(tmp_path):
    saved = model()
    save_model(tmp_path / "deep" / "model.safetensors", saved)
    loaded = load_model(tmp_path / "deep" / "model.safetensors")
    assert loaded.curiosity.config == saved.curiosity.config
    assert loaded.curiosity.encoder.config == saved.curiosity.encoder.config
    assert (loaded.trained, loaded.episodes) == (saved.trained, saved.episodes)
    assert loaded.curiosity.regression.count == 9
    assert model_id(loaded.curiosity) == model_id(saved.curiosity)
    before, after = (m.curiosity.score(probe(1)).variance for m in (saved, loaded))
    assert np.array_equal(before, after)


def test_equal_models_have_equal_files(tmp_path):
    """In every process: names in a safetensors file have no order of their own."""
    checksums = {save_model(tmp_path / str(number), model()) for number in range(5)}
    assert len(checksums) == 1


class Trap:
    """What a malicious pickle would hold."""

    def __reduce__(self):
        return os._exit, (66,)


def foreign(path):
    save_file({"weight": torch.zeros(3)}, path)


def truncated(path):
    save_model(path, model())
    path.write_bytes(path.read_bytes()[:-100])


def pickled(path):
    path.write_bytes(pickle.dumps(Trap()))


def empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (foreign, "format None"),
        (truncated, "damaged"),
        (pickled, "damaged"),
        (empty, "damaged"),
        (lambda path: None, "does not exist"),
    ],
)
def test_bad_files_are_named_and_run_nothing(tmp_path, make, words):
    path = tmp_path / "model.safetensors"
    make(path)
    with pytest.raises(ModelFileError, match=words) as caught:
        load_model(path)
    assert str(path) in str(caught.value)


def rewritten(path, **changes):
    """A file as it would be with other metadata and no checksum."""
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    metadata = header["__metadata__"] | changes
    del metadata["checksum"]
    path.write_bytes(to_safetensors(from_safetensors(data), metadata))


@pytest.fixture
def path(tmp_path):
    save_model(tmp_path / "model.safetensors", model())
    return tmp_path / "model.safetensors"


def test_a_file_of_a_version_without_checksums_is_loaded_and_told(path, caplog):
    rewritten(path, format="bayes_curiosity_model/2")
    loaded = load_model(path)
    assert loaded.curiosity.regression.count == 9
    assert "of a version that wrote no checksum" in caplog.text
    rewritten_id = model_id(loaded.curiosity)
    save_model(path, loaded)
    rewritten(path, format="bayes_curiosity_model/2", model_id="0" * 12)
    with pytest.raises(DamagedFileError, match=f"model {'0' * 12}, and holds {rewritten_id}"):
        load_model(path)


def test_a_file_of_today_without_a_checksum_is_damaged(path):
    rewritten(path)
    with pytest.raises(DamagedFileError, match="its checksum is gone"):
        load_model(path)


def test_another_file_than_was_saved_is_refused(path):
    first = save_model(path, model())
    assert hashlib.sha256(path.read_bytes()).hexdigest() == first
    load_model(path, first)
    save_model(path, dataclasses.replace(model(), episodes=Spans({4})))
    with pytest.raises(DamagedFileError, match="is not what was saved there"):
        load_model(path, first)


def test_at_start_a_model_is_a_path_and_later_a_name(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    keeper = CuriosityKeeper(KeeperConfig(model=path.name, model_folder=str(path.parent / "kept")))
    assert keeper.curiosity.regression.count == 9
    for name in (str(path), f"../{path.name}"):
        with pytest.raises(ModelFileError, match="is not the name of a file in"):
            keeper.load(name)
    where, checksum = keeper.save("new")
    assert where == path.parent / "kept" / "new"
    assert keeper.load("new", checksum) == where


def test_checkpoints_run_nothing_either(tmp_path):
    trap = io.BytesIO()
    torch.save({"trap": Trap()}, trap)
    (tmp_path / "trap.pt").write_bytes(sealed_zip(trap.getvalue()))
    with pytest.raises(ModelFileError, match="damaged or not a checkpoint"):
        load_state(tmp_path / "trap.pt")
    save_state(tmp_path / "good.pt", {"a": torch.ones(2), "b": [1, "x"]})
    assert load_state(tmp_path / "good.pt")["b"] == [1, "x"]


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "model"
    write_atomically(path, b"old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
