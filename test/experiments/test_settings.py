"""Settings of experiments: what extends what, which names, and what is refused."""

from __future__ import annotations

import re

import pytest
import yaml

from bayes_curiosity_ros.curiosity.bonus import BONUSES
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.experiments.engine.jobs import Cell
from bayes_curiosity_ros.experiments.engine.methods import merged
from bayes_curiosity_ros.experiments.engine.running import jobs_of, work_of
from bayes_curiosity_ros.experiments.engine.settings import Selection, load_settings
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.tasks.registry import TASKS
from support.experiments import ABLATIONS, CONFIG, CURVES, ROOT, TABLE, command


def test_mappings_are_merged_deeply_and_null_changes_nothing():
    base = {"a": {"b": 1, "c": {"d": 2}}, "e": [1]}
    assert merged(base, {"a": {"c": {"d": 3}}, "e": [2]}) == {
        "a": {"b": 1, "c": {"d": 3}},
        "e": [2],
    }
    assert merged(base, {"a": None}) == base


def test_a_file_that_extends_says_only_what_differs(curves, ablations):
    base, settings = load_settings(curves), load_settings(ablations)
    mine, theirs = settings.tasks["reach"].methods, base.tasks["reach"].methods
    assert list(settings.tasks) == ["reach"]
    assert list(mine) == ["curiosity", "continual", "random", "scratch"]
    assert mine["curiosity"] == theirs["curiosity"]
    assert (mine["random"].bonus, mine["random"].options) == ("curiosity", {"weight": 0.1})
    assert mine["random"].encoder == {"fourier_features": 16}
    assert (mine["scratch"].bonus, mine["scratch"].pretrained) == ("none", False)
    assert mine["continual"].bonus == "continual_curiosity"
    assert mine["continual"].options["weight"] == 0.1
    assert settings.tasks["reach"].learners == base.tasks["reach"].learners


def test_every_task_counts_less_than_a_task_of_its_own(table):
    table.write_text(
        TABLE.replace("    methods:\n", "    embedding: {max_epochs: 5}\n    methods:\n")
    )
    task = load_settings(table).tasks["pendulum"]
    assert task.embedding.max_epochs == 5
    assert task.demonstrations.count == 100


def test_a_method_may_have_a_budget_of_its_own(table):
    table.write_text(TABLE.replace("vime: {", "vime: {timesteps: 900, "))
    settings = load_settings(table)
    longer, other = Cell("pendulum", "trpo", "vime"), Cell("pendulum", "trpo", "none")
    assert (settings.cell(longer).timesteps, settings.cell(other).timesteps) == (900, 400)
    assert settings.with_timesteps(50).cell(longer).timesteps == 50


def test_a_method_may_need_the_learner_otherwise(table, tmp_path):
    table.write_text(TABLE.replace("vime: {", "vime: {learner_options: {max_kl: 0.5}, "))
    settings = load_settings(table)
    with_bonus, other = Cell("pendulum", "trpo", "vime"), Cell("pendulum", "trpo", "none")
    assert settings.cell(with_bonus).learning.options["max_kl"] == 0.5
    assert settings.cell(other).learning.options["max_kl"] == 0.01
    assert "learner_options" not in settings.cell(other).fingerprint()["method"]
    table.write_text(TABLE.replace("vime: {", "vime: {learner_options: {max_ql: 0.5}, "))
    with pytest.raises(ConfigError, match="max_ql"):
        work_of(load_settings(table), tmp_path)


def test_the_fingerprint_has_the_defaults_too(table):
    settings = load_settings(table).cell(Cell("pendulum", "trpo", "none")).fingerprint()
    assert settings["learning"]["options"]["cg_iterations"] == 10
    assert settings["learning"]["policy"]["hidden"] == (32, 32)


@pytest.mark.parametrize("learner", LEARNERS.names())
@pytest.mark.parametrize("task", TASKS.names())
def test_every_registered_name_is_understood(tmp_path, task, learner):
    learners = {learner: {"timesteps": 10, "parallel": 1, "min_steps": 1}}
    methods = dict.fromkeys(BONUSES.names())
    raw = {"points": 1, "tasks": {task: {"learners": learners, "methods": methods}}}
    (tmp_path / "all.yaml").write_text(yaml.safe_dump(raw))
    work = work_of(load_settings(tmp_path / "all.yaml"), tmp_path)
    assert {cell.method for cell in work.cells} == set(BONUSES.names())


def test_table1_covers_the_whole_table():
    settings = load_settings(CONFIG / "table1.yaml")
    assert len(set(jobs_of(settings, range(10)))) == 4 * 3 * 6 * 10
    assert set(settings.tasks) == {entry.name for entry in TASKS if not entry.arm}
    assert not any(cell.world for cell in work_of(settings, CONFIG).cells.values())


