"""Memory that was freed goes back to the system."""

from support.python import run_python

# Blocks below malloc's mmap threshold, with every sixteenth kept: what lies between is not at the
# heap's end, and stays the process's unless it is given back.
PROGRAM = """
from pathlib import Path
from bayes_curiosity_ros.nodes.memory import give_back

def private_kb():
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty:"))

blocks = [bytes(16_000) for _ in range(4000)]
full = private_kb()
blocks = blocks[::16]
kept = private_kb()
give_back()
print(full - kept, full - private_kb())
"""


def test_what_lies_between_blocks_in_use_is_given_back():
    before, after = map(int, run_python(PROGRAM).split())
    assert after > 40_000
    assert after > before
