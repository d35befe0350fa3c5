"""How many threads linear algebra has, in NumPy too."""

from __future__ import annotations

import os
import sys

from bayes_curiosity_ros.experiments.engine.schedule import ONE_THREAD


def limit_threads(threads: int) -> None:
    """Start this process anew unless its environment gives linear algebra so many threads.

    NumPy's library reads it when it is imported, before any argument is; peers inherit it.
    """
    wanted = dict.fromkeys(ONE_THREAD, str(threads))
    if not wanted.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **wanted})
