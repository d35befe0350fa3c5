"""What the curiosity node answers, how it can be lost, and what it can be brought back to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayes_curiosity_interfaces.msg import Status
from bayes_curiosity_ros.errors import BayesCuriosityError, DamagedFileError
from bayes_curiosity_ros.nodes.waiter import PeerChangedError, WaitTimeoutError


class CuriosityRefusedError(BayesCuriosityError):
    """The curiosity node rejected a request."""


class CuriosityStrayedError(BayesCuriosityError):
    """The curiosity node answers from another posterior than it should have."""


# A node that hangs, was started again, or came back without what it knew.
LOST = (WaitTimeoutError, PeerChangedError, CuriosityStrayedError)


@dataclass(frozen=True)
class Saved:
    """What a curiosity node can be brought back to.

    Attributes:
        model: file of its model in the node's folder; empty for the prior.
        checksum: checksum of that file.
        seen: observations in the posterior.
        information: what it had learnt since its prior, in [nats].
    """

    model: str = ""
    checksum: str = ""
    seen: int = 0
    information: float = 0.0


def accepted(name: str, answer: Any) -> Any:
    """An answer of a service, if that did what it was asked for.

    Raises:
        DamagedFileError: it could not have a file.
        CuriosityStrayedError: the node works for us no more; others may have changed it.
        CuriosityRefusedError: it refused for another reason.
    """
    if answer.status.code == Status.BAD_FILE:
        raise DamagedFileError(f"curiosity/{name}: {answer.status.message}")
    if answer.status.code == Status.OTHER_RUN:
        raise CuriosityStrayedError(f"curiosity/{name}: {answer.status.message}")
    # A repeated update is one whose answer was lost: it is in the posterior, once.
    if answer.status.code not in (Status.OK, Status.ALREADY_UPDATED):
        raise CuriosityRefusedError(f"curiosity/{name}: {answer.status.message}")
    return answer


def require_seen(answer: Any, seen: int) -> None:
    """Refuse the answer of a posterior that has seen more, or less, than it should have."""
    if answer.observations_seen != seen:
        raise CuriosityStrayedError(
            f"its posterior has {answer.observations_seen} observations, not {seen}"
        )
