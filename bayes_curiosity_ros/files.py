"""Files that are whole or absent, carry a checksum, and run no code when they are read.

The checksum of a file is a SHA-256 that stands in the file itself, where its format has room for
words: in the comment of a zip file, in the metadata of a safetensors file, in a JSON entry. It
covers every byte but its own digits, which count as zeros, and leaves the file readable to the
libraries of its format.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayes_curiosity_ros.errors import DamagedFileError, ModelFileError

SEAL = b"bayes_curiosity sha256 "  # before the digits
BLANK = b"0" * 64
ROOM = SEAL + BLANK  # what a file has to contain, once, to be sealed
MAX_NAME = 255  # bytes of a name that somebody else gave
ZIP_END = b"PK\x05\x06"
ZIP_END_SIZE = 22


def write_atomically(path: Path, data: bytes, previous: Path | None = None) -> None:
    """Write under a temporary name, sync, rename: readers see the old file or the new one.

    Args:
        path: path of the file.
        data: all that it is to hold.
        previous: where the file goes that was there before, if its checksum fits.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if previous is not None and is_intact(path):
            os.replace(path, previous)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def read_file(path: Path, remedy: str = "name another, or make it first") -> bytes:
    """All bytes of an ordinary file.

    Args:
        path: path of the file.
        remedy: what to do where there is none.

    Raises:
        DamagedFileError: there is none, or it cannot be read.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise DamagedFileError(f"{path} is not a file; {remedy}")
        return path.read_bytes()
    except FileNotFoundError:
        raise DamagedFileError(f"{path} does not exist; {remedy}") from None
    except (OSError, ValueError) as error:
        raise DamagedFileError(f"cannot read {path}: {reason_of(error)}") from error


def within(folder: Path, name: str) -> Path:
    """The full path of a file in a folder, by a name that somebody else gave.

    Raises:
        ModelFileError: the name is empty or too long, or what it names is, symbolic links
            followed, not in the folder.
    """
    if not name:
        raise ModelFileError("path is empty; name a file such as arm.safetensors")
    size = len(name.encode(errors="replace"))
    if size > MAX_NAME:
        raise ModelFileError(f"path has {size} bytes; a name has at most {MAX_NAME}")
    try:
        root = folder.expanduser().resolve()
        path = (root / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelFileError(f"path {name!r} names no file: {reason_of(error)}") from error
    if Path(name).is_absolute() or path == root or not path.is_relative_to(root):
        raise ModelFileError(
            f"path {name!r} is not the name of a file in {root}; this node reads and writes "
            "there alone. Its parameters name another folder at start"
        )
    return path


def checksum(data: bytes) -> str:
    """What `sha256sum` says of a file with this content."""
    return hashlib.sha256(data).hexdigest()


def sealed(data: bytes) -> bytes:
    """Data with its checksum filled in; it has `ROOM` for it, once."""
    assert data.count(ROOM) == 1
    return data.replace(ROOM, SEAL + checksum(data).encode())


def is_sealed(path: Path, data: bytes) -> bool:
    """Whether data, the content of a file, carries a checksum; one that is there fits.

    Raises:
        DamagedFileError: the checksum does not fit.
    """
    start = data.find(SEAL) + len(SEAL)
    if start < len(SEAL):
        return False
    end = start + len(BLANK)
    if data[start:end] != checksum(data[:start] + BLANK + data[end:]).encode():
        raise DamagedFileError(
            f"{path} is damaged: its checksum does not fit; take a copy of it, or make it again"
        )
    return True


def is_intact(path: Path) -> bool:
    """Whether there is a file, with a checksum that fits."""
    try:
        return is_sealed(path, read_file(path))
    except DamagedFileError:
        return False


def sealed_zip(data: bytes) -> bytes:
    """A zip file without a comment as one whose comment is its checksum."""
    assert data[-ZIP_END_SIZE:].startswith(ZIP_END)
    return sealed(data[:-2] + len(ROOM).to_bytes(2, "little") + ROOM)


def read_zip(path: Path, kind: str, remedy: str = "make it again") -> io.BytesIO:
    """What `sealed_zip` made, as a file in memory whose checksum fits.

    Args:
        path: path of the file.
        kind: what it should be, in a word or two.
        remedy: what to do where it is not.

    Raises:
        DamagedFileError: there is none, or its checksum is missing or does not fit.
    """
    data = read_file(path, remedy)
    if not is_sealed(path, data):
        raise DamagedFileError(
            f"{path} is damaged or not a {kind}, or of a version that wrote no checksums: it has "
            f"none; {remedy}"
        )
    return io.BytesIO(data)


def save_state(path: Path, state: Mapping[str, Any], previous: Path | None = None) -> None:
    """Save nested dicts and lists of tensors, numbers and strings.

    Args:
        path: path of the file.
        state: what to save.
        previous: as of `write_atomically`.
    """
    import torch  # here, as most who write files need none of it

    buffer = io.BytesIO()
    torch.save(dict(state), buffer)
    write_atomically(path, sealed_zip(buffer.getvalue()), previous)


def load_state(path: Path) -> dict[str, Any]:
    """Load what `save_state` wrote; plain data only, so that loading can run no code.

    Raises:
        DamagedFileError: missing, damaged or of another kind.
    """
    import torch

    file = read_zip(path, "checkpoint")
    try:
        state = torch.load(file, weights_only=True)
    except Exception as error:  # torch has no list of what a file of somebody else's may raise
        raise DamagedFileError(
            f"{path} is damaged or not a checkpoint: {reason_of(error)}"
        ) from error
    if not isinstance(state, dict):
        raise DamagedFileError(f"{path} holds a {type(state).__name__}, not a checkpoint")
    return state


def reason_of(error: Exception) -> str:
    """What an error says, on one line."""
    words = getattr(error, "strerror", None) or str(error)
    return words.splitlines()[0] if words else type(error).__name__


def _sync_folder(folder: Path) -> None:
    """Make a rename durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
