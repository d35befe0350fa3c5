"""What arms and cameras have in common: they are connected, let go of, and have settings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol, Self, TypeVar

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
