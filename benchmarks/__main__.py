"""Every benchmark, one after the other: `make bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run each module of this folder that is a benchmark; the worst exit code."""
    names = sorted(
        path.stem for path in Path(__file__).parent.glob("*.py") if not path.stem.startswith("_")
    )
    codes = [subprocess.call([sys.executable, "-m", f"benchmarks.{name}"]) for name in names]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
