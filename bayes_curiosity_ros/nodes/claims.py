"""A learner's claim on a node, on both sides: the node works for that run alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, cast

from rclpy.callback_groups import CallbackGroup
from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future

from bayes_curiosity_interfaces.msg import Status
from bayes_curiosity_interfaces.srv import Claim
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.nodes.peers import Peers
from bayes_curiosity_ros.nodes.run import STEADY_CLOCK
from bayes_curiosity_ros.nodes.status import status_of
from bayes_curiosity_ros.nodes.waiter import Waiter, WaitTimeoutError
from bayes_curiosity_ros.runs import NOBODY, OtherRunError, Tenancy

# Time between two words of a learner that waits for something else, in [s].
KEEP_S = 5.0
# A node that was killed counts as there for about 20 s; who still does after this time in [s], is.
GONE_S = 25.0
LOOK_S = 0.1
# So often, and so long each time in [s], the node that works for us is asked to say so.
ASKED, PATIENCE_S = 4, 0.5


def serve_claims(
    node: Node,
    name: str,
    tenancy: Tenancy,
    tell: Callable[[], None],
    group: CallbackGroup | None = None,
) -> None:
    """Offer the service `name`/claim.

    Args:
        node: whose service it is.
        name: what the node is called by those who use it.
        tenancy: what is claimed.
        tell: called when the node works for somebody else than before.
        group: the service's callback group.
    """
    answer = partial(claimed, tenancy, tell)
    node.create_service(Claim, f"{name}/claim", answer, callback_group=group)


def claimed(
    tenancy: Tenancy, tell: Callable[[], None], request: Claim.Request, response: Claim.Response
) -> Claim.Response:
    """The answer to a claim; `tell` as in `serve_claims`."""
    before = tenancy.run
    try:
        if request.run == NOBODY:
            raise OtherRunError("run = 0 cannot be worked for alone; draw an id of your own")
        if request.what == Claim.Request.LEAVE:
            tenancy.leave(request.run)
        else:
            take = request.what == Claim.Request.TAKE
            (tenancy.take if take else tenancy.require)(request.run)
    except OtherRunError as error:
        response.status = status_of(error)
    response.run = tenancy.run
    if tenancy.run != before:
        tell()
    return response


class NodeClaim:
    """A learner's claim on one node, kept alive while it waits for anything.

    Args:
        node: the learner's node.
        waiter: serves the node's callbacks.
        name: name of the claimed node's services.
        run: the learner's run.

    Attributes:
        held: whether the node works for us, as far as we know.
    """

    def __init__(self, node: Node, waiter: Waiter, name: str, run: int) -> None:
        self._node = node
        self._waiter = waiter
        self._name = name
        self._run = run
        self._client = node.create_client(Claim, f"{name}/claim")
        # Hears the node that works for us out where a stranger refuses first.
        self._patient = node.create_client(Claim, f"{name}/claim")
        self.heed(self._patient)
        self.held = False
        node.create_timer(KEEP_S, self._keep, clock=STEADY_CLOCK)

    @property
    def is_there(self) -> bool:
        """Whether the node offers itself."""
        return bool(self._client.service_is_ready())

    @property
    def is_alone(self) -> bool:
        """Whether no other node offers the same."""
        return self._node.count_services(f"{self._name}/claim") <= 1

    def take(self, timeout_s: float) -> None:
        """Have the node work for our run.

        Raises:
            ConfigError: there are several such nodes: nobody could tell whose answers come.
            OtherRunError: it works for another run.
        """
        deadline = time.monotonic() + GONE_S
        while not self.is_alone:
            self._ask(Claim.Request.KEEP, timeout_s)  # changes nothing
            if time.monotonic() > deadline:
                raise ConfigError(self._crowd())
            self._waiter.pause(LOOK_S)
        self._ask(Claim.Request.TAKE, timeout_s)
        self.held = True

    def regain(self, timeout_s: float, peers: Peers) -> None:
        """Have the node that is there now work for us, where the one that did is gone.

        One that was killed counts as there for a while. So of several the one that works for us
        is asked for first; where none says in time that it does, it is gone.

        Args:
            timeout_s: longest wait for an answer.
            peers: processes that may be the node, as they were met.

        Raises:
            OtherRunError: the node works for another run.
            PeerChangedError: there is a process that was not met.
        """
        if not self._kept(peers):
            self._ask(Claim.Request.TAKE, timeout_s, peers)

    def leave(self) -> None:
        """Say that the run is over; nobody waits for an answer."""
        if self.held:
            self.held = False
            self._client.call_async(self._request(Claim.Request.LEAVE))

    def heed(self, client: Client) -> None:
        """Have a client of the node's services wait for the one that works for us.

        A stranger of the same name hears what we ask, too, and refuses it before ours has worked
        on it. While there are two, that is no answer.
        """
        pending, patient = client.get_pending_request, cast("Any", client)
        patient.get_pending_request = lambda number: _Patient(pending(number), self._counts)

    def _counts(self, answer: Any) -> bool:
        return bool(answer.status.code != Status.OTHER_RUN) or self.is_alone

    def _keep(self) -> None:
        if self.held and self.is_there:
            self._client.call_async(self._request(Claim.Request.KEEP))

    def _kept(self, peers: Peers) -> bool:
        """Whether one of the nodes that are there says that it works for us."""
        request = self._request(Claim.Request.KEEP)
        for _ in range(ASKED):
            with suppress(WaitTimeoutError):
                answer = self._waiter.call(self._patient, request, PATIENCE_S, peers)
                return bool(answer.status.code == Status.OK)
        return False

    def _ask(self, what: int, timeout_s: float, peers: Peers | None = None) -> None:
        answer = self._waiter.call_again(self._client, self._request(what), timeout_s, peers)
        if answer.run not in (NOBODY, self._run):
            raise OtherRunError(answer.status.message)

    def _crowd(self) -> str:
        where = self._node.resolve_service_name(f"{self._name}/claim")
        return (
            f"{self._node.count_services(where)} nodes offer {where}: another stack is in this "
            "ROS domain. End it, or give one of them a namespace or a ROS_DOMAIN_ID of its own"
        )

    def _request(self, what: int) -> Claim.Request:
        return Claim.Request(what=what, run=self._run)


def leave_all(*claims: NodeClaim | None) -> bool:
    """Give up all claims that are held; whether there was one."""
    held = [claim for claim in claims if claim is not None and claim.held]
    for claim in held:
        claim.leave()
    return bool(held)


class _Patient:
    """Stands for the future of a call, and takes only an answer that counts.

    Args:
        future: the future itself.
        counts: whether an answer does.
    """

    def __init__(self, future: Future, counts: Callable[[Any], bool]) -> None:
        self._future = future
        self._counts = counts

    def set_result(self, answer: Any) -> None:
        """The answer is there; ask for no other if it counts."""
        if self._counts(answer):
            self._future.set_result(answer)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._future, name)
