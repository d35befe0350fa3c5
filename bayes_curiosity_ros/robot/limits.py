"""Joint limits on commands: pure functions of arrays, for one arm or many."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.errors import InputError


def limit_targets(
    previous: np.ndarray,
    requested: np.ndarray,
    max_delta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> np.ndarray:
    """The nearest targets that respect the speed and the joint limits, in that order.

    A joint that starts outside its limits is brought back no faster than `max_delta`.

    Args:
        previous: (..., J) targets of the control step before, in [rad].
        requested: (..., J).
        max_delta: (J,) largest change in one control step, in [rad].
        lower, upper: (J,) bounds in [rad], infinite where there are none.
    """
    within = requested.clip(lower, upper)
    return previous + (within - previous).clip(-max_delta, max_delta)


def require_finite_command(name: str, values: np.ndarray) -> None:
    """Refuse commands that are no numbers.

    Raises:
        InputError: one is not finite; the message says which.
    """
    # For one row a reduction would cost four times as much.
    if np.count_nonzero(np.isfinite(values)) < values.size:
        where = np.argwhere(~np.isfinite(values))[0]
        raise InputError(f"{name} {where.tolist()} = {values[tuple(where)]}; must be finite")
