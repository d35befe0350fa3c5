"""Registries: names, errors that list them, plugins of other packages, and everything in them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import pytest

from bayes_curiosity_ros.configuration.registry import PLUGINS, Registry
from bayes_curiosity_ros.curiosity.bonus import BONUSES, Bonus, BonusInputs
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS, make_learner
from bayes_curiosity_ros.learning.policy import PolicyConfig
from bayes_curiosity_ros.learning.rollout import run_episodes
from bayes_curiosity_ros.tasks.registry import TASKS, make_task
from support.learners import Identity


@dataclass(frozen=True)
class Dish:
    name: str
    make: object
    spicy: bool = False


def menu(*packages: str) -> Registry[Dish]:
    return Registry("dish", Dish, *packages)


def test_what_is_registered_is_found_by_its_name():
    dishes = menu()

    @dishes.register("soup", spicy=True)
    def cook() -> str:
        return "hot"

    assert dishes["soup"].make is cook
    assert dishes["soup"].spicy
    assert dishes.names() == ("soup",)
    assert "soup" in dishes
    assert [dish.name for dish in dishes] == ["soup"]


def test_an_unknown_name_lists_the_known_ones():
    dishes = menu()
    dishes.add(Dish("soup", None))
    dishes.add(Dish("bread", None))
    with pytest.raises(ConfigError, match="unknown dish 'cake'; choose one of: bread, soup"):
        _ = dishes["cake"]


def test_a_name_is_given_once():
    dishes = menu()
    dishes.add(Dish("soup", None))
    with pytest.raises(ConfigError, match="two of dish 'soup'"):
        dishes.add(Dish("soup", None))


def written_package(folder: Path, name: str, **modules: str) -> str:
    (folder / name).mkdir()
    (folder / name / "__init__.py").touch()
    for module, text in modules.items():
        (folder / name / f"{module}.py").write_text(text)
    return name


def test_packages_are_read_only_until_a_name_is_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    dishes = menu(written_package(tmp_path, "kitchen_a", soup=""), "kitchen_that_is_not_there")
    dishes.add(Dish("soup", None))
    assert dishes["soup"].name == "soup"
    with pytest.raises(ModuleNotFoundError, match="kitchen_that_is_not_there"):
        dishes.names()


def test_a_module_that_lacks_a_package_is_left_out_and_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    package = written_package(tmp_path, "kitchen_b", grill="import charcoal_that_is_not_there")
    with pytest.raises(ConfigError, match=r"kitchen_b\.grill needs charcoal_that_is_not_there"):
        _ = menu(package)["steak"]


def test_a_plugin_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    about = tmp_path / "broken-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{PLUGINS}]\nbroken = module_that_is_not_there\n")
    with pytest.raises(ConfigError, match=r"plugin 'broken' .* cannot be imported"):
        menu().names()


def inputs_of(task) -> BonusInputs:
    encoder = EncoderConfig(task.observation_size)
    return BonusInputs(task.observation_size, task.action_size, 0, lambda: Encoder(encoder))


@pytest.mark.parametrize("name", BONUSES.names())
def test_every_bonus_obeys_the_protocol(name):
    task = Identity()
    entry, rng = BONUSES[name], np.random.default_rng(0)
    bonus = entry.make({"weight": 0.5} if entry.weighted else {}, inputs_of(task))
    assert isinstance(bonus, Bonus)
    rows = rng.normal(size=(21, 1))
    episode = Transitions(
        Observations(rows[:-1]), rng.uniform(-1, 1, (20, 1)), Observations(rows[1:])
    )
    before = bonus.evaluate([episode])
    np.testing.assert_array_equal(bonus.evaluate([episode]), before)
    assert before.shape == (20,)
    assert before.dtype == np.float64
    bonus.update([episode])
    again = entry.make({"weight": 0.5} if entry.weighted else {}, inputs_of(task))
    again.load_state_dict(bonus.state_dict())
    np.testing.assert_array_equal(again.evaluate([episode]), bonus.evaluate([episode]))
    stream = bonus.begin(episode.observations[:1])
    streamed = [stream.reward(episode[step : step + 1]) for step in range(20)]
    np.testing.assert_allclose(streamed, bonus.evaluate([episode]), rtol=1e-3)
    assert entry.label


@pytest.mark.parametrize("name", BONUSES.names())
def test_every_bonus_names_an_unknown_option(name):
    with pytest.raises(ConfigError, match=r"unknown setting in bonus .*'flavour'"):
        BONUSES[name].make({"flavour": 1.0}, inputs_of(Identity()))


@pytest.mark.parametrize("name", LEARNERS.names())
def test_every_learner_has_settings_with_defaults_and_acts(name):
    entry, task = LEARNERS[name], Identity()
    assert all(hasattr(entry.config(), field.name) for field in fields(entry.config))
    learner = make_learner(name, task, {}, PolicyConfig(), np.random.default_rng(0))
    for behaviour in (learner.explore(), learner.exploit()):
        episodes = run_episodes(task, behaviour, 3, np.random.default_rng(1))
        assert episodes.actions.shape == (3, task.horizon, task.action_size)
    with pytest.raises(ConfigError, match=f"unknown setting in learner {name}"):
        make_learner(name, task, {"flavour": 1.0}, PolicyConfig(), np.random.default_rng(0))


@pytest.mark.parametrize("name", TASKS.names())
def test_every_task_is_what_its_entry_says(name):
    entry, task = TASKS[name], make_task(name)
    assert task.name == name
    assert task.horizon == entry.horizon
    assert entry.title
    assert task.visual == name.startswith("visual_")
    states = task.initial_states(2, np.random.default_rng(0))
    seen = task.observe(states)
    assert seen.shape == (2, task.observation_size)
    assert (np.abs(seen) <= task.observation_bound).all()
    assert task.expert_at(states).shape == (2, task.action_size)
