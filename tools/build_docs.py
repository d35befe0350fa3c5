#!/usr/bin/env python3
"""Build the site of docs/ and the README in output/site; a link that leads nowhere ends it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))
from benchmarks._peers import peer_python  # noqa: E402


def main() -> int:
    """Build; 1 if a page has a bad link."""
    command = [str(peer_python("docs")), "-m", "mkdocs", "build", "--strict", "--quiet"]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    code = subprocess.run([*command, "-f", str(ROOT / "tools/mkdocs.yml")], env=quiet).returncode
    if not code:
        print(f"the site is in {ROOT / 'output/site/index.html'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
