"""How the nodes are, in words: plain data in, HTML out."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from html import escape

LAST_REJECTIONS = 6
LONGEST = 160
# A node that was not heard for so long in [s] may be gone.
SILENT_S = 5.0


class Level(IntEnum):
    """How bad it is, as in diagnostics."""

    OK = 0
    WARN = 1
    ERROR = 2
    QUIET = 3


COLORS = {
    Level.OK: "#2fbf71",
    Level.WARN: "#f2a33a",
    Level.ERROR: "#fa5252",
    Level.QUIET: "#868e96",
}


@dataclass(frozen=True)
class Part:
    """What one node says of itself.

    Attributes:
        state: its state in a word or two.
        level: how bad that is.
        reason: why, in a sentence; empty where there is nothing to say.
        numbers: its counters, by name.
        speaks: whether it says so several times a second: silence means something then.
    """

    state: str
    level: Level = Level.OK
    reason: str = ""
    numbers: Mapping[str, str] = field(default_factory=dict)
    speaks: bool = False


class Situation:
    """All that was heard of the nodes."""

    def __init__(self) -> None:
        self._parts: dict[str, tuple[float, Part]] = {}
        self._diagnostics: dict[str, Part] = {}
        self._rejections: deque[str] = deque(maxlen=LAST_REJECTIONS)

    def hear(self, name: str, part: Part, now_s: float) -> None:
        """Take note of what a node says of itself."""
        self._parts[name] = now_s, part

    def diagnose(self, name: str, part: Part) -> None:
        """Take note of a report on /diagnostics."""
        self._diagnostics[name] = part

    def reject(self, words: str) -> None:
        """Take note of something that was refused; the same again is told once."""
        if words not in self._rejections:
            self._rejections.append(words)

    def state_of(self, name: str) -> str:
        """State of a node in a word; empty where it was not heard."""
        return self._parts[name][1].state if name in self._parts else ""

    def html(self, now_s: float) -> str:
        """Everything, for the page."""
        lines = [self._about(name, now_s) for name in NAMES]
        refused = [plain(words) for words in reversed(self._rejections)]
        troubles = [
            f"{dot(part.level)} {plain(name)}: {plain(part.state)}"
            for name, part in self._diagnostics.items()
            if part.level in TROUBLES
        ]
        for title, entries in (("Last rejections", refused), ("Diagnostics", troubles)):
            if entries:
                lines.append(f"<b>{title}</b><br>" + "<br>".join(entries))
        return FRAME.format("".join(f"<p style='margin:0 0 9px'>{line}</p>" for line in lines))

    def _about(self, name: str, now_s: float) -> str:
        if name not in self._parts:
            return f"{dot(Level.QUIET)} <b>{name}</b> not heard"
        heard_s, part = self._parts[name]
        silent = part.speaks and now_s - heard_s > SILENT_S
        state = f"silent for {now_s - heard_s:.0f} s, was {part.state}" if silent else part.state
        level = Level.QUIET if silent else part.level
        numbers = " · ".join(f"{key} {value}" for key, value in part.numbers.items())
        lines = [f"{dot(level)} <b>{name}</b> {plain(state)}", plain(part.reason)]
        lines.append(f"<span style='opacity:.65'>{plain(numbers)}</span>" if numbers else "")
        return "<br>".join(filter(None, lines))


NAMES = ("arm", "camera", "curiosity", "learner", "recorder")
TROUBLES = (Level.WARN, Level.ERROR)
FRAME = "<div style='padding:8px 12px;font-size:13px;line-height:1.45'>{}</div>"


def dot(level: Level) -> str:
    """A lamp."""
    return f"<span style='color:{COLORS[level]}'>●</span>"


def plain(words: str) -> str:
    """Text that is no markup, whoever wrote it, in one line of bounded length."""
    line = " ".join(words.split())
    return escape(line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…")
