"""What arms and cameras have in common: they are connected, let go of, and have settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from bayes_curiosity_ros.robot.config import RobotConfig

CONNECT_TIMEOUT_S = 10.0
SettingsT = TypeVar("SettingsT")


class Declare(Protocol):
    """Declares a dataclass of settings where users can set them, and returns what they set."""

    def __call__(self, default: SettingsT, prefix: str) -> SettingsT:
        """The settings as they were set.

        Args:
            default: an instance of a frozen dataclass; its values are the defaults.
            prefix: what the settings' names begin with, its dot included: "kortex.".
        """
        ...


@dataclass(frozen=True)
class DeviceInputs:
    """What every arm and camera is made from.

    Attributes:
        robot: the arm and its table, the user's limits included.
        declare: declares a driver's own settings and returns what was set.
        node: the ROS node that a driver may publish and subscribe with.
    """

    robot: RobotConfig
    declare: Declare
    node: Any


class Device(ABC):
    """Something that is connected and let go of; usable as a context manager."""

    @abstractmethod
    def connect(self, timeout_s: float) -> None:
        """Make it ready."""

    @abstractmethod
    def disconnect(self) -> None:
        """Let go of it; harmless when it is not connected."""

    def __enter__(self) -> Self:
        self.connect(CONNECT_TIMEOUT_S)
        return self

    def __exit__(self, *error: object) -> None:
        self.disconnect()
