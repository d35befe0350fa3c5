"""Table I: analysis against worked examples, the paper's numbers, the command."""

from __future__ import annotations

import re
import shutil
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from bayes_curiosity_ros.experiments.engine.comparisons import told
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.settings import Selection, load_settings
from bayes_curiosity_ros.experiments.engine.store import all_rows, to_csv
from bayes_curiosity_ros.experiments.table1 import paper
from bayes_curiosity_ros.experiments.table1.analysis import CellReturns, cells_of, speedup
from bayes_curiosity_ros.experiments.table1.command import write_table
from bayes_curiosity_ros.experiments.table1.plots import plot_curves
from bayes_curiosity_ros.experiments.table1.table import to_markdown
from support.experiments import CONFIG, RESULTS, command, returns_of, stored, untimed

DOCS = RESULTS.parent / "docs"


def test_speedup_is_baseline_steps_over_ours():
    slow = returns_of([-200] * 6 + [0] * 5)  # smoothed, its best is reached at 7,000
    fast = returns_of([-200, -200, 0, 0, 0, 0, 0, 0, 0, 0, 0])  # at 3,000
    ratio = speedup(slow, fast)
    assert ratio.mark == ""
    assert ratio.value == pytest.approx(7 / 3)
    assert speedup(fast, slow).value == pytest.approx(3 / 7)


def test_speedup_to_a_share_of_the_way_does_not_wait_for_the_last_bit():
    slow = returns_of([-200] + [-100] * 4 + [-2] * 5 + [0.0])
    fast = returns_of([-200] + [-4] * 10)  # never at the other's best
    assert speedup(slow, fast).mark == "not matched"
    ratio = speedup(slow, fast, share=0.9)
    assert ratio.mark == ""
    assert ratio.value == pytest.approx(6 / 2)


def test_speedup_over_a_baseline_that_never_learned_is_marked():
    flat, fast = returns_of([-200.0] * 11), returns_of([-200, -200] + [0] * 9)
    assert speedup(flat, fast).mark == "never learned"
    assert speedup(flat, fast).value == pytest.approx(10 / 1)  # smoothing starts to rise at 1,000
    assert speedup(flat, flat) is None


def test_speedup_not_matched_is_an_upper_bound():
    ratio = speedup(returns_of([-200] * 5 + [0] * 6), returns_of([-200.0] * 8 + [-50] * 3))
    assert ratio.mark == "not matched"
    assert ratio.value < 1


def test_cells_align_runs_of_unequal_steps():
    def row(seed: int, timesteps: int, value: float) -> Row:
        return Row("pendulum", "trpo", "none", seed, timesteps, evaluation_return=value)

    rows = [row(0, 0, -9), row(0, 1010, -5), row(0, 2000, -1)]
    rows += [row(1, 0, -8), row(1, 1100, -4), row(1, 2100, -2)]
    cell = cells_of(rows, 2)[Cell("pendulum", "trpo", "none")]
    np.testing.assert_array_equal(cell.returns, [[-9, -5, -1], [-8, -4, -2]])
    assert cell.quartiles()[0] == -1.5
    assert cell.median_first_success() == np.inf


def test_median_first_success_needs_half_of_the_seeds():
    cell = CellReturns(np.arange(2.0), np.zeros((4, 2)), np.array([10.0, np.inf, 20.0, 30.0]))
    assert cell.median_first_success() == 25.0


def test_table_shows_the_paper_beside_ours():
    cells = {
        Cell("mountaincar", "trpo", method): returns_of(*[[-200.0, 0.0, 25.0]] * 3, first=1900.0)
        for method in ("curiosity", "none", "a_new_one")
    }
    text = to_markdown(cells)
    assert "20.0 (16.0, 22.0)" in text
    assert "25.0 (25.0, 25.0)" in text
    assert "1.9k (1.9k–1.9k), 3 of 3" in text
    assert "| mountaincar | a_new_one | 25.0 (25.0, 25.0) | – |" in text
    assert "median ≥ the paper's curiosity median: 1 of 1" in text


def test_the_papers_numbers_are_complete():
    assert len(paper.REWARD) == 4 * (3 + 2 + 3)
    assert len(paper.SPEEDUP) == 4 * (2 + 1 + 2)


def test_figures_have_the_palette_of_all_experiments(tmp_path):
    cells = {
        Cell(task, learner, method): returns_of([-500.0, -100.0])
        for task in ("acrobot", "a_new_task")
        for learner in ("trpo", "ddpg")
        for method in ("curiosity", "a_new_one")
    }
    paths = plot_curves(cells, tmp_path)
    assert [path.name for path in paths] == ["acrobot.png", "a_new_task.png"]
    image = np.asarray(Image.open(paths[0]).convert("RGB"))
    for color in ([0x00, 0x72, 0xB2], [0xD5, 0x5E, 0x00]):  # curiosity's, and the first spare one
        assert (np.abs(image.astype(int) - color) < 10).all(axis=2).sum() > 100


