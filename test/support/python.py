"""Python in a process of its own, with the packages that tests see."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 300  # a busy machine may take a minute to import torch


def run_python(script: str, **environment: str) -> str:
    """Run a script; what it prints.

    Raises:
        CalledProcessError: it failed.
    """
    paths = [str(ROOT), str(ROOT / "test"), os.environ.get("PYTHONPATH", "")]
    inherited = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        timeout=TIMEOUT_S,
        env=inherited | environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout
