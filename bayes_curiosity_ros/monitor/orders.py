"""What a viewer can order by a button, and which service carries it out."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Need(StrEnum):
    """What a viewer needs for an order."""

    ACCESS = "access"
    CONTROLS = "controls"


@dataclass(frozen=True)
class Order:
    """A button.

    Attributes:
        label: what is written on it.
        service: name of the service, of type std_srvs/Trigger, that it calls.
        hint: what it does.
        need: what the viewer must have.
        icon: viser's name of its icon.
        color: viser's name of its colour.
        hotkey: key that does the same; empty for none.
    """

    label: str
    service: str
    hint: str
    icon: str
    color: str
    need: Need = Need.CONTROLS
    hotkey: str = ""


STOP = Order(
    "STOP", "arm/stop", "Latched standstill (key X)", "HAND_STOP", "red", Need.ACCESS, "X"
)
TAKE_OVER = Order(
    "Take over", "operator/take", "Drive the hand by dragging it", "HAND_MOVE", "violet"
)
GIVE_BACK = Order("Give back", "operator/give", "The policy acts again", "ROBOT", "violet")
REPLAY = (
    Order("Pause replay", "replay/pause", "Hold the bag", "PLAYER_PAUSE", "blue"),
    Order("Resume replay", "replay/resume", "Play on", "PLAYER_PLAY", "green"),
    Order("Step", "replay/step", "Play one message", "PLAYER_TRACK_NEXT", "gray"),
)
ORDERS = (
    Order("Release", "arm/release", "End a stop or fault at standstill", "LOCK_OPEN", "yellow"),
    Order("Confirm reset", "arm/confirm", "The cell is ready for one reset", "CHECK", "teal"),
    Order("Home", "arm/home", "Slowly to where episodes start", "HOME", "gray"),
    Order("Pause", "learner/pause", "After the episode under way", "PLAYER_PAUSE", "blue"),
    Order("Resume", "learner/resume", "Go on learning", "PLAYER_PLAY", "green"),
    Order("Success", "learner/mark_success", "End the episode: it succeeded", "THUMB_UP", "green"),
    Order("Failure", "learner/mark_failure", "End the episode: it failed", "THUMB_DOWN", "orange"),
    Order("Save", "learner/save", "Where the newest checkpoint is", "DEVICE_FLOPPY", "gray"),
)
