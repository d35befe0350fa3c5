"""Which run a node works for, and which process writes to a folder."""

import subprocess
import sys

import pytest

from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.locks import FolderLock
from bayes_curiosity_ros.runs import NOBODY, OtherRunError, Tenancy, keep_run, new_run, run_in

FIRST, SECOND = 7, 8


@pytest.fixture
def now():
    return [100.0]


@pytest.fixture
def tenancy(now):
    return Tenancy("arm", 20.0, lambda: now[0])


def test_ids_are_never_nobodys_and_never_repeat():
    ids = {new_run() for _ in range(1000)}
    assert len(ids) == 1000
    assert NOBODY not in ids


def test_only_a_learner_in_its_predecessors_place_goes_on_with_its_id(tmp_path):
    assert run_in(tmp_path, again=True) != run_in(tmp_path, again=True)
    keep_run(tmp_path, FIRST)
    assert run_in(tmp_path, again=True) == FIRST
    assert run_in(tmp_path, again=False) != FIRST
    (tmp_path / ".run").write_text("no number")
    assert run_in(tmp_path, again=True) != FIRST


def test_a_free_node_serves_whoever_names_no_run(tenancy):
    tenancy.require(NOBODY)
    tenancy.ask(NOBODY)
    with pytest.raises(OtherRunError, match="has not taken it"):
        tenancy.require(FIRST)


def test_a_taken_node_serves_that_run_alone_and_says_whose_it_is(tenancy):
    tenancy.take(FIRST)
    tenancy.require(FIRST)
    tenancy.ask(FIRST)
    for refused in (tenancy.take, tenancy.require, tenancy.ask):
        with pytest.raises(
            OtherRunError, match="in use by run 0000000000000007; end that learner"
        ):
            refused(SECOND)
    with pytest.raises(OtherRunError, match="20 s more"):
        tenancy.ask(NOBODY)
    assert (tenancy.run, tenancy.strangers) == (FIRST, 4)


def test_a_run_that_is_over_gives_way_at_once(tenancy):
    tenancy.take(FIRST)
    tenancy.leave(SECOND)
    assert tenancy.run == FIRST
    tenancy.leave(FIRST)
    tenancy.take(SECOND)
    assert tenancy.run == SECOND


def test_a_silent_run_gives_way_to_one_who_asks_and_to_no_stray_message(tenancy, now):
    tenancy.take(FIRST)
    now[0] += 19.0
    tenancy.require(FIRST)
    now[0] += 19.0
    with pytest.raises(OtherRunError, match="1 s more"):
        tenancy.take(SECOND)
    now[0] += 2.0
    with pytest.raises(OtherRunError):
        tenancy.require(NOBODY)
    tenancy.require(FIRST)  # it was late, and nobody else had asked
    now[0] += 21.0
    tenancy.take(SECOND)
    with pytest.raises(OtherRunError):
        tenancy.require(FIRST)


def test_a_folder_has_one_writer_and_the_error_names_it(tmp_path):
    hold = (
        "import sys; from pathlib import Path; from bayes_curiosity_ros.locks import FolderLock\n"
        "lock = FolderLock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", hold, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(ConfigError, match=f"writing to {tmp_path}: {other.pid}; wait for it"):
            FolderLock(tmp_path)
        other.kill()
    with FolderLock(tmp_path):  # the kernel let go of it
        # Our own child writes on our behalf.
        child = subprocess.run(command, input="", capture_output=True, text=True, check=False)
        assert (child.returncode, child.stdout) == (0, "held\n"), child.stderr


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        FolderLock(tmp_path / "file")
