"""Exploration: intervals, verdicts, the placebo, and the experiment itself in small."""

import json
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes_curiosity_ros.cli import main
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.errors import InputError
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.placebo import Shuffled
from bayes_curiosity_ros.experiments.engine.running import work_of
from bayes_curiosity_ros.experiments.engine.settings import load_settings
from bayes_curiosity_ros.experiments.engine.statistics import bootstrap, interquartile_mean
from bayes_curiosity_ros.experiments.engine.store import all_rows, read_settings
from bayes_curiosity_ros.experiments.engine.successes import Successes
from bayes_curiosity_ros.experiments.exploration.table import successes_of, to_markdown
from support.experiments import CONFIG, RESULTS
from support.learners import CountingBonus

TUNED = {"curiosity", "price", "rnd", "rnd_latent", "vime", "e3b", "paper"}
TRIALS = 12
REMEMBERS = "sequential_fourier"  # the curiosity that the grasp regimes were measured with
SMALL = """
extends: {file}
points: 2
every_task:
  embedding: {{max_epochs: 1}}
  demonstrations: {{count: 200}}
  learners: {{trpo: {{timesteps: 400, parallel: 2, min_steps: 100}}}}
"""


@pytest.mark.parametrize(
    ("values", "mean"),
    [([1, 2, 3, 4, 5, 6, 7, 8], 4.5), ([0, 0, 9, 9], 4.5), ([3], 3.0), ([0, 1, 2, 3, 100], 2.0)],
)
def test_the_interquartile_mean_is_of_the_middle_half(values, mean):
    assert float(interquartile_mean(np.array(values, dtype=float))) == pytest.approx(mean)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_an_interval_holds_its_value_and_stays_among_the_seeds(values):
    interval = bootstrap(np.array(values), resamples=200)
    assert min(values) - 1e-12 <= interval.lower <= interval.upper <= max(values) + 1e-12
    assert interval.lower - 1e-12 <= interval.value <= interval.upper + 1e-12


def runs(*finals: float) -> Successes:
    """Runs whose success rate rises to these values."""
    times = np.array([50.0, 100.0, 150.0, 200.0])
    rates = [np.array([0.0, final / 2, final, final]) for final in finals]
    first = np.array([100.0 if final else np.inf for final in finals])
    return Successes(list(range(len(finals))), [times] * len(finals), rates, first)


def test_the_table_tells_apart_by_interval():
    cells = {
        Cell("parked_reach", "trpo", "curiosity"): runs(0.9, 0.92, 0.94, 0.95, 0.97),
        Cell("parked_reach", "trpo", "none"): runs(0.0, 0.0, 0.0, 0.0, 0.3),
        Cell("parked_reach", "trpo", "rnd"): runs(0.2, 0.5, 0.93, 0.95, 0.97),
    }
    lines = to_markdown(cells).splitlines()
    verdicts = {line.split(" | ")[1]: line.split(" | ")[3] for line in lines if "parked" in line}
    assert verdicts == {"curiosity": "–", "none": "worse", "rnd": "not told apart"}
    assert "1 of 5 | never | never |" in "\n".join(lines)


def episode(seed: int) -> Transitions:
    rows = np.random.default_rng(seed).normal(size=(9, 1))
    return Transitions(Observations(rows[:-1]), np.zeros((8, 1)), Observations(rows[1:]))


def test_a_placebo_pays_the_same_at_other_steps():
    placebo, plain = Shuffled(CountingBonus(), 3), CountingBonus()
    several = [episode(0), episode(1)]
    dealt, paid = placebo.evaluate(several), plain.evaluate(several)
    assert sorted(dealt) == sorted(paid)
    assert not np.array_equal(dealt, paid)
    np.testing.assert_array_equal(placebo.evaluate(several), dealt)
    placebo.update(several)
    other = Shuffled(CountingBonus(), 3)
    other.load_state_dict(placebo.state_dict())
    np.testing.assert_array_equal(other.evaluate(several), placebo.evaluate(several))
    with pytest.raises(InputError, match="cannot be streamed"):
        placebo.begin(several[0].observations[:1])


def method_of(trial: str) -> str:
    return max((method for method in TUNED if trial.startswith(f"{method}_")), key=len)


def whole_runs(folder: str, method: str) -> dict[str, float]:
    """Of a method's committed trials, the mean success over the whole run."""
    cells = successes_of(all_rows(RESULTS / "exploration" / folder))
    assert all(seed >= 100 for cell in cells.values() for seed in cell.seeds)
    return {
        cell.method: float(runs.overall().mean())
        for cell, runs in cells.items()
        if method_of(cell.method) == method
    }


