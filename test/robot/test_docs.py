"""What docs/robot.md says, tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bayes_curiosity_ros.cli import build_parser
from bayes_curiosity_ros.robot.cameras.camera import Intrinsics
from bayes_curiosity_ros.tasks.registry import make_task

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "robot.md").read_text()


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL))
def test_code_runs(block):
    exec(block, {})


@pytest.mark.parametrize("line", re.findall(r"bayes-curiosity ([a-z][^#`\n…]*)", TEXT))
def test_commands_are_understood(line):
    words = line.split()
    assert build_parser(words[0]).parse_args(words).command == words[0]


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