def test_an_interrupted_table_is_resumed_and_equals_an_unbroken_one(table, tmp_path, capsys):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    names = Selection(learners=("trpo",), methods=("none", "rnd"))
    stored(load_settings(table).only(names), whole, [0, 1])
    write_table(whole, points=2)
    broken.mkdir()
    shutil.copy(whole / "settings.json", broken)
    kept = [row for row in all_rows(whole) if row.seed == 0]
    begun = next(row for row in all_rows(whole) if row.seed == 1)
    (broken / "rows.csv").write_text(to_csv([*kept, begun], header=True) + "pend")
    capsys.readouterr()
    words = ("--learner", "trpo", "--method", "none", "rnd", "--seeds", "0-1")
    assert command("table1", table, broken, *words) == 0
    assert "2 of 4 runs are already there" in capsys.readouterr().err
    assert sorted(untimed(all_rows(whole))) == sorted(untimed(all_rows(broken)))
    assert (broken / "table.md").read_text() == (whole / "table.md").read_text()
    assert not list(broken.rglob("*.pt"))  # of hundreds of runs nobody looks at a checkpoint


def test_the_table_says_where_curiosity_is_told_apart_over_the_whole_run():
    def cell(method: str) -> Cell:
        return Cell("acrobot", "trpo", method)

    cells = {
        cell("curiosity"): returns_of(
            *[[-500.0, value] for value in (-100, -101, -101, -102, -99)]
        ),
        cell("rnd"): returns_of(*[[-500.0, value] for value in (-90, -101, -101, -105, -120)]),
        cell("none"): returns_of(*[[-500.0, value] for value in (-200, -201, -201, -202, -199)]),
    }
    text = to_markdown(cells).splitlines()
    assert "| task | learner | curiosity | rnd | none |" in text
    assert "| acrobot | trpo | -100.7 [-101.7, -99.3] | not told apart | better |" in text


@pytest.fixture(scope="module")
def committed():
    """The cells of the committed table."""
    points = load_settings(CONFIG / "table1.yaml").points
    return cells_of(all_rows(RESULTS / "table1"), points)


def test_the_committed_table_is_of_the_committed_rows(committed):
    assert (RESULTS / "table1" / "table.md").read_text() == to_markdown(committed)
    assert {len(cell.returns) for cell in committed.values()} == {10}


@pytest.mark.parametrize("name", ["results.md", "record.md"])
def test_the_pages_say_by_intervals_what_the_table_does(name):
    page, table = (path.read_text() for path in (DOCS / name, RESULTS / "table1" / "table.md"))
    line = r"^\| \w+ \| (?:the end|mean over training) \| .*$"
    shown, told = (re.findall(line, text, re.MULTILINE) for text in (page, table))
    assert len(shown) == 2 * 5
    assert shown == told


def test_the_record_has_the_lines_of_the_table_and_of_the_trials():
    section = (DOCS / "record.md").read_text().partition("\n## The arm")[0]
    folder = RESULTS / "table1"
    known = [(folder / name / "table.md").read_text().splitlines() for name in ("", "tuning")]
    line = re.compile(r"\| (mountaincar|swingup|pendulum|acrobot) \| |- curiosity's ")
    shown = [each for each in section.splitlines() if line.match(each)]
    assert len(shown) == 2 * 12 + 5 + 12 + 2 * 4  # two methods, claims, cells, trials
    assert set(shown) <= set(known[0] + known[1])


def test_the_readme_counts_the_cells_as_the_rows_do(committed):
    def counted(rival: str) -> Counter[str]:
        pairs = [
            (cell.means(), committed[name._replace(method=rival)].means())
            for name, cell in committed.items()
            if name.method == "curiosity"
        ]
        return Counter(told(*pair) for pair in pairs)

    none, rnd, vime, placebo = (counted(name) for name in ("none", "rnd", "vime", "placebo"))
    sentence = (
        f"better than no bonus in {none['better']} of 12 cells and worse in {none['worse']}, "
        f"than VIME in {vime['better']} and {vime['worse']}, than the placebo in "
        f"{placebo['better']} and {placebo['worse']}, than RND in {rnd['better']} and "
        f"{rnd['worse']}"
    )
    assert sentence in " ".join((DOCS.parent / "README.md").read_text().split())
