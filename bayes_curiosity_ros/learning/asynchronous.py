"""Learning while the next episode runs: on a real arm the control period is law."""

from __future__ import annotations

import copy
import gc
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.learning.episodes import Episodes
from bayes_curiosity_ros.learning.rollout import Behaviour
from bayes_curiosity_ros.learning.sac import Sac

# A thread that wants to run waits no longer, in [s], for one that only computes in Python.
SWITCH_S = 2e-4
# An action is on its way so long after it was chosen, in [s].
SENT_S = 0.003
# It is waited for so long before it is due and after, in [s], besides the time of an update.
MARGIN_S, LATE_S = 0.002, 0.03
# Steps of other lengths in [s] have no rhythm to keep to, or leave no time to learn in between.
SHORTEST_S, LONGEST_S = 0.05, 1.0


class Rhythm:
    """When actions are due. An update then would be in their way: both are Python's."""

    def __init__(self) -> None:
        self._acted_s = -np.inf
        self._period_s = 0.0

    def acted(self, now_s: float) -> None:
        """An action was chosen. What is longer than a step was between two episodes."""
        since_s, self._acted_s = now_s - self._acted_s, now_s
        if since_s <= LONGEST_S:
            self._period_s = since_s

    def pause_s(self, now_s: float, update_s: float) -> float:
        """How long to wait in [s] before an update that takes `update_s`."""
        since_s = now_s - self._acted_s
        if not SHORTEST_S <= self._period_s <= LONGEST_S:
            return 0.0
        if since_s < SENT_S:
            return SENT_S - since_s
        due_s = self._period_s - since_s
        near = -LATE_S < due_s < update_s + MARGIN_S
        return max(due_s, 0.0) + MARGIN_S if near else 0.0


class Noted:
    """A behaviour that tells a rhythm of its actions.

    Args:
        behaviour: what acts.
        rhythm: what is told.
    """

    def __init__(self, behaviour: Behaviour, rhythm: Rhythm) -> None:
        self.behaviour = behaviour
        self._rhythm = rhythm

    def begin(self, count: int, horizon: int, rng: np.random.Generator) -> None:
        self.behaviour.begin(count, horizon, rng)

    def act(self, observations: np.ndarray, step: int) -> np.ndarray:
        actions = self.behaviour.act(observations, step)
        self._rhythm.acted(time.monotonic())
        return actions


class Asynchronous:
    """A learner with a memory whose updates are made in a thread, whenever there is time.

    Episodes act by the policy as it was when they began, and no update is under way when an action
    is due. What is learnt depends on how fast this machine is; whoever wants the same episodes
    from the same seed learns synchronously.

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
        self._td_error = self._update_s = 0.0
        self._rhythm = Rhythm()
        self._visitors = 0  # who wait for the learner; it pauses for them
        self._turn = threading.Condition()
        sys.setswitchinterval(SWITCH_S)
        # Python's collector would stop all threads for 90 ms to look at what libraries loaded.
        gc.collect()
        gc.freeze()
        self._thread = threading.Thread(target=self._learn, name="learner", daemon=True)
        self._thread.start()

    @property
    def thread_id(self) -> int:
        """Native id of the thread that learns."""
        assert self._thread.native_id is not None  # as it was started
        return self._thread.native_id

    def explore(self) -> Behaviour:
        with self._visit():
            return Noted(copy.deepcopy(self._learner.explore()), self._rhythm)

    def exploit(self) -> Behaviour:
        with self._visit():
            return Noted(copy.deepcopy(self._learner.exploit()), self._rhythm)

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
                pause_s = self._rhythm.pause_s(time.monotonic(), self._update_s)
                if not pause_s:
                    self._learn_once()
                    self._turn.notify_all()
            if pause_s:
                time.sleep(pause_s)

    def _learn_once(self) -> None:
        began_s = time.monotonic()
        try:
            self._td_error = self._learner.improve(1)
        except Exception as error:
            self._error = error  # for whoever comes next
        self.due -= 1
        # The longest of late: an update of the policy, too, takes longer than one of the critics.
        self._update_s = max(time.monotonic() - began_s, 0.9 * self._update_s)


def cloned(state: dict[str, Any]) -> dict[str, Any]:
    """A state whose tensors stay as they are while learning goes on; no one else changes more."""
    parts = {
        name: cloned(part) if isinstance(part, dict) else part for name, part in state.items()
    }
    return {
        name: part.clone() if isinstance(part, Tensor) else part for name, part in parts.items()
    }
