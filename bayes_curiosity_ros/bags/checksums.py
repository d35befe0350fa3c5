"""Checksums of what a bag says of itself; those of messages are in its files.

CRC-32, as MCAP has it: against damage, not against forgery.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping

from bayes_curiosity_ros.bags.errors import BagError

FORMAT = "bayes_curiosity_bag/2"  # since 2, every part has a checksum
KEY = "checksum"
_LINE = f"\n    {KEY}: "  # in metadata.yaml, among custom_data


def checksum(data: bytes) -> str:
    """Eight hexadecimal digits, after a letter so that no YAML takes them for a number."""
    return f"x{zlib.crc32(data):08x}"


def sealed(about: Mapping[str, str]) -> dict[str, str]:
    """A description with its checksum."""
    return {**about, KEY: checksum(_bytes(about))}


def opened(about: Mapping[str, str], where: str) -> dict[str, str]:
    """What `sealed` sealed; a description without a checksum as it is.

    Raises:
        BagError: it does not fit.
    """
    plain = {name: value for name, value in about.items() if name != KEY}
    has_one = len(plain) < len(about) or plain.get("format") == FORMAT
    if has_one and about.get(KEY) != checksum(_bytes(plain)):
        raise BagError(f"{where} is damaged: the checksum of its run's description does not fit")
    return plain


def seal_text(text: str) -> str:
    """The text of a metadata.yaml with its checksum; a line for it is there already."""
    before, line, after = text.rpartition(_LINE)
    return before + line + checksum(_without(before, after)) + "\n" + after.partition("\n")[2]


def check_text(text: str, where: str) -> bool:
    """Whether the text of a metadata.yaml has a checksum; one of another program has none.

    Raises:
        BagError: it has one, or should, and that does not fit.
    """
    before, line, after = text.rpartition(_LINE)
    if not line and FORMAT not in text:
        return False
    if after.partition("\n")[0] != checksum(_without(before, after)):
        raise BagError(
            f"{where} is damaged: its checksum does not fit; `bayes-curiosity bag repair BAG NEW` "
            "reads the bag without it"
        )
    return True


def _without(before: str, after: str) -> bytes:
    return f"{before}\n{after.partition(chr(10))[2]}".encode()


def _bytes(about: Mapping[str, str]) -> bytes:
    return json.dumps(about, sort_keys=True).encode()
