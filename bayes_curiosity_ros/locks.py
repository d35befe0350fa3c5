"""Folders that one process has to itself; the kernel lets go of them when it ends, however."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from bayes_curiosity_ros.errors import ConfigError

LOCK = ".lock"


class FolderLock:
    """Holds a folder for as long as it is open; a context manager.

    Whoever was started by the process that holds the folder writes to it on its behalf, as the
    learner does for `bayes-curiosity up`.

    Args:
        folder: made if it is not there.

    Raises:
        ConfigError: another process holds it.
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK
        folder.mkdir(parents=True, exist_ok=True)
        self._file: TextIO | None = path.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            self._require_parents(path)
        else:
            self._file.truncate(0)
            print(os.getpid(), file=self._file, flush=True)

    def close(self) -> None:
        """Let others have it."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _require_parents(self, path: Path) -> None:
        holder = path.read_text().strip()
        if holder != str(os.getppid()):
            raise ConfigError(
                f"another process is writing to {path.parent}: {holder or 'just begun'}; wait for "
                "it or end it, or choose another folder"
            )


@contextmanager
def locked(path: Path) -> Generator[None, None, None]:
    """Have what a file stands for to oneself for a moment; waits while another has it."""
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
