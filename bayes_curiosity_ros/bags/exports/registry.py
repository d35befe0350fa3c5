"""One registry of export formats: a name and episodes in, files out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bayes_curiosity_ros.bags.episode import Episode
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.configuration.registry import Registry


@dataclass(frozen=True)
class ExportSource:
    """What is exported.

    Attributes:
        episodes: the episodes; read as they are written, so that memory holds few of them.
        about: the bag's description of its run.
        fps: control steps per second, for a format that has them; 0 to take them from the stamps.
    """

    episodes: Iterable[Episode]
    about: Mapping[str, str]
    fps: int = 0


@dataclass(frozen=True)
class Exported:
    """What came of an export.

    Attributes:
        path: file or folder that was written.
        episodes: number of episodes in it.
        left_out: sentences on episodes that are not in it.
    """

    path: Path
    episodes: int
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportEntry:
    """An export format.

    Attributes:
        name: what users type.
        make: writes a source to a path, and says what came of it.
        output: what is written to the path, in a few words.
        needs: packages that must be installed besides our own requirements.
    """

    name: str
    make: Callable[[Path, ExportSource], Exported]
    output: str
    needs: tuple[str, ...] = ()


EXPORTS: Registry[ExportEntry] = Registry(
    "export format", ExportEntry, "bayes_curiosity_ros.bags.exports"
)


def export(name: str, path: Path, source: ExportSource) -> Exported:
    """Write episodes in the format of this name.

    Raises:
        ConfigError: no such format; the message lists the names there are.
        BagError: it needs a package that is not installed, or there is nothing to export.
    """
    entry = EXPORTS[name]
    missing = [package for package in entry.needs if find_spec(package) is None]
    if missing:
        packages = " ".join(missing)
        raise BagError(f"export format {name!r} needs {packages}: pip install {packages}")
    return entry.make(path, source)
