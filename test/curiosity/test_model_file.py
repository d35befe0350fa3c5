"""Model files: exact, whole or absent, and unable to run code."""

import os
import pickle

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, load_model, model_id, save_model
from bayes_curiosity_ros.curiosity.regression import RegressionConfig
from bayes_curiosity_ros.errors import ModelFileError
from bayes_curiosity_ros.files import load_state, save_state, write_atomically


def model() -> SavedModel:
    encoder = Encoder(EncoderConfig(3, image_shape=(4, 16, 16), fourier_features=10))
    config = CuriosityConfig(weight=0.3, form="paper", regression=RegressionConfig(1e-3, 50.0))
    curiosity = Curiosity(encoder, config)
    curiosity.observe(probe(0))
    return SavedModel(curiosity, trained=True, episodes=frozenset({3, 2**63 + 1}))


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


def test_checkpoints_run_nothing_either(tmp_path):
    torch.save({"trap": Trap()}, tmp_path / "trap.pt")
    with pytest.raises(ModelFileError):
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
