"""Learning while the next episode runs: on a real arm the control period is law."""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.rollout import Behaviour
from bayes_curiosity_ros.learning.sac import Sac

# Updates between two looks whether somebody wants something of the learner.
TOGETHER = 4
# A thread that wants to run waits no longer, in [s], for one that only computes in Python.
SWITCH_S = 2e-4


class Asynchronous:
    """A learner with a memory whose updates are made in a thread, whenever there is time.

    Episodes act by the policy as it was when they began. What is learnt depends on how fast
    this machine is; whoever wants the same episodes from the same seed learns synchronously.

    Args:
        learner: what learns. Nobody else may use it from now on.
        most_due: updates that may wait; where there are more, `update` waits.

    Attributes:
        due: updates that belong to what was gathered, and are not made yet.
    """

    def __init__(self, learner: Sac, most_due: int) -> None:
        self._learner = learner
        self._most_due = most_due
        self.due = 0
        self._error: Exception | None = None
        self._td_error = 0.0
        self._visitors = 0  # who wait for the learner; it pauses for them
        self._turn = threading.Condition()
        sys.setswitchinterval(SWITCH_S)
        threading.Thread(target=self._learn, name="learner", daemon=True).start()

    def explore(self) -> Behaviour:
        with self._visit():
            return copy.deepcopy(self._learner.explore())

    def exploit(self) -> Behaviour:
        with self._visit():
            return copy.deepcopy(self._learner.exploit())

    @property
    def imitator(self) -> None:
        """Imitation trains Gaussian policies only."""
        return

    def update(self, episodes: Episodes, bonus: Bonus) -> dict[str, float]:
        """Remember the episodes and price them; what is learnt from them comes later.

        Raises:
            Exception: what went wrong in the learner's thread.
        """
        with self._visit():
            intrinsic = self._learner.take(episodes, bonus)
            self.due += self._learner.due(episodes.steps)
        with self._turn:
            self._turn.wait_for(lambda: self.due <= self._most_due or self._error is not None)
            self._complain()
            return {"intrinsic": intrinsic, "td_error": self._td_error, "due": float(self.due)}

    def remember(self, episodes: Episodes) -> None:
        """Keep demonstrations or corrections, to be learnt from at every later update."""
        with self._visit():
            self._learner.remember(episodes)

    def state_dict(self) -> dict[str, Any]:
        """All state, between two updates; those that are due are made after a resume."""
        with self._visit():
            return cloned(self._learner.state_dict()) | {"due": self.due}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        with self._visit():
            self._learner.load_state_dict(state)
            self.due = int(state.get("due", 0))

    @contextmanager
    def _visit(self) -> Iterator[None]:
        """Have the learner for oneself, after the updates under way."""
        self._visitors += 1
        with self._turn:
            self._visitors -= 1
            self._complain()
            yield
            self._turn.notify_all()

    def _complain(self) -> None:
        if self._error is not None:
            raise self._error

    def _learn(self) -> None:
        torch.set_num_threads(1)  # threads do not inherit it
        while self._error is None:
            with self._turn:
                self._turn.wait_for(lambda: self.due > 0 and not self._visitors)
                self._learn_some()
                self._turn.notify_all()

    def _learn_some(self) -> None:
        some = min(self.due, TOGETHER)
        try:
            self._td_error = self._learner.improve(some)
        except Exception as error:
            self._error = error  # for whoever comes next
        self.due -= some


def cloned(state: dict[str, Any]) -> dict[str, Any]:
    """A state whose tensors stay as they are while learning goes on; no one else changes more."""
    parts = {
        name: cloned(part) if isinstance(part, dict) else part for name, part in state.items()
    }
    return {
        name: part.clone() if isinstance(part, Tensor) else part for name, part in parts.items()
    }
