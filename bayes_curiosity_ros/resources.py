"""Where the files that are not Python live: `urdf/`, `config/`, `launch/`, `rviz/`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bayes_curiosity_ros.errors import ConfigError

PACKAGE = "bayes_curiosity_ros"


def share_directories() -> list[Path]:
    """Every place to look, first match wins: the source tree, then the install prefixes."""
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    prefixes.append(Path(sys.prefix))
    return [Path(__file__).resolve().parents[1], *(p / "share" / PACKAGE for p in prefixes)]


def own_path(text: str | Path) -> Path:
    """A path as a user writes it, a leading ~ included.

    Raises:
        ConfigError: nobody knows whose home that is.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise ConfigError(f"{str(text)!r}: there is no such home; write the path out") from None


def find(kind: str, name: str | Path) -> Path:
    """The file `name` of this kind, the user's own or one of ours.

    Args:
        kind: folder that it belongs to, such as "urdf" or "config/robots".
        name: file name in that folder, or a path of the user's own.

    Raises:
        ConfigError: there is none; the message lists where it was looked for.
    """
    own = own_path(name)
    return own if own.is_file() else shared(kind, name)


def shared(kind: str, name: str | Path) -> Path:
    """The file `name` of this kind that came with the package.

    Raises:
        ConfigError: there is none; the message lists where it was looked for.
    """
    candidates = [share / kind / name for share in share_directories()]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    tried = ", ".join(str(candidate) for candidate in (name, *candidates))
    raise ConfigError(f"no {kind} file {str(name)!r}; looked for {tried}")
