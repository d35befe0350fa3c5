"""What the README tells people to type, typed."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], text=True, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_client_prints_variances(start):
    start("bayes_curiosity_ros.nodes.curiosity_node")
    client = next(block for block in BLOCKS if block.startswith("# client.py"))
    code_lines = [line for line in client.splitlines() if not line.startswith(("#", "import"))]
    assert len(code_lines) <= 12
    started = time.monotonic()
    variances = [float(word) for word in re.findall(r"\d+\.\d+", run(client))]
    assert len(variances) == 5
    assert min(variances) > 1.0
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("block", [b for b in BLOCKS if not b.startswith("# client.py")])
def test_the_library_example_shows_novelty_fall(block):
    before, after = (float(line) for line in run(block).split())
    assert after < before / 2
