"""Nodes that are killed or hang in a recorded run: its results are those of an undisturbed one."""

import os
import signal
import time
from pathlib import Path

import pytest
import torch

from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.curiosity.model_file import load_model
from bayes_curiosity_ros.files import load_state
from bayes_curiosity_ros.learning.checkpoint import CHECKPOINT, MODELS
from bayes_curiosity_ros.learning.episode_log import read_log
from support.processes import output_of
from support.waiting import wait_for

TIMESTEPS, ITERATION_STEPS = 450, 150
STEP_TIMEOUT_S = 2.0
PARAMETERS = f"""
/**/learner:
  ros__parameters:
    iteration_steps: {ITERATION_STEPS}
    step_timeout_s: {STEP_TIMEOUT_S}
"""


def pid_of(up, name) -> int:
    """Process id of a node that `up` started."""
    found = []

    def look():
        found[:] = [
            int(folder.name)
            for folder in Path("/proc").glob("[0-9]*")
            if f"nodes.{name}_node" in _read(folder / "cmdline")
            and f"\nPPid:\t{up.pid}\n" in _read(folder / "status")
        ]
        return bool(found)

    wait_for(look, f"process of {name}")
    return found[0]


def _read(path) -> str:
    try:
        return path.read_text()
    except OSError:  # it has ended meanwhile
        return ""


def rows(folder) -> int:
    path = folder / "episodes.csv"
    return len(path.read_text().splitlines()) if path.exists() else 0


@pytest.fixture
def begin(start, tmp_path):
    """Function that starts a run of its own name."""
    (tmp_path / "parameters.yaml").write_text(PARAMETERS)

    def run(name, *options):
        folder = tmp_path / name
        words = [*options, "--scratch", "--timesteps", str(TIMESTEPS)]
        words += ["--params-file", str(tmp_path / "parameters.yaml")]
        words += ["--output", str(folder), "--namespace", name]
        return start("bayes_curiosity_ros.cli", "up", *words), folder

    return run


def next_episode(up, folder):
    before = rows(folder)
    wait_for(lambda: rows(folder) > before or up.poll() is not None, "next episode")
    assert up.poll() is None, output_of(up)


def test_a_run_whose_nodes_are_killed_and_hang_is_the_undisturbed_one_bit_for_bit(begin):
    """Arm, curiosity and learner are killed in turn; then the arm hangs for longer than a step."""
    plain, expected = begin("plain")
    up, folder = begin("disturbed", "--record")
    for name in ("arm", "curiosity", "learner"):
        next_episode(up, folder)
        os.kill(pid_of(up, name), signal.SIGKILL)
    next_episode(up, folder)
    hung = pid_of(up, "arm")
    os.kill(hung, signal.SIGSTOP)
    time.sleep(1.5 * STEP_TIMEOUT_S)
    os.kill(hung, signal.SIGCONT)
    said = output_of(up)
    assert up.returncode == 0, said
    assert said.count("ended and is started again") == 3
    assert plain.wait() == 0
    same_results(folder, expected)
    same_bag(folder, expected)


def same_results(folder, expected):
    assert (folder / "episodes.csv").read_text() == (expected / "episodes.csv").read_text()
    ours, theirs = (load_state(each / CHECKPOINT) for each in (folder, expected))
    assert equal(ours, theirs)
    models = sorted((expected / MODELS).iterdir())
    assert models
    for model in models:
        ours, theirs = load_model(folder / MODELS / model.name), load_model(model)
        assert equal(ours.curiosity.state_dict(), theirs.curiosity.state_dict())
        assert ours.episodes == theirs.episodes


def same_bag(folder, expected):
    """Every episode of the log, once and whole."""
    numbers = [row.episode for row in read_log(expected / "episodes.csv")]
    (bag,) = (folder / "bags").iterdir()
    episodes = list(read_episodes(BagReader(bag)))
    assert [episode.id for episode in episodes] == numbers
    assert [episode.faults for episode in episodes] == [()] * len(numbers)


def equal(ours, theirs) -> bool:
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(equal(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list):
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    return torch.equal(ours, theirs) if isinstance(ours, torch.Tensor) else ours == theirs
