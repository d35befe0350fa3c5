"""Shared memory that processes left behind when they were killed.

Fast DDS keeps messages between processes of one machine in files of /dev/shm, and removes them
where a process ends in order. Those of a killed one stay until the machine is restarted, half a
megabyte for each node, and later processes complain of them.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

FOLDER = Path("/dev/shm")
# A segment is what one process sends from, a port where one listens. Whoever owns one holds a
# lock on a file of its name with one of the endings.
OWNED = re.compile(r"fastrtps_(port\d+|[0-9a-f]{16})")
LOCKS = ("_el", "_sl")
# A file is made before it is locked: younger ones, in [s], are left alone.
YOUNG_S = 2.0


def remove_leftovers(folder: Path = FOLDER) -> list[str]:
    """Remove what our dead processes left, and nothing that a living one has; returns names.

    A file counts as left behind if it is this user's, no process has it mapped, and
    nobody holds its lock: not even a process of another container, which we cannot see.
    """
    names = [path.name for path in _ours(folder) if OWNED.fullmatch(path.name)]
    free = [name for name in names if not _locked(folder, name)]
    used = _used(folder) if free else set()
    left = sorted(set(free) - used)
    for name in left:
        for each in (name, *(name + ending for ending in LOCKS), f"sem.{name}_mutex"):
            with suppress(OSError):
                (folder / each).unlink()
    return left


def _ours(folder: Path) -> Iterable[Path]:
    """Files of this user that are not just being made."""
    made_before = time.time() - YOUNG_S
    for path in folder.glob("fastrtps_*"):
        with suppress(OSError):
            about = path.stat()
            if about.st_uid == os.getuid() and about.st_ctime < made_before:
                yield path


def _used(folder: Path) -> set[str]:
    """Names of files in a folder that some process has mapped."""
    found: set[str] = set()
    prefix = f"{folder}/"
    for maps in Path("/proc").glob("[0-9]*/maps"):
        with suppress(OSError):  # it has ended meanwhile, or is none of ours
            found.update(
                line.rpartition(prefix)[2]
                for line in maps.read_text(errors="replace").splitlines()
                if prefix in line
            )
    return found


def _locked(folder: Path, name: str) -> bool:
    """Whether somebody holds a file's lock."""
    for ending in LOCKS:
        with suppress(FileNotFoundError), (folder / f"{name}{ending}").open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
    return False
