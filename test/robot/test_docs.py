"""What docs/robot.md says of files and numbers; its commands are run by test/test_docs.py."""

from __future__ import annotations

import re
from pathlib import Path

from bayes_curiosity_ros.robot.cameras.camera import Intrinsics
from bayes_curiosity_ros.tasks.registry import make_task

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "robot.md").read_text()


def test_files_are_there():
    for path in re.findall(r"`((?:urdf|config)/[\w./]+)`", TEXT):
        assert (ROOT / path).is_file(), path
    for path in re.findall(r"`((?:robot|tasks)/[\w./]+)`", TEXT):
        assert (ROOT / "bayes_curiosity_ros" / path).exists(), path


def test_numbers_are_the_defaults(robot):
    focal = Intrinsics.of(robot.world.camera).fx
    assert f"fx = fy = {focal:.1f}" in TEXT
    deltas = make_task("grasp").max_delta_rad
    assert f"{deltas[0]:.3f} rad joints 1–3, {deltas[-1]:.3f} rad joints 4–6" in TEXT
    assert f"Commands use {robot.arm.speed_fraction:.0%}".replace("%", " %") in TEXT
