"""Measurements against peers; `python -m benchmarks.NAME` prints one JSON line per figure."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "test"))  # emulated arms are the tests'
