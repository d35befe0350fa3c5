"""What killed processes leave in shared memory is removed, and nothing that a living one has."""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from bayes_curiosity_ros.bringup import shared_memory
from bayes_curiosity_ros.bringup.shared_memory import remove_leftovers
from support.waiting import wait_for

DEAD, LOCKED, MAPPED = (f"fastrtps_{digit * 16}" for digit in "abc")
PORT = "fastrtps_port7412"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(shared_memory, "YOUNG_S", -1.0)
    for name in (DEAD, LOCKED, MAPPED, PORT):
        (tmp_path / name).write_bytes(bytes(4096))
        (tmp_path / f"{name}_el").touch()
    (tmp_path / f"sem.{PORT}_mutex").touch()
    (tmp_path / "fastrtps_somebody_elses").touch()
    (tmp_path / "sem.other").touch()
    return tmp_path


def test_what_nobody_has_is_removed_with_its_lock_and_mutex(folder):
    with (folder / f"{LOCKED}_el").open() as held, (folder / MAPPED).open("r+b") as file:
        fcntl.flock(held, fcntl.LOCK_EX)
        with mmap.mmap(file.fileno(), 0):
            assert remove_leftovers(folder) == [DEAD, PORT]
    left = {path.name for path in folder.iterdir()}
    living = {each for name in (LOCKED, MAPPED) for each in (name, f"{name}_el")}
    assert left == living | {"fastrtps_somebody_elses", "sem.other"}


def test_what_was_just_made_is_left_alone(folder, monkeypatch):
    monkeypatch.setattr(shared_memory, "YOUNG_S", 60.0)
    assert remove_leftovers(folder) == []
    assert (folder / DEAD).exists()


def test_a_killed_node_leaves_files_that_are_removed(start, monkeypatch):
    monkeypatch.setenv("FASTDDS_BUILTIN_TRANSPORTS", "DEFAULT")
    monkeypatch.setattr(shared_memory, "YOUNG_S", -1.0)

    def files():
        return {p.name for p in shared_memory.FOLDER.glob("fastrtps_*")}

    node = start("bayes_curiosity_ros.nodes.detector_node")
    wait_for(lambda: mapped(node.pid), "shared memory of the node")
    own = mapped(node.pid)
    remove_leftovers()
    assert own <= files()
    os.kill(node.pid, signal.SIGKILL)
    node.wait()
    remove_leftovers()
    dead = own - set().union(*map(mapped, living()))  # less what it heard from others
    assert dead
    assert not dead & files()


def living():
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]


def mapped(pid):
    """Segments that a process has in shared memory."""
    with suppress(OSError), open(f"/proc/{pid}/maps") as maps:
        words = (line.split()[-1] for line in maps)
        names = {word.rpartition("/")[2] for word in words if word.startswith("/dev/shm/")}
        return {name for name in names if re.fullmatch("fastrtps_[0-9a-f]{16}", name)}
    return set()  # it has ended
