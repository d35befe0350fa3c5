"""The package that docs/extending.md shows, as if it were installed."""

import os
import subprocess
import sys
from pathlib import Path

from bayes_curiosity_ros.configuration.registry import PLUGINS
from support.pages import ROOT, passages
from support.processes import die_with_parent
from support.waiting import WAIT_S

PAGE = ROOT / "docs" / "extending.md"
NAME = "my_exploration"


def install_plugin(folder: Path) -> Path:
    """Write the page's module and its entry point into a folder, as pip would into another."""
    (module,) = (passage.code for passage in passages(PAGE) if passage.code)
    (folder / f"{NAME}.py").write_text(module)
    about = folder / f"{NAME}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{PLUGINS}]\n{NAME} = {NAME}\n")
    return folder


def run_with_plugin(folder: Path, *words: str) -> str:
    """Run Python with the package of a folder installed; what it printed.

    Raises:
        AssertionError: it failed.
    """
    paths = [str(folder), str(ROOT), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=2 * WAIT_S,
        preexec_fn=die_with_parent,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout
