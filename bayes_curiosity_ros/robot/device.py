"""What arms and cameras have in common: `with` connects them, and lets go of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

CONNECT_TIMEOUT_S = 10.0


class Device(ABC):
    """Usable as a context manager."""

    @abstractmethod
    def connect(self, timeout_s: float) -> None:
        """Make it ready."""

    @abstractmethod
    def disconnect(self) -> None:
        """Let go of it; harmless when it is not connected."""

    def __enter__(self) -> Self:
        self.connect(CONNECT_TIMEOUT_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.disconnect()
