"""Who may watch, and who may use the buttons.

viser has no authentication. What a viewer may do is decided when its browser connects, and looked
up at every press of a button: nothing that a browser says later counts, but for the token.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from bayes_curiosity_ros.monitor.settings import is_loopback

MOST_TRIES = 5


@dataclass(frozen=True)
class Visit:
    """How a browser came here.

    Attributes:
        address: address of the browser's machine, or of a proxy before it.
        host: host and port that the browser asked for, as its request says.
        origin: address of the page that opened the connection; empty for programs.
    """

    address: str
    host: str
    origin: str = ""

    @property
    def foreign(self) -> bool:
        """Whether a page of somebody else's opened the connection, in a browser of ours."""
        return bool(self.origin) and _split(self.origin).netloc != self.host

    @property
    def local(self) -> bool:
        """Whether it came from this machine, by a name of this machine.

        Another name with a loopback address is what an attack by rebinding looks like.
        """
        name = _split(f"//{self.host}").hostname or ""
        return not self.foreign and is_loopback(self.address) and is_loopback(name)


def _split(address: str) -> SplitResult:
    """The parts of an address; of one that is none, none."""
    try:
        return urlsplit(address)
    except ValueError:
        return urlsplit("")


class Access:
    """What each viewer may do, by the number that viser gives it.

    Args:
        token: what viewers from elsewhere have to give; empty where nobody else gets in.
    """

    def __init__(self, token: str = "") -> None:
        self._token = token
        self._allowed: dict[int, bool] = {}
        self._tries: dict[int, int] = {}

    def admit(self, viewer: int, visit: Visit) -> bool:
        """Take note of a viewer; whether it may watch."""
        if visit.foreign or not (visit.local or self._token):
            return False
        self._allowed[viewer] = visit.local
        return True

    def may_control(self, viewer: int) -> bool:
        """Whether a viewer may use buttons."""
        return self._allowed.get(viewer, False)

    def unlock(self, viewer: int, token: str) -> bool:
        """Whether this is the token, from a viewer who has not tried too often."""
        tries = self._tries[viewer] = self._tries.get(viewer, 0) + 1
        right = hmac.compare_digest(token.encode(), self._token.encode())
        if viewer in self._allowed and self._token and right and tries <= MOST_TRIES:
            self._allowed[viewer] = True
        return self.may_control(viewer)

    def forget(self, viewer: int) -> None:
        """A viewer is gone."""
        self._allowed.pop(viewer, None)
        self._tries.pop(viewer, None)