def test_ablations_of_table1_differ_in_one_thing():
    names = ("reference", "raw_form", "random_encoder")
    reference, raw, random = (load_settings(CONFIG / f"table1_{name}.yaml") for name in names)
    assert reference.cells() == [Cell(task, "trpo", "curiosity") for task in reference.tasks]
    for task in reference.tasks:
        methods = [part.tasks[task].methods["curiosity"] for part in (reference, raw, random)]
        assert methods[1].options == methods[0].options | {"form": "paper"}
        assert (methods[0].embedding, methods[2].embedding) == ("demonstrations", "random")
        assert reference.tasks[task].learners == raw.tasks[task].learners


def test_the_curves_are_whole():
    settings = load_settings(CONFIG / "curves.yaml")
    assert [*settings.tasks] == ["reach", "grasp", "visual_reach", "visual_grasp"]
    for name, task in settings.tasks.items():
        methods = {"curiosity", "rnd", "none"} | ({"vime"} if "visual" not in name else set())
        assert set(task.methods) == methods
        assert all(method.pretrained for method in task.methods.values())
        assert task.demonstrations.count == 8000
    work_of(settings.only(Selection(methods=("curiosity", "rnd"))), CONFIG)
    ablations = load_settings(CONFIG / "ablations.yaml").tasks["grasp"].methods
    assert len(ablations) == 12
    assert ablations["curiosity"] == settings.tasks["grasp"].methods["curiosity"]
    weights = [method.options.get("weight", 1.0) for method in ablations.values()]
    assert max(weights) / min(weights) >= 100


@pytest.mark.parametrize("path", sorted(CONFIG.rglob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_file_can_be_read(path):
    assert load_settings(path).cells()


def test_the_example_in_the_docs_can_be_read(tmp_path):
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/curves.md").read_text(), re.S)
    (tmp_path / "curves.yaml").write_text((CONFIG / "curves.yaml").read_text())
    (tmp_path / "own.yaml").write_text(example)
    settings = load_settings(tmp_path / "own.yaml")
    assert {str(cell) for cell in settings.cells()} == {
        f"grasp/trpo/{method}" for method in ("curiosity", "bold", "none")
    }


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (TABLE, "pendulum:\n    learners", "pendulm:\n    learners", "unknown task 'pendulm'"),
        (TABLE, "trpo: {", "a3c: {", "unknown learner 'a3c'"),
        (TABLE, "none:\n", "icm:\n", "unknown bonus 'icm'"),
        (TABLE, "weight: 0.1", "wait: 0.1", "wait"),
        (TABLE, "min_steps: 200}", "min_steps: 0}", "min_steps = 0"),
        (TABLE, "points: 2\n", "", "points"),
        (TABLE, "points: 2\n", "points: [\n", "not YAML"),
        (TABLE, "points: 2\n", "points: 2\nextends: nothing.yaml\n", "cannot read"),
        (TABLE, "embedding: none", "embedding: some", "unknown embedding 'some'"),
        (TABLE, "updates_per_step", "updates", "updates"),
        (CURVES, "  reach:", "  dance:", "unknown task 'dance'"),
        (CURVES, "weight: 0.1}, rnd", "wait: 0.1}, rnd", "wait"),
        (CURVES, "parallel: 3", "paralel: 3", "paralel"),
        (CURVES, "epochs: 1}", "epochs: none}", "epochs = 'none'; expected int"),
        (CURVES, "points: 3", "points: 0", "points = 0"),
        (CURVES, "tasks:", "things:", "missing tasks"),
        (CURVES, "min_steps: 100}}", "min_steps: 100}, ddpg: "
         "{timesteps: 9, parallel: 1, min_steps: 1}}", "cannot begin with an imitated policy"),
    ],
)  # fmt: skip
def test_bad_settings_are_one_line_before_any_work(tmp_path, capsys, text, old, new, message):
    assert old in text
    (tmp_path / "bad.yaml").write_text(text.replace(old, new, 1))
    assert command("table1", tmp_path / "bad.yaml", tmp_path / "out") == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("like: none", "like: nobody", "unknown method to be like 'nobody'"),
        ("like: none", "like: scratch", "unknown method to be like 'scratch'"),
        ("[curiosity, continual", "[nobody, continual", "unknown method 'nobody'"),
        ("tasks: [reach]", "tasks: [dance]", "unknown task 'dance'"),
    ],
)
def test_bad_names_in_a_file_that_extends(ablations, old, new, message):
    ablations.write_text(ABLATIONS.replace(old, new, 1))
    with pytest.raises(ConfigError, match=message):
        load_settings(ablations)


def test_an_encoder_of_its_own_is_refused_on_a_visual_task(curves, tmp_path, capsys):
    own = "{curiosity: {weight: 0.1, embedding: random}, rnd: {weight: 0.1}, none: }"
    curves.write_text(
        CURVES.replace("{curiosity: {weight: 0.1}, rnd: {weight: 0.1}, none: }", own)
    )
    assert command("curves", curves, tmp_path / "out", "--task", "visual_reach") == 2
    assert "through the same one" in capsys.readouterr().err
