"""The arm: description, simulated world, kinematics, safety, arms and cameras."""

import os
import sys

# MuJoCo picks its GL back end when it is first imported, so this cannot wait for a renderer.
if sys.platform == "linux" and not os.environ.get("DISPLAY"):
    os.environ.setdefault("MUJOCO_GL", "egl")
