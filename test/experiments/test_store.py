"""Rows on disk: whole or absent, one writer per cell, refused where settings differ."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from bayes_curiosity_ros.errors import ConfigError, DamagedFileError
from bayes_curiosity_ros.experiments.engine.jobs import Cell, Row
from bayes_curiosity_ros.experiments.engine.settings import Selection, load_settings
from bayes_curiosity_ros.experiments.engine.store import (
    END,
    ROWS,
    SETTINGS,
    Store,
    all_rows,
    read_settings,
)
from support.experiments import TABLE, command, stored

ONE, TWO = Cell("reach", "trpo", "rnd"), Cell("grasp", "trpo", "none")


@dataclass(frozen=True)
class Budget:
    """Settings of which only the budget matters."""

    timesteps: int = 10
    shape: tuple[int, ...] = (3, 4)

    def fingerprint(self) -> dict[str, object]:
        return vars(self)


def rows(cell: Cell, seed: int = 0) -> list[Row]:
    return [Row(*cell, seed, timesteps, episodes=timesteps) for timesteps in (5, 10)]


def test_rows_come_back_and_half_written_jobs_do_not(tmp_path):
    store = Store(tmp_path, {ONE: Budget()})
    store.append(rows(ONE))
    whole = (tmp_path / ROWS).read_text()
    store.append(rows(ONE, seed=1)[:1])
    with (tmp_path / ROWS).open("a") as file:
        file.write("reach,trpo,rn")
    assert [row.job for row in store.load()] == [row.job for row in rows(ONE)]
    assert (tmp_path / ROWS).read_text() == whole


def test_rows_of_other_cells_stay(tmp_path):
    Store(tmp_path, {TWO: Budget(timesteps=100)}).append(rows(TWO))
    store = Store(tmp_path, {ONE: Budget()})
    store.append(rows(ONE))
    assert {row.cell for row in store.load()} == {ONE}
    assert [row.cell for row in all_rows(tmp_path)] == [TWO, TWO, ONE, ONE]


def test_half_a_line_of_another_writer_spoils_no_row(tmp_path):
    store = Store(tmp_path, {ONE: Budget()})
    store.append(rows(ONE))
    with (tmp_path / ROWS).open("a") as file:
        file.write("grasp,trpo,no")
    store.append(rows(ONE, seed=1))
    assert len(store.load()) == 4


def test_damage_ends_the_command_with_one_line(tmp_path):
    store = Store(tmp_path, {ONE: Budget()})
    store.append(rows(ONE))
    text = (tmp_path / ROWS).read_text()
    (tmp_path / ROWS).write_text(text.replace("rnd", "rnc", 1))
    with pytest.raises(DamagedFileError, match=r"is damaged in line 2 \(1 of 2 lines\)"):
        store.load()
    del store
    (tmp_path / SETTINGS).write_text("{")
    with pytest.raises(DamagedFileError, match="is damaged or no JSON"):
        Store(tmp_path, {ONE: Budget()})


@pytest.mark.parametrize("gone", [1, 3, 40])
def test_lines_that_are_gone_are_missed(tmp_path, gone):
    """At the end of a file that grows, no line is left that could say so."""
    store = Store(tmp_path, {ONE: Budget()})
    store.append(rows(ONE))
    store.append(rows(ONE, seed=1))
    data = (tmp_path / ROWS).read_bytes()
    cut = data[: data[:-gone].rfind(b"\n") + 1]
    (tmp_path / ROWS).write_bytes(cut)
    with pytest.raises(DamagedFileError, match="lines are gone or changed"):
        all_rows(tmp_path)
    (tmp_path / END).unlink()
    assert len(all_rows(tmp_path)) < 4


def test_whoever_is_killed_while_it_adds_rows_has_damaged_nothing(tmp_path):
    store = Store(tmp_path, {ONE: Budget()})
    store.append(rows(ONE))
    before = (tmp_path / END).read_bytes()
    store.append(rows(ONE, seed=1))
    (tmp_path / END).write_bytes(before)
    assert len(all_rows(tmp_path)) == 4


def test_cells_come_in_the_order_in_which_they_were_asked_for(tmp_path):
    store = Store(tmp_path, {TWO: Budget(), ONE: Budget()})
    store.append(rows(ONE))
    store.append(rows(TWO))
    assert list(dict.fromkeys(row.cell for row in all_rows(tmp_path))) == [TWO, ONE]
    assert list(read_settings(tmp_path)) == [str(TWO), str(ONE)]
    del store
    Store(tmp_path, {ONE: Budget()})
    assert list(read_settings(tmp_path)) == [str(TWO), str(ONE)]


def test_changed_settings_are_refused_for_what_they_change(tmp_path):
    Store(tmp_path, {ONE: Budget(), TWO: Budget()})
    Store(tmp_path, {TWO: Budget()})
    with pytest.raises(ConfigError, match=r"reach/trpo/rnd\) holds results of other settings"):
        Store(tmp_path, {ONE: Budget(timesteps=20), TWO: Budget()})


def test_a_cell_has_one_writer(tmp_path):
    store = Store(tmp_path, {ONE: Budget()})
    Store(tmp_path, {TWO: Budget()}).append(rows(TWO))
    with pytest.raises(ConfigError, match="another process is writing"):
        Store(tmp_path, {ONE: Budget()})
    del store
    Store(tmp_path, {ONE: Budget()})


def test_the_command_says_so_too(table, tmp_path, capsys):
    words = ("--learner", "trpo", "--method", "none", "--seeds", "0")
    stored(load_settings(table).only(Selection(learners=("trpo",))), tmp_path / "out", [])
    table.write_text(TABLE.replace("trpo: {timesteps: 400", "trpo: {timesteps: 600"))
    assert command("table1", table, tmp_path / "out", *words) == 2
    assert "pendulum/trpo/none) holds results of other settings" in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_folder_as_a_user(table, tmp_path, capsys):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    assert command("table1", table, locked / "out") == 2
    assert "cannot write" in capsys.readouterr().err


def test_unwritable_folder(table, tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    assert command("table1", table, tmp_path / "file" / "out") == 2
    assert "cannot write" in capsys.readouterr().err
