"""Peers live in virtual environments of their own, made once per pinned requirements file."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parent.parent
NO_DEPENDENCIES = "# --no-deps"
INSTALL_TIMEOUT_S = 1800


def peer_python(name: str) -> Path:
    """The interpreter of the peers of requirements/peers-NAME.txt, installed if need be.

    Lines below one that says `# --no-deps` are installed without their dependencies.
    """
    requirements = ROOT / "requirements" / f"peers-{name}.txt"
    venv = ROOT / f".venv-peers-{name}"
    python = venv / "bin" / "python"
    stamp = venv / "stamp"
    wanted = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"installing the peers of {requirements.name} into {venv.name}", file=sys.stderr)
    _run([sys.executable, "-m", "venv", "--clear", str(venv)])
    whole, _, bare = requirements.read_text().partition(NO_DEPENDENCIES)
    for lines, options in ((whole, []), (bare, ["--no-deps"])):
        packages = [line for line in lines.splitlines() if line and not line.startswith("#")]
        if packages:
            _run([str(python), "-m", "pip", "install", "--quiet", *options, *packages])
    stamp.write_text(wanted)
    return python


class PeerProcess:
    """A module running in a peer's environment, which answers one JSON line with another."""

    def __init__(self, name: str, module: str, *arguments: str) -> None:
        """Start `python -m module arguments` with the peers of requirements/peers-NAME.txt."""
        self._module = module
        self._process = subprocess.Popen(
            [str(peer_python(name)), "-m", module, *arguments],
            cwd=ROOT,
            env=_clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self._module} ended with code {self._process.wait()}; see above")
        return dict(json.loads(answer))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate(timeout=60)


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, env=_clean_environment(), timeout=INSTALL_TIMEOUT_S)


def _clean_environment() -> dict[str, str]:
    """Ours without what would lead a peer to our packages."""
    leave_out = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH"}
    return {name: value for name, value in os.environ.items() if name not in leave_out}
