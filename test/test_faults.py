"""The fault campaign, at its smallest: each part runs, and notices what it is there to notice."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from bayes_curiosity_interfaces import msg
from bayes_curiosity_ros.nodes.memory import GIVE_BACK_S
from benchmarks.faults import __main__ as campaign
from benchmarks.faults import files, hostile, kills, soak
from benchmarks.faults.fixed_work import FixedWork
from benchmarks.faults.ledger import Ledger, Trial
from benchmarks.faults.loaders import KINDS
from benchmarks.faults.remains import Remains, same
from support.waiting import wait_for

MESSAGES = [kind for name, kind in vars(msg).items() if name[0].isupper()]


@pytest.fixture(autouse=True)
def _our_domain(monkeypatch):
    monkeypatch.setattr(campaign, "private_domain", lambda: None)  # the tests have theirs


def figures(monkeypatch, capfd, *words: str) -> dict[str, dict]:
    """Figures that the campaign prints, by name."""
    monkeypatch.setattr(sys, "argv", ["faults", *words])
    assert campaign.main() == 0
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
    return {figure["name"]: figure for figure in map(json.loads, lines)}


def test_trials_are_not_made_twice(tmp_path):
    made = []

    def trial():
        made.append(1)
        return Trial("", "", 3, "fine", 0, "a, b\n")

    for _ in range(2):
        trials = Ledger(tmp_path / "trials.csv", quiet=True).work("kill", [("arm/0", trial)])
        assert [(t.name, t.count, t.note) for t in trials] == [("arm/0", 3, "a, b\n")]
    assert len(made) == 1


def test_damaged_files_are_reported(tmp_path, monkeypatch, capfd):
    words = ("--only", "files", "--damages", "3", "--kinds", "mcap", "demonstrations")
    found = figures(monkeypatch, capfd, *words, "--quiet", "--output", str(tmp_path))
    assert set(found) == {"faults/files/tracebacks", "faults/files/silent"}
    assert {figure["ours"] for figure in found.values()} == {1.0}  # 1 + none


def test_every_kind_of_file_is_read_undamaged(tmp_path):
    for name in KINDS:
        assert files._wanted(name, tmp_path), name


@pytest.mark.parametrize(
    ("found", "said", "outcome"),
    [
        ("refused", "", "refused"),
        ("digest", "", "identical"),
        ("other", "", "silent"),
        ("other", "3 messages lost", "told"),
    ],
)
def test_only_what_nobody_says_is_silent(found, said, outcome):
    assert files._judged("policy", found, "digest", said) == outcome


def test_an_edited_parameter_is_no_damage():
    assert files._judged("parameters", "other", "digest", "") == "edited"


def test_a_node_under_fire_is_judged(tmp_path, monkeypatch, capfd):
    words = ("--only", "fuzz", "--messages", "60", "--nodes", "description")
    found = figures(monkeypatch, capfd, *words, "--quiet", "--output", str(tmp_path))
    assert found["faults/fuzz/deaths"]["ours"] == 1.0
    assert found["faults/fuzz/state_changes"]["ours"] == 1.0


@pytest.mark.parametrize("kind", MESSAGES)
def test_hostile_messages_can_be_sent(kind):
    rng = random.Random(0)
    for _ in range(50):
        assert isinstance(hostile.spoil(kind(), rng), kind)
        assert isinstance(hostile.broken(kind(), rng), bytes)


def test_runs_that_differ_in_a_bit_differ():
    tensor = torch.zeros(3)
    one = Remains(["a", "b"], {"x": [tensor]}, {"y": np.zeros(2)}, frozenset({1, 2}))
    two = Remains(["a", "c"], {"x": [tensor + 1e-30]}, {"y": np.zeros(2)}, frozenset({2}))
    assert one.differences(one) == []
    assert two.differences(one) == ["rows (first in line 2)", "policy"]
    assert two.missing(one) == [1]
    assert not same(tensor, tensor.double())


def test_a_kill_counts_as_identical_only_with_its_run(capfd):
    trials = [
        Trial("kill", "arm/0", 5, "identical", 0, "by itself; episodes lost in the bag: none"),
        Trial("kill", "camera/0", 2, "differs: rows", 0, "resumed 1 times; lost: [3]"),
    ]
    kills.tell("kill", trials)
    lines = map(json.loads, capfd.readouterr().out.splitlines())
    found = {figure["name"]: (figure["ours"], figure["peer"]) for figure in lines}
    assert found["faults/kill/identical"] == (5.0, 7.0)
    assert found["faults/kill/by_itself"] == (5.0, 7.0)
    assert found["faults/kill/bags_with_losses"] == (2.0, 1.0)


def state_of(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_memory_is_looked_at_while_the_learner_stands_still(monkeypatch):
    seen = []

    def private_kb(pid):
        wait_for(lambda: state_of(pid) == "T", "standstill")
        seen.append(pid)
        return 500

    monkeypatch.setattr(soak, "private_kb", private_kb)
    monkeypatch.setattr(soak, "STILL_S", 0.0)
    monkeypatch.setattr(soak, "SAMPLE_S", 0.0)
    with subprocess.Popen(["sleep", "60"]) as learner:
        try:
            work = SimpleNamespace(cpu_s=lambda: 1.0)
            run = SimpleNamespace(code=None, pids=lambda: {"learner": learner.pid}, steps=int)
            samples = soak.samples(run, time.monotonic(), 600.0, work)
            assert [next(samples).private_kb for _ in range(2)] == [500, 500]
            samples.close()
            assert seen == [learner.pid] * 2
            wait_for(lambda: state_of(learner.pid) == "S", "it to go on")
        finally:
            learner.kill()


def test_every_node_is_held_up_in_the_warm_up(monkeypatch):
    held = []

    @contextmanager
    def standing_still(pid, seconds):
        held.append(pid)
        yield

    monkeypatch.setattr(soak, "standing_still", standing_still)
    monkeypatch.setattr(soak, "RECOVERY_S", 0.0)
    soak.hold_up(
        SimpleNamespace(pids=lambda: {"arm": 1, "camera": 2}, wait_for_steps=lambda *_: True)
    )
    assert held == [1, 2] * soak.HOLD_UPS
    once = soak.HELD_UP_S + soak.RECOVERY_S
    assert soak.FIRST_STEPS_S + soak.HOLD_UPS * 6 * once < soak.WARM_UP_S


def test_the_learner_stands_still_for_longer_than_memory_takes_to_be_given_back():
    assert soak.STILL_S > 2 * GIVE_BACK_S


def test_the_same_work_takes_about_the_same_processor_time():
    with FixedWork() as work:
        least = min(work.cpu_s() for _ in range(3))
        assert 0 < least <= min(work.cpu_s() for _ in range(5)) * 3


def test_growth_and_drift_are_those_of_the_samples():
    rows = [soak.Sample(60.0 * i, "arm", 1000 + 1024 * i, 2.0 * i, 100 * i) for i in range(30)]
    assert soak.mb_per_hour(rows) == pytest.approx(60.0)
    assert soak.drift(rows) == pytest.approx(0.0)
    slower = [soak.Sample(1.0 * i, "arm", 0, i + i**2 / 30, 100 * i) for i in range(30)]
    assert soak.drift(slower) < -0.2
    machine = [soak.Sample(1.0 * i, "arm", 0, i * (1 + i), 100 * i, 1 + 2 * i) for i in range(30)]
    assert abs(soak.drift(machine)) < 0.2  # the machine is slower, not the node


def test_the_campaign_is_no_everyday_benchmark():
    folder = Path(importlib.import_module("benchmarks").__file__).parent
    assert not (folder / "faults.py").exists()  # `make bench` runs files, not folders
