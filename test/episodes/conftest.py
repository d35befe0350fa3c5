"""Where the tests of bags find the run that they pretend."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
