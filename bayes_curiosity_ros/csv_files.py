"""CSV files that grow line by line: every line ends with a checksum of its own.

A process that is killed leaves half a last line at most, which readers leave out. Any other line
whose checksum does not fit is damage.
"""

from __future__ import annotations

import csv
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from bayes_curiosity_ros.errors import DamagedFileError
from bayes_curiosity_ros.files import read_file

CHECKSUM = "crc32"  # name of the last column
DIGITS = 8

RowT = TypeVar("RowT")


@dataclass(frozen=True)
class Scanned(Generic[RowT]):
    """What is in a CSV file.

    Attributes:
        rows: whole lines, in order.
        damaged: numbers of the lines that are not as they were written, from 1.
    """

    rows: list[RowT]
    damaged: list[int]


def to_csv(columns: Sequence[str], rows: Iterable[Iterable[object]], header: bool = True) -> str:
    """Rows as lines with checksums.

    Args:
        columns: names of the values.
        rows: values of each.
        header: whether to begin with a line of names.
    """
    first = [",".join((*columns, CHECKSUM)) + "\n"] if header else []
    return "".join((*first, *map(line_of, rows)))


def line_of(values: Iterable[object]) -> str:
    """One line."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(values)
    text = buffer.getvalue()
    return f"{text},{zlib.crc32(text.encode()):0{DIGITS}x}\n"


def read_csv(
    path: Path,
    columns: Sequence[str],
    parse: Callable[[Mapping[str, str]], RowT],
    required: int | None = None,
) -> list[RowT]:
    """Every row of a file; half a last line is left out.

    Args:
        path: path of the file.
        columns: names of the values, the checksum left out.
        parse: makes a row of values by name.
        required: how many of the columns a file of an older version has at least, which has no
            checksums; all if None.

    Raises:
        DamagedFileError: there is no such file, or a line is not as it was written.
    """
    found = scan(path, columns, parse, required)
    if found.damaged:
        raise DamagedFileError(
            f"{path} is damaged in line {found.damaged[0]} ({len(found.damaged)} of "
            f"{len(found.damaged) + len(found.rows)} lines); take a copy of it, or remove these "
            "lines with all others of the same run, and have it done again"
        )
    return found.rows


def scan(
    path: Path,
    columns: Sequence[str],
    parse: Callable[[Mapping[str, str]], RowT],
    required: int | None = None,
) -> Scanned[RowT]:
    """What is whole in a file, and what is not; arguments and errors as of `read_csv`."""
    header, *lines = read_file(path).split(b"\n")
    expected = ",".join((*columns, CHECKSUM)).encode()
    if not lines and expected.startswith(header):  # whoever made it was killed at once
        return Scanned([], [])
    names, checked = _names(header.removesuffix(b"\r"), columns, required)
    found: Scanned[RowT] = Scanned([], [] if names else [1])
    for number, line in _whole(lines, len(columns) if checked else 0):
        try:
            found.rows.append(parse(_values(line, names or columns, checked)))
        except (KeyError, TypeError, ValueError, csv.Error):
            found.damaged.append(number)
    return found


def _names(
    header: bytes, columns: Sequence[str], required: int | None
) -> tuple[Sequence[str], bool]:
    """Names of the values, none if the line is damaged; and whether lines have checksums."""
    names = header.decode(errors="replace").split(",")
    least = len(columns) if required is None else required
    if len(names) >= least and names == [*columns[: len(names)]]:
        return names, False
    return columns if names == [*columns, CHECKSUM] else (), True


def _whole(lines: Sequence[bytes], columns: int) -> Iterator[tuple[int, bytes]]:
    """Lines and their numbers; not a last one of which only a part was written."""
    yield from enumerate(lines[:-1], start=2)
    if lines and lines[-1] and not _is_part(lines[-1], columns):
        yield len(lines) + 1, lines[-1]


def _is_part(line: bytes, columns: int) -> bool:
    """Whether a line can be the beginning of one; without checksums any can."""
    values, _, digits = line.rpartition(b",")
    return not columns or values.count(b",") < columns - 1 or len(digits) < DIGITS


def _values(line: bytes, names: Sequence[str], checked: bool) -> dict[str, str]:
    """The values of a line by name.

    Raises:
        ValueError: it is damaged.
    """
    text = line.decode()
    if checked:
        text, _, digits = text.rpartition(",")
        if digits != f"{zlib.crc32(text.encode()):0{DIGITS}x}":
            raise ValueError("the checksum does not fit")
    (values,) = csv.reader([text.removesuffix("\r")])
    return dict(zip(names, values, strict=True))
