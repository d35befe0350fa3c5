"""Calls of the vendor's Kortex API: how it is imported, time limits, errors in words."""

from __future__ import annotations

import concurrent.futures
import importlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.robot.arms.arm import ArmError

INSTALL = (
    "kortex_api is not installed. It is Kinova's wheel, not on PyPI: get kortex_api 2.6 from "
    "Kinova, then `pip install --no-deps kortex_api-2.6*.whl && pip install deprecated protobuf`"
)
MODULES = {
    "base": "kortex_api.autogen.client_stubs.BaseClientRpc",
    "cyclic": "kortex_api.autogen.client_stubs.BaseCyclicClientRpc",
    "base_messages": "kortex_api.autogen.messages.Base_pb2",
    "session_messages": "kortex_api.autogen.messages.Session_pb2",
    "router": "kortex_api.RouterClient",
    "sessions": "kortex_api.SessionManager",
    "transport": "kortex_api.TCPTransport",
    "exceptions": "kortex_api.Exceptions.KException",
}
SUB_CODES = {
    15: "the password is wrong",
    21: "the robot is not ready",
    22: "the robot is in fault",
    25: "the emergency stop is pressed",
    65: "a joint position limit forbids it",
    75: "wrong servoing mode",
    130: "another session is in control",
}


class ConnectionLostError(ArmError):
    """The connection to the arm broke; it must be opened anew."""


def load_api() -> SimpleNamespace:
    """The vendor's modules.

    Raises:
        ArmError: not installed; the message says how to install them.
    """
    # The generated code is older than protobuf's C++ implementation accepts.
    os.environ.setdefault("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
    try:
        modules = {name: importlib.import_module(path) for name, path in MODULES.items()}
    except ImportError as error:
        raise ArmError(f"{INSTALL} ({error})") from error
    return SimpleNamespace(**modules)


def in_words(sub_code: int) -> str:
    """What a sub-code means, as far as it is worth a sentence."""
    meaning = SUB_CODES.get(sub_code, "see Kinova's list of sub-error codes")
    return f"{meaning} (Kortex sub-code {sub_code})"


class KortexCalls:
    """Every call has a limit, and fails with a sentence.

    Args:
        api: the vendor's modules, as `load_api` gives them.
        timeout_s: longest wait for an answer of the arm.
    """

    def __init__(self, api: SimpleNamespace, timeout_s: float) -> None:
        self.api = api
        self._timeout_s = timeout_s

    def __call__(
        self, stub: Callable[..., Any], *arguments: Any, timeout_s: float | None = None
    ) -> Any:
        """Call the arm.

        Args:
            timeout_s: longest wait for this answer, where it differs from the others'.

        Raises:
            ConnectionLostError: the connection is broken.
            ArmError: refused, or not answered in time.
        """
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        options = self.api.router.RouterClientSendOptions()
        options.timeout_ms = round(1000 * limit_s)
        with self._said(limit_s):
            return stub(*arguments, options=options)

    def subscribe(self, stub: Callable[..., Any], callback: Callable[[Any], None]) -> Any:
        """Ask for notifications."""
        return self(stub, callback, self.api.base_messages.NotificationOptions())

    @contextmanager
    def _said(self, limit_s: float) -> Iterator[None]:
        try:
            yield
        except (concurrent.futures.TimeoutError, TimeoutError) as error:
            raise ArmError(f"the arm did not answer within {limit_s} s") from error
        except OSError as error:
            raise ConnectionLostError(f"the connection to the arm is broken: {error}") from error
        except self.api.exceptions.KException as error:
            code = getattr(error, "get_error_sub_code", lambda: None)()
            words = f"Kortex: {error}" if code not in SUB_CODES else in_words(code)
            raise ArmError(words) from error
        except BayesCuriosityError:
            raise
        except Exception as error:  # the vendor's own mistakes must not skip a stop
            raise ArmError(f"the Kortex API failed: {error!r}") from error
