"""How the `bayes-curiosity` commands of the documents are run: as they stand, but short."""

from __future__ import annotations

import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from bayes_curiosity_ros.bringup.table import nodes
from bayes_curiosity_ros.bringup.up import command_of
from bayes_curiosity_ros.learning.preparation import PreparedFiles
from bayes_curiosity_ros.robot.cameras.camera import CameraError
from bayes_curiosity_ros.robot.cameras.renderer import GLCamera
from bayes_curiosity_ros.tasks.arm.reach import Reach
from support.plugin import install_plugin, run_with_plugin
from support.shell import Shell, Way

# What other commands need first. Each is run once in a worker, wherever it stands.
RECORDED = "bayes-curiosity up --record"
PREPARED = "bayes-curiosity prepare reach --robot my_cell.yaml --output output/lab"
SEEN = "bayes-curiosity prepare visual_reach --output output/seen"
CURVES = "bayes-curiosity experiment curves"
PARSE = """
import sys
from bayes_curiosity_ros.cli import build_parser
build_parser().parse_args(sys.argv[1:])
"""
# What stands for the reader's own bag.
BAG = r"\bBAG\b( …)?|output/run/bags/run_\w+"


def prepared(shell: Shell, folder: str = "lab") -> PreparedFiles:
    """Files that a `prepare` command made, or will make."""
    return PreparedFiles.within(shell.folder / "output" / folder)


def bag_of(shell: Shell) -> Path:
    """The bag of a short run."""
    shell.run(RECORDED)
    return next((shell.folder / "output/run/bags").iterdir())


def command(more: str = "", after: str = "") -> Way:
    """Run the command after another one, with options that only make it short.

    The short run does not make its own model: it has what was prepared in output/lab.
    """

    def way(shell: Shell, command: str) -> None:
        if after:
            shell.run(after)
        command = re.sub(r"output/run/\w+\.safetensors", str(prepared(shell).model), command)
        if re.search(BAG, command):
            command = re.sub(BAG, str(bag_of(shell)), command)
        words = [found for word in shlex.split(command)[1:] for found in _expanded(shell, word)]
        shell.bayes_curiosity(words, more.replace("HERE", str(shell.folder)))

    return way


def _expanded(shell: Shell, word: str) -> list[str]:
    return sorted(map(str, shell.folder.glob(word))) if "*" in word else [word]


def up(more: str = "", after: str = PREPARED, folder: str = "lab") -> Way:
    """Start the stack with few demonstrations, prepared before, and short iterations."""

    def way(shell: Shell, line: str) -> None:
        files = prepared(shell, folder)
        short = f"--model {files.model} --policy {files.policy} --params-file HERE/short.yaml"
        command(f"{short} {more}", after)(shell, line)

    return way


def experiment(more: str) -> Way:
    """Run one small experiment of its kind, whatever the output; the settings named must exist."""

    def way(shell: Shell, line: str) -> None:
        words = shlex.split(line)
        for option, value in pairwise(words):
            assert option != "--config" or (shell.folder / value).is_file(), value
        command(f"{more} --output HERE/output/{words[2]}")(shell, line)

    return way


def copied(shell: Shell, line: str) -> None:
    """Not copied: what the command copies is what the experiment makes."""
    shell.run(CURVES)
    assert (shell.folder / shlex.split(line)[2] / "rows.csv").is_file()


def understood(shell: Shell, line: str) -> None:
    """Not run, as it takes hours; a test of the experiment runs the command with less."""
    shell.understood(shlex.split(line)[1:])


def plugged_in(shell: Shell, line: str) -> None:
    """Not run again, as test_extending.py does: understood where the package is installed."""
    folder = shell.folder / "installed"
    folder.mkdir()
    words = shlex.split(line)[1:]
    run_with_plugin(install_plugin(folder), "-c", PARSE, *words)


def check_replay(shell: Shell, line: str) -> None:
    """Run it against the node that the run had, started again."""
    shell.run(RECORDED)
    specs = {spec.name: spec for spec in nodes({"model": str(prepared(shell).model)})}
    words = command_of(specs["curiosity"])
    shell.start("curiosity", *words[words.index("--ros-args") :])
    command()(shell, line)


def view(shell: Shell, line: str) -> None:
    """Make a small film, also where there is a screen; skipped where nothing can draw one.

    MP4 needs ffmpeg, which is not ours to install: without it the command is only understood.
    """
    try:
        GLCamera(Reach(threads=1).stepper.world, 32, 32).close()
    except CameraError as error:
        pytest.skip(str(error))
    if ".mp4" in line and shutil.which("ffmpeg") is None:
        understood(shell, line)
        return
    film = "" if "--output" in line else "--output output/film.gif"
    command(f"--width 64 --height 48 {film}")(shell, line)
