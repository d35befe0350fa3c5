"""How a curiosity node begins and ends: a process of its own in every test."""

import signal

import pytest

from bayes_curiosity_interfaces.msg import Status
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.keeper import CuriosityKeeper, KeeperConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, save_model
from bayes_curiosity_ros.errors import BayesCuriosityError
from support.curiosity import CURIOSITY, Caller, vectors
from support.graph import parameters
from support.processes import output_of, stopped

UNTRAINED = "random and frozen"


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_untrained_start_warns_and_a_signal_ends_it_cleanly(start, background, sent):
    process = start(CURIOSITY)
    Caller(background).evaluate(vectors(1))
    output = stopped(process, sent)
    assert process.returncode == 0, output
    assert UNTRAINED in output
    assert "Traceback" not in output


def test_a_saved_model_does_not_warn_and_signals_in_a_row_end_it_cleanly(
    start, background, tmp_path
):
    save_model(tmp_path / "trained", SavedModel(Curiosity(Encoder(EncoderConfig(2)))))
    process = start(CURIOSITY, *parameters(model=str(tmp_path / "trained")))
    assert Caller(background).evaluate(vectors(1, size=2)).status.code == Status.OK
    process.send_signal(signal.SIGINT)
    output = stopped(process, signal.SIGTERM)
    assert process.returncode == 0, output
    assert UNTRAINED not in output
    assert "Traceback" not in output


def test_a_bad_parameter_ends_it_with_one_line(start):
    process = start(CURIOSITY, *parameters(curiosity__form="raw"))
    output = output_of(process)
    assert process.returncode == 2
    assert "unknown form 'raw'; choose one of: elliptical, nonnegative, paper" in output
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: KeeperConfig(encoder=EncoderConfig(vector_size=0)), "vector_size = 0"),
        (lambda: KeeperConfig(model="/no/such/file"), "does not exist"),
        (lambda: KeeperConfig(max_batch=0), "max_batch = 0"),
    ],
)
def test_what_else_may_be_wrong_is_named(wrong, words):
    with pytest.raises(BayesCuriosityError, match=words):
        CuriosityKeeper(wrong())
