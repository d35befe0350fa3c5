"""Every command and every example that README, CONTRIBUTING and docs/ show."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")))
FENCED = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", flags=re.DOTALL | re.MULTILINE)
SHELLS = ("sh", "bash")
# Code within a sentence is a command if it begins with one of these and has more words.
PROGRAMS = "bayes-curiosity|colcon|cp|make|pip|pre-commit|pytest|python|ros2|rviz2|source"


@dataclass(frozen=True)
class Passage:
    """Commands that belong together, or one example.

    Attributes:
        where: page and line.
        commands: in order; of an example none.
        code: of an example in Python.
    """

    where: str
    commands: tuple[str, ...] = ()
    code: str = ""


def passages(page: Path) -> list[Passage]:
    """Blocks in the page's order, then the commands within its sentences."""
    text = page.read_text()
    found = [_block(page.name, text, match) for match in FENCED.finditer(text)]
    spans = re.findall(rf"`((?:{PROGRAMS})\s[^`]+)`", FENCED.sub("", text))
    found.append(Passage(f"{page.name}: in the text", tuple(" ".join(s.split()) for s in spans)))
    return [passage for passage in found if passage.commands or passage.code]


def _block(name: str, text: str, match: re.Match[str]) -> Passage:
    indent, language, body = match.groups()
    where = f"{name}:{text.count(chr(10), 0, match.start()) + 1}"
    body = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
    if language == "python":
        return Passage(where, code=body)
    return Passage(where, commands_of(body) if language in SHELLS else ())


def commands_of(body: str) -> tuple[str, ...]:
    """One command a line: continued lines joined, comments and prompts left out."""
    lines = re.sub(r"\\\n\s*", "", body).splitlines()
    bare = [re.sub(r"(^|\s+)#.*$", "", line).removeprefix("$ ").strip() for line in lines]
    return tuple(command for line in bare for command in re.split(r"\s+&&\s+", line) if command)
