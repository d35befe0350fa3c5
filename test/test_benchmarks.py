"""The smallest case of every benchmark, without its peers: no change breaks one unseen."""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import _timing, _turns

FOLDER = Path(_timing.__file__).parent
# By benchmark: words of its command line, and constants that make it small. The frames of
# `simulation` are left out: they need a GL library.
SMALLEST: dict[str, tuple[str, dict[str, Any]]] = {
    "bags": ("", {"SECONDS": 0.2}),
    "curiosity": (
        "--repetitions 1",
        {"BATCHES": (1,), "_sequential.EPISODES": 2, "_sequential.FEATURES": (8, 16)},
    ),
    "regression": ("", {"DECADES": (100, 200), "TIMED_UPDATES": 1}),
    "sac": (
        "--updates 1 --turns 1",
        {"SIZES": {"default": {"hidden": (4,), "critics": 2}}, "TRANSITIONS": 300},
    ),
    "safety": ("--commands 8 --arms 4", {}),
    "service": ("", {"CALLS": 2, "WARM_UP": 1, "BATCH_CALLS": 1}),
    "simulation": (
        "--repetitions 1 --cells 2 --episodes 2",
        {"SINGLE_STEPS": 2, "BATCH_STEPS": 2, "frames": lambda *_: None},
    ),
    "trpo": ("--steps 100 --seeds 1", {}),
    "visual": ("--steps 10", {"PARALLEL": 1}),
}
NEEDS_THE_STACK = {"monitor", "stack", "standstill"}


class PretendedPeer:
    """Answers whatever a peer is asked."""

    def __init__(self, name: str, module: str, *arguments: str) -> None:
        assert (FOLDER / f"{module.removeprefix('benchmarks.')}.py").exists()

    def ask(self, request: dict[str, Any]) -> dict[str, float]:
        times = {"seconds": 1.0, "cpu_seconds": 1.0, "calls": 1}
        clock = {"physics_step_s": 0.002, "control_step_s": 0.04}
        return (
            times
            | clock
            | {"steps_per_s": 1.0, "steps_per_cpu_s": 1.0, "return": -100.0}
            | {
                "updates_per_s": 1.0,
                "updates_per_cpu_s": 1.0,
            }
        )

    def __enter__(self) -> PretendedPeer:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def test_every_benchmark_has_a_smallest_case() -> None:
    names = {path.stem for path in FOLDER.glob("[!_]*.py")}
    assert names == set(SMALLEST) | NEEDS_THE_STACK


def test_the_threads_of_a_benchmark_are_numpys_too(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda _, words, given: started.append((words, given)))
    monkeypatch.setattr(torch, "set_num_threads", lambda count: None)  # those of all other tests
    monkeypatch.setattr(sys, "argv", ["curiosity", "--threads", "3", "--only", "nothing"])
    for threads, times in ((1, 1), (3, 0)):
        started.clear()
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            monkeypatch.setenv(name, str(threads))
        runpy.run_path(str(FOLDER / "curiosity.py"), run_name="__main__")
        assert len(started) == times
        for words, given in started:
            assert words[1:] == sys.orig_argv[1:]
            assert given["OPENBLAS_NUM_THREADS"] == given["OMP_NUM_THREADS"] == "3"


@pytest.mark.parametrize("name", sorted(NEEDS_THE_STACK))
def test_a_benchmark_of_the_whole_stack_is_imported(name: str) -> None:
    assert importlib.import_module(f"benchmarks.{name}").main


def test_the_fault_table_is_that_of_its_rows() -> None:
    root = FOLDER.parent
    path = root / "results/robot/standstill.jsonl"
    table = importlib.import_module("benchmarks.standstill").table(path)
    assert table in (root / "docs/real_arm.md").read_text()


def test_no_arm_was_called_ready_in_motion() -> None:
    path = FOLDER.parent / "results/robot/standstill.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert {row["arm"] for row in rows} == set(
        importlib.import_module("benchmarks.standstill").FAULTS
    )
    assert not any(row["ready_while_moving"] for row in rows)
    assert all(row["p100_s"] <= row["bar_s"] for row in rows)


@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_the_smallest_case_reports_figures(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    words, constants = SMALLEST[name]
    module = importlib.import_module(f"benchmarks.{name}")
    for target in (module, _turns):
        monkeypatch.setattr(target, "PeerProcess", PretendedPeer, raising=False)
    monkeypatch.setattr(module, "private_domain", lambda: None, raising=False)  # we have ours
    monkeypatch.setattr(_timing, "MIN_REPETITION_S", 0.0)
    for constant, value in constants.items():
        place, _, own = constant.rpartition(".")
        target = importlib.import_module(f"benchmarks.{place}") if place else module
        monkeypatch.setattr(target, own, value)
    monkeypatch.setattr(sys, "argv", [name, *words.split()])
    module.main()
    lines = [line for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
    assert lines
    assert all(json.loads(line)["name"].startswith(f"{name}/") for line in lines)
