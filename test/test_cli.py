"""The command line: quick help, late loading on every level, completion by the tab key."""

import os
import subprocess
import sys

import pytest

from bayes_curiosity_ros import cli
from bayes_curiosity_ros.bringup.up import run as run_up
from bayes_curiosity_ros.experiments.table1.command import run as run_table1

HEAVY = {"torch", "mujoco", "matplotlib"}


@pytest.mark.parametrize("words", [["--help"], ["experiment", "--help"]])
def test_help_loads_nothing_heavy(words):
    code = (
        "import atexit, sys\n"
        "from bayes_curiosity_ros.cli import main\n"
        "atexit.register(lambda: print('loaded', sorted(sys.modules)))\n"
        f"main({words!r})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    help_text, _, loaded = done.stdout.partition("loaded")
    assert "usage: bayes-curiosity" in help_text
    assert not [name for name in HEAVY if f"'{name}'" in loaded]


@pytest.mark.parametrize(
    ("words", "run"), [(["up"], run_up), (["experiment", "table1"], run_table1)]
)
def test_the_chosen_command_runs_whatever_its_level(words, run):
    assert cli.build_parser().parse_args(words).run is run


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("bayes-curiosity u", {"up"}),
        ("bayes-curiosity up --bonus v", {"vime"}),
        ("bayes-curiosity experiment ta", {"table1"}),
        ("bayes-curiosity bag export there --for", {"--format"}),
    ],
)
def test_the_tab_key_completes(line, offered, tmp_path):
    asked = {
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "offered"),
    }
    command = [sys.executable, "-m", "bayes_curiosity_ros.cli"]
    subprocess.run(command, env=os.environ | asked, check=True, capture_output=True)
    assert {word.strip() for word in (tmp_path / "offered").read_text().split("\n")} == offered
