"""How our programs say what went wrong: one line, and for a bug of ours a file to send."""

from __future__ import annotations

import errno
import io
import os
import platform
import re
import select
import sys
import tempfile
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

from bayes_curiosity_ros.errors import BayesCuriosityError

EXPECTED_CODE, BUG_CODE, PIPE_CODE = 2, 1, 141
# What a user or the machine can do about an error of the operating system.
REMEDIES = {
    errno.ENOENT: "check the path",
    errno.EEXIST: "a file is where a folder should be; name another",
    errno.ENOTDIR: "a file is where a folder should be; name another",
    errno.EISDIR: "a folder is where a file should be; name another",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ELOOP: "the link leads to itself; name another",
    errno.EACCES: "name one that you may use, or change its permissions",
    errno.EPERM: "name one that you may use, or change its permissions",
    errno.EROFS: "name a folder that can be written",
    errno.ENOSPC: "free some space or name a folder elsewhere, then give the command again",
    errno.EDQUOT: "free some space or name a folder elsewhere, then give the command again",
    errno.EFBIG: "name a folder elsewhere",
    errno.EIO: "look at the disk",
    errno.EMFILE: "raise the limit of open files (ulimit -n)",
    errno.ENFILE: "end other programs",
}
PACKAGES = ("bayes_curiosity_ros", "numpy", "torch", "mujoco", "mink", "rclpy", "rosbags")
VARIABLES = ("ROS_DISTRO", "ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE", "RMW_IMPLEMENTATION")
SECRET = re.compile(r"(\w*(?:password|passwd|secret|token)\w*)(:=|=|\s+)(\S+)", re.IGNORECASE)


def complain(error: BaseException, program: str) -> int:
    """Say on one line of stderr what went wrong.

    Args:
        error: what ended the program.
        program: name that the line begins with.

    Returns:
        Exit code: 2 for what the user can mend, 1 for a bug of ours, whose report is in the file
        that the line names, 141 where nobody reads our output any more, of which nothing is said.
    """
    if isinstance(error, BrokenPipeError) and _nobody_reads():
        return PIPE_CODE
    line, code = expected(error), EXPECTED_CODE
    if line is None:
        line, code = _reported(error), BUG_CODE
    print(f"{program}: {line}", file=sys.stderr)
    return code


def expected(error: BaseException) -> str | None:
    """What to tell of an error that is no bug of ours; None for one that is."""
    if isinstance(error, BayesCuriosityError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"not enough memory ({error or 'none left'}); ask for less at once"
    if isinstance(error, OSError) and error.errno in REMEDIES:
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{remedy_of(error)}"
    return None


def remedy_of(error: OSError) -> str:
    """What the operating system says, and what to do about it where we know."""
    what = error.strerror or str(error)
    known = REMEDIES.get(error.errno or 0)
    return f"{what}; {known}" if known else what


def report_of(error: BaseException, words: Sequence[str]) -> str:
    """All that is needed to look for a bug, secrets and all.

    Args:
        error: what was raised.
        words: command line.
    """
    lines = [
        f"time: {datetime.now(UTC).isoformat(timespec='seconds')}",
        f"command: {' '.join(words)}",
        f"platform: {platform.platform()}, Python {platform.python_version()}",
        *(f"{name}: {_version(name)}" for name in PACKAGES),
        *(f"{name}: {os.environ[name]}" for name in VARIABLES if name in os.environ),
        "",
        *traceback.format_exception(error),
    ]
    return "\n".join(lines)


def without_secrets(text: str) -> str:
    """A text with whatever is named like a password in it, or in the environment, left out."""
    known = {match[3] for match in SECRET.finditer(text)}
    known |= {value for name, value in os.environ.items() if SECRET.match(f"{name}=?") and value}
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, "…")
    return text


def steady_streams() -> None:
    """Make the standard streams fit for any text, and be there at all.

    A terminal or pipe of ASCII gets escapes for what it cannot show. Where a stream was closed,
    its number would else go to the next file that is opened, and prints would end in it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            setattr(sys, name, open(number, "r+" if number else "r", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _reported(error: BaseException) -> str:
    """One line about a bug, and where its report is; the report itself where no file can be."""
    first = f"{type(error).__name__}: {error}".splitlines()[0]
    what, text = without_secrets(f"{first}\n{report_of(error, sys.orig_argv)}").split("\n", 1)
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="bayes-curiosity-", suffix=".txt", delete=False, errors="backslashreplace"
        ) as file:
            file.write(text)
    except OSError as full:
        return f"{what}; a bug of ours. Please send us this ({full.strerror}: no file):\n{text}"
    return f"{what}; a bug of ours. Please send us {file.name}, which says how it came about"


def let_go_of_output() -> None:
    """Write what is left to standard output; where it cannot be, it goes nowhere.

    Python would try again when it ends, and complain on lines of its own.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _nobody_reads() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    poll = select.poll()
    try:
        poll.register(sys.stdout.fileno(), 0)
    except OSError:  # no file behind it
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
