"""What a joystick asks of the hand: the numbers of sensor_msgs/Joy as shares of a speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.errors import ConfigError, LengthError

WAYS = 6  # along x, y and z, and about them


@dataclass(frozen=True)
class JoystickConfig:
    """Which axis and which button does what; the defaults are those of a game pad with two sticks.

    Attributes:
        axes: numbers of the axes that move the hand along x, y and z of the world and turn it
            about them; -1 for none.
        drive: number of the button that is held while the hand moves.
        open, close: numbers of the buttons for the gripper.
        dead_zone: share of an axis's way that counts as rest.
    """

    axes: tuple[int, ...] = (1, 0, 4, -1, -1, 3)
    drive: int = 4
    open: int = 1
    close: int = 0
    dead_zone: float = 0.1

    def __post_init__(self) -> None:
        if len(self.axes) != WAYS:
            raise ConfigError(f"joystick.axes = {self.axes}; it needs {WAYS} numbers, -1 for none")
        if not 0 <= self.dead_zone < 1:
            raise ConfigError(f"joystick.dead_zone = {self.dead_zone}; it must be in [0, 1)")
        if min(self.drive, self.open, self.close) < 0:
            raise ConfigError(
                f"joystick.drive = {self.drive}, open = {self.open}, close = {self.close}; "
                "buttons count from 0"
            )


@dataclass(frozen=True)
class Stick:
    """What a joystick asks for.

    Attributes:
        held: whether the button is held without which nothing moves.
        ways: (6,) shares of the largest speeds, along x, y and z and about them; neither the
            first three nor the last three are longer than 1.
        gripper: 0 open, 1 closed; None where it is to stay as it is.
    """

    held: bool
    ways: np.ndarray
    gripper: float | None = None


def read_stick(config: JoystickConfig, axes: Sequence[float], buttons: Sequence[int]) -> Stick:
    """What these axes, -1 … 1, and buttons ask for.

    Raises:
        LengthError: the joystick has fewer than the configuration names.
    """
    needed = max(config.axes) + 1, max(config.drive, config.open, config.close) + 1
    if len(axes) < needed[0] or len(buttons) < needed[1]:
        raise LengthError(
            f"a joystick of {len(axes)} axes and {len(buttons)} buttons; operator.joystick names "
            f"{needed[0]} and {needed[1]}"
        )
    values = np.array([axes[index] if index >= 0 else 0.0 for index in config.axes])
    ways = _beyond(values.clip(-1.0, 1.0), config.dead_zone)
    gripper = 1.0 if buttons[config.close] else 0.0 if buttons[config.open] else None
    return Stick(
        bool(buttons[config.drive]), np.concatenate([_short(ways[:3]), _short(ways[3:])]), gripper
    )


def _beyond(values: np.ndarray, dead_zone: float) -> np.ndarray:
    """From 0 at the end of the dead zone to 1 at the end of the way."""
    return np.sign(values) * np.maximum(np.abs(values) - dead_zone, 0.0) / (1.0 - dead_zone)


def _short(vector: np.ndarray) -> np.ndarray:
    """The vector, no longer than 1."""
    return vector / max(1.0, float(np.linalg.norm(vector)))
