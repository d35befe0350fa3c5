"""Every kind of file, damaged in every way: refused with a line, or read as what it was."""

from __future__ import annotations

import logging
import random
import shutil
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from concurrent.futures import TimeoutError as TooLateError
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

from bayes_curiosity_ros.errors import BayesCuriosityError
from benchmarks._report import report
from benchmarks.faults.damages import damaged
from benchmarks.faults.ledger import Ledger, Trial
from benchmarks.faults.loaders import KINDS, digest

LOAD_S = 120.0
BATCH = 50  # trials between two lines about progress


@cache
def _originals(folder: Path) -> dict[str, Path]:
    """A file of every kind, each in a folder of its own."""
    found = {}
    for name, kind in KINDS.items():
        place = folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        found[name] = kind.make(place)
    return found


@cache
def _wanted(name: str, folder: Path) -> str:
    """What a copy that nobody damaged gives, every time."""
    outcome, said = _read(name, _copy(name, folder))
    again, _ = _read(name, _copy(name, folder))
    if said or again != outcome or outcome.startswith(("refused", "traceback")):
        raise RuntimeError(f"an undamaged {name} is not read: {outcome} {said}")
    return outcome


def _copy(name: str, folder: Path) -> Path:
    """A fresh copy of the original and of what lies beside it."""
    original, place = _originals(folder)[name], folder / f"{name}_copy"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / name, place)
    return place / original.relative_to(folder / name)


def _read(name: str, path: Path) -> tuple[str, str]:
    """Digest of what was read, or why it was not; and what was said of losses."""
    warnings: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: warnings.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    try:
        value, said = KINDS[name].load(path)
        said = "; ".join([*filter(None, [said]), *warnings])
    except BayesCuriosityError as error:
        lines = str(error).count("\n") + 1
        return ("refused" if lines == 1 else f"refused in {lines} lines"), str(error)[:300]
    except Exception as error:  # whatever it is, a user would see it as a traceback
        return f"traceback: {type(error).__name__}", str(error)[:300]
    finally:
        logging.getLogger().removeHandler(handler)
    return digest(value), said


def damage_and_read(name: str, number: int, folder: Path) -> tuple[str, str]:
    """One trial, in a process of its own: its outcome and a note."""
    rng = random.Random(f"{name} {number}")
    wanted, originals = _wanted(name, folder), _originals(folder)
    others = [path.read_bytes() for other, path in originals.items() if other != name]
    how, data = damaged(originals[name].read_bytes(), rng, others)
    path = _copy(name, folder)
    path.write_bytes(data)
    found, said = _read(name, path)
    return _judged(name, found, wanted, said), f"{how}: {said}" if said else how


def _judged(name: str, found: str, wanted: str, said: str) -> str:
    if found.startswith(("refused", "traceback")):
        return found
    if found == wanted:
        return "identical"
    if said:
        return "told"
    return "edited" if KINDS[name].edited else "silent"


class Reader:
    """Reads damaged files in another process, which may die or hang of one.

    Args:
        folder: folder for the files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pool: ProcessPoolExecutor | None = None

    def trial(self, name: str, number: int) -> Trial:
        """Damage a file, read it, tell what came of it."""
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        try:
            future = self._pool.submit(damage_and_read, name, number, self._folder)
            outcome, note = future.result(LOAD_S)
        except (BrokenExecutor, TooLateError) as error:
            self.close()
            outcome, note = "traceback: the reader died or hung", repr(error)
        return Trial("", "", 1, outcome, 0, note)

    def close(self) -> None:
        """End the other process."""
        if self._pool is not None:
            for process in list(self._pool._processes.values()):
                process.kill()
            self._pool.shutdown(cancel_futures=True)
        self._pool = None


def campaign(ledger: Ledger, folder: Path, each: int, kinds: list[str]) -> None:
    """Damage each kind of file so often, and report.

    Args:
        ledger: keeps the trials.
        folder: folder for the files.
        each: damages of each kind.
        kinds: names of the kinds.
    """
    reader = Reader((folder / "files").resolve())
    jobs = [
        (f"{name}/{number}", partial(reader.trial, name, number))
        for name in kinds
        for number in range(each)
    ]
    try:
        tell(ledger.work("files", jobs, BATCH))
    finally:
        reader.close()


def tell(trials: list[Trial]) -> None:
    """Print the part's figures."""
    for figure, word in (("tracebacks", "traceback"), ("silent", "silent")):
        hit = [t.name.partition("/")[0] for t in trials if t.outcome.startswith(word)]
        counts = ", ".join(f"{name} {hit.count(name)}" for name in dict.fromkeys(hit))
        report(
            f"faults/files/{figure}", 1 + len(hit), 1, unit="1 + damages", higher_is_better=False,
            note=f"{counts or 'none'} of {len(trials)} damages; bar: 0",
        )  # fmt: skip
