"""Message definitions as bags carry them, so that a bag explains itself without our package."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from bayes_curiosity_ros.bags.errors import BagError

_PRIMITIVES = {
    "bool", "byte", "char", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32",
    "uint32", "int64", "uint64", "string", "wstring",
}  # fmt: skip
_FIELD = re.compile(r"^\s*([A-Za-z][\w/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[A-Za-z]\w*", re.MULTILINE)
_DELIMITER = "=" * 80


@dataclass(frozen=True)
class Definition:
    """What a message type is.

    Attributes:
        type_name: such as "std_msgs/msg/Header".
        text: the .msg file, then those of all types it uses, in rosbag2's format.
        type_hash: REP 2011, "RIHS01_…"; empty where nobody knows it.
    """

    type_name: str
    text: str
    type_hash: str = ""


def find_definition(type_name: str) -> Definition:
    """The definition of an installed type.

    Raises:
        BagError: its package is not installed; the message says where it was looked for.
    """
    text = _file(type_name, "msg").read_text()
    seen: list[str] = []
    parts = [text, *_used(type_name, text, seen)]
    return Definition(type_name, "\n".join(parts), _type_hash(type_name))


def _used(type_name: str, text: str, seen: list[str]) -> list[str]:
    """The sections of the types that `text` uses, and those that they use."""
    package, sections = type_name.split("/")[0], []
    for name in sorted(set(_FIELD.findall(_without_comments(text))) - _PRIMITIVES):
        short = name if "/" in name else f"{package}/{name}"
        if short in seen:
            continue
        seen.append(short)
        section = _file(short, "msg").read_text()
        sections.append(f"{_DELIMITER}\nMSG: {short}\n{section}")
        sections += _used(short, section, seen)
    return sections


def _without_comments(text: str) -> str:
    return re.sub(r"#.*", "", text)


def _type_hash(type_name: str) -> str:
    description = _file(type_name, "msg").with_suffix(".json")
    if not description.is_file():
        return ""
    hashes = {
        entry["type_name"]: entry["hash_string"]
        for entry in json.loads(description.read_text()).get("type_hashes", [])
    }
    return str(hashes.get(type_name, ""))


def _file(type_name: str, extension: str) -> Path:
    package, name = type_name.split("/")[0], type_name.split("/")[-1]
    prefixes = [Path(p) for p in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    for prefix in [*prefixes, Path(sys.prefix)]:
        candidate = prefix / "share" / package / "msg" / f"{name}.{extension}"
        if candidate.is_file():
            return candidate
    raise BagError(
        f"no definition of {type_name}: package {package} is not installed in "
        f"{', '.join(map(str, [*prefixes, sys.prefix]))}"
    )
