"""Table I: analysis against worked examples, the paper's numbers, the command."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest
from PIL import Image

from bayes_curiosity_ros.experiments.engine.comparisons import NOT_TOLD_APART
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.settings import Selection, load_settings
from bayes_curiosity_ros.experiments.engine.store import all_rows, to_csv
from bayes_curiosity_ros.experiments.table1 import comparison, paper
from bayes_curiosity_ros.experiments.table1.analysis import CellReturns, cells_of, speedup
from bayes_curiosity_ros.experiments.table1.command import write_table
from bayes_curiosity_ros.experiments.table1.plots import plot_curves
from bayes_curiosity_ros.experiments.table1.table import to_markdown
from support.experiments import CONFIG, RESULTS, command, returns_of, stored, untimed


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


def test_a_comparison_tells_apart_by_interval_and_says_who_was_first():
    cell, default = Cell("acrobot", "trpo", "curiosity"), Cell("acrobot", "trpo", "default")
    table = {
        cell: returns_of(
            *[[-500.0, value] for value in (-100, -101, -101, -101, -102)], first=2000.0
        )
    }

    def last_line(first: float, *finals: float) -> str:
        mine = {default: returns_of(*[[-500.0, value] for value in finals], first=first)}
        return comparison.to_markdown(mine, table).splitlines()[-1]

    worse = last_line(3000.0, -120, -121, -121, -121, -122)
    assert worse == (
        "| acrobot | trpo | default | -121.0 [-121.7, -120.3] | worse "
        "| 3.0k (3.0k–3.0k), 5 of 5 | no |"
    )
    assert last_line(1000.0, -90, -101, -101, -105, -120).endswith(
        "| not told apart | 1.0k (1.0k–1.0k), 5 of 5 | yes |"
    )
    assert last_line(2000.0, -90, -91, -91, -91, -92).endswith(
        "| better | 2.0k (2.0k–2.0k), 5 of 5 | as soon |"
    )


def test_the_command_compares_with_a_table(table, tmp_path, capsys):
    names = Selection(learners=("trpo",), methods=("curiosity", "none"))
    stored(load_settings(table).only(names), tmp_path / "out", [0])
    words = ("--learner", "trpo", "--method", "none", "--seeds", "0", "--against")
    assert command("table1", table, tmp_path / "out", *words, str(tmp_path / "out")) == 0
    assert "| pendulum | trpo | none |" in (tmp_path / "out" / "comparison.md").read_text()
    assert command("table1", table, tmp_path / "out", *words, str(tmp_path / "nowhere")) == 2
    assert "nowhere has no rows.csv" in capsys.readouterr().err


def test_the_default_curiosity_is_no_worse_than_the_tables_and_the_page_says_so():
    folder = RESULTS / "table1" / "default"
    points = load_settings(CONFIG / "table1_default.yaml").points
    mine, table = (cells_of(all_rows(path), points) for path in (folder, folder.parent))
    made = comparison.to_markdown(mine, table)
    assert (folder / "comparison.md").read_text() == made
    assert (folder / "table.md").read_text() == to_markdown(mine)
    page = (RESULTS.parent / "docs" / "record.md").read_text()
    shown = re.findall(r"^\| \w+ \| trpo \| .*$", page, re.MULTILINE)
    assert shown == [line for line in made.splitlines() if "| trpo |" in line]
    verdicts = [line.split(" | ") for line in shown if "| default |" in line]
    assert len(verdicts) == 2
    for line in verdicts:
        assert line[4] in (NOT_TOLD_APART, "better")
        assert line[-1] != "no |"


@pytest.mark.parametrize("name", ["results.md", "record.md"])
def test_the_pages_say_by_intervals_what_the_committed_rows_do(name):
    folder = RESULTS / "table1"
    points = load_settings(CONFIG / "table1.yaml").points
    made = to_markdown(cells_of(all_rows(folder), points))
    assert (folder / "table.md").read_text() == made
    page = (RESULTS.parent / "docs" / name).read_text()
    line = r"^\| \w+ \| (?:the end|mean over training) \| .*$"
    shown, told = (re.findall(line, text, re.MULTILINE) for text in (page, made))
    assert len(shown) == 6
    assert shown == told