def best_of(tried: dict[str, float], count: int) -> list[str]:
    """The trials with the highest figures; of equal ones, that with the smaller weight."""
    by_rank = sorted(tried, key=lambda trial: (-tried[trial], float(trial.rpartition("_")[2])))
    return by_rank[:count]


def test_every_method_has_equally_many_trials():
    methods = load_settings(CONFIG / "exploration_tuning.yaml").tasks["parked_reach"].methods
    counts = Counter(map(method_of, methods))
    assert set(counts) == TUNED
    assert set(counts.values()) == {TRIALS}
    shown = load_settings(CONFIG / "exploration.yaml").tasks["parked_reach"]
    assert set(shown.methods) - TUNED == {"none", "imitation", "placebo"}


@pytest.mark.parametrize("method", sorted(TUNED))
def test_every_setting_is_what_the_committed_trials_say(method):
    near, far = whole_runs("tuning", method), whole_runs("tuning_far", method)
    assert len(near) == TRIALS
    assert set(far) == set(best_of(near, 2))
    (best,) = best_of({trial: near[trial] + far[trial] for trial in far}, 1)
    trials = load_settings(CONFIG / "exploration_tuning.yaml").tasks["parked_reach"].methods
    for task in load_settings(CONFIG / "exploration.yaml").tasks.values():
        assert task.methods[method] == trials[best]


def test_the_page_has_the_figures_of_the_committed_rows():
    tables = {}
    for path in (RESULTS / "exploration").rglob("table.md"):
        tables[path.parent.name] = to_markdown(successes_of(all_rows(path.parent)))
        assert path.read_text() == tables[path.parent.name]
    page = (RESULTS.parent / "docs" / "exploration.md").read_text()
    shown = [
        line
        for line in page.splitlines()
        if re.match(r"\| [a-z]+_(parked|shot)_|\| parked_", line)
    ]
    sources = ("exploration", "forms", "physics", "imitated_elsewhere", "grasp_reported")
    sources += ("ablations",)
    made = "\n".join(tables[source] for source in sources).splitlines()
    assert len(shown) > 20
    assert set(shown) <= set(made)
    cell, found = r"(.+\]) \|", r"(\d of \d), (\S+) \|"
    row = rf"^\| `(\w+)` \| .* \| {cell} {cell} {found} {found}$"
    regimes = re.findall(row, page, re.MULTILINE)
    assert len(regimes) == 6
    for regime, *ends, found, first, found_by_none, first_of_none in regimes:
        founds = ((found, first), (found_by_none, first_of_none))
        for method, end, (seeds, steps) in zip((REMEMBERS, "none"), ends, founds, strict=True):
            line = rf"\| {method} \| {re.escape(end)} \| .* \| {seeds} \| {steps} \|"
            assert re.search(line, tables[regime]), (regime, method)


@pytest.mark.parametrize("path", sorted((CONFIG / "grasp").glob("*.yaml")), ids=lambda p: p.stem)
def test_the_files_of_the_regimes_go_on_with_the_committed_rows(path, tmp_path):
    cells = work_of(load_settings(path), tmp_path).cells
    committed = read_settings(RESULTS / "exploration" / "grasp" / path.stem)
    assert committed
    for name, settings in committed.items():
        mine = cells[Cell(*name.split("/"))].fingerprint()
        assert json.loads(json.dumps(mine)) == settings


def test_the_ablations_were_made_with_the_shipped_settings(tmp_path):
    committed = read_settings(RESULTS / "exploration" / "ablations")
    found = {}
    for name in ("exploration_ablations", "exploration_own_encoder"):
        cells = work_of(load_settings(CONFIG / f"{name}.yaml"), tmp_path).cells
        found |= {str(cell): settings.fingerprint() for cell, settings in cells.items()}
    assert json.loads(json.dumps(found)) == committed


@pytest.mark.slow
def test_the_command_runs_every_method(tmp_path, capsys):
    file = tmp_path / "small.yaml"
    file.write_text(SMALL.format(file=CONFIG / "exploration.yaml"))
    options = ["--config", str(file), "--seeds", "0", "--output", str(tmp_path / "out")]
    options += ["--task", "parked_reach"]
    assert main(["experiment", "exploration", "--workers", "2", *options]) == 0
    printed = capsys.readouterr().out
    for method in load_settings(file).tasks["parked_reach"].methods:
        assert f"| parked_reach | {method} |" in printed
    assert (tmp_path / "out" / "exploration.png").exists()
