"""The node table composes the right nodes, with no launch system at hand."""

import importlib.util

import pytest

from bayes_curiosity_ros.bringup import table as bringup
from bayes_curiosity_ros.bringup.up import command_of
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.resources import find

REAL = {
    "kortex": {"robot_ip": "192.0.2.10"},
    "trajectory": {"command_topic": "driver/command", "state_topic": "driver/state"},
    "moveit": {},
}


def specs(**given):
    return {spec.name: spec for spec in bringup.nodes(given)}


def test_simulation_is_the_default():
    nodes = specs()
    assert list(nodes) == ["arm", "camera", "curiosity", "learner"]
    assert nodes["arm"].parameters["backend"] == "sim"
    assert nodes["camera"].parameters["backend"] == "sim"


@pytest.mark.parametrize("arm", REAL)
def test_a_real_arm_has_its_own_files_and_no_simulated_camera(arm):
    nodes = specs(arm=arm, **REAL[arm])
    assert nodes["arm"].parameters["backend"] == arm
    assert nodes["arm"].files == (f"{arm}.yaml",)
    assert nodes["camera"].parameters["backend"] == "topics"
    assert "detector" in nodes


@pytest.mark.parametrize(("arm", "needed"), [("kortex", "robot_ip"), ("trajectory", "topic")])
def test_a_real_arm_needs_to_know_where_it_is(arm, needed):
    with pytest.raises(ConfigError, match=needed):
        specs(arm=arm)


@pytest.mark.parametrize("bonus", ["rnd", "vime", "none"])
def test_only_curiosity_has_a_node_of_its_own(bonus):
    nodes = specs(bonus=bonus)
    assert "curiosity" not in nodes
    assert nodes["learner"].parameters["bonus"] == bonus


def test_a_visual_learner_sees_with_the_models_encoder():
    assert specs(task="visual_reach", model="a")["learner"].parameters["model"] == "a"
    assert specs(task="visual_reach", model="a")["curiosity"].parameters["model"] == "a"
    assert "model" not in specs(task="reach", model="a")["learner"].parameters
    shape = specs(task="visual_reach")["curiosity"].parameters
    assert (shape["encoder.vector_size"], shape["encoder.image_shape"]) == (6, [4, 64, 64])


def test_neither_arm_nor_learner_comes_back_by_itself():
    everything = specs(arm="moveit", description="true")
    assert [name for name, spec in everything.items() if not spec.respawn] == [
        "arm",
        "curiosity",
        "learner",
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"arm": "lego"}, "choose one of: kortex, moveit, sim, trajectory"),
        ({"task": "dance"}, "unknown task 'dance'"),
        ({"speed": "1"}, "unknown argument 'speed'"),
        ({"seed": "-1"}, "whole number"),
    ],
)
def test_bad_arguments_are_named(given, words):
    with pytest.raises(ConfigError, match=words):
        bringup.nodes(given)


def test_every_file_and_module_in_the_table_exists():
    for arm, given in ({"sim": {}} | REAL).items():
        for spec in bringup.nodes({"arm": arm, **given}):
            assert importlib.util.find_spec(spec.module), spec.module
            for name in spec.files:
                find("config/bringup", name)


def test_commands_quote_values_as_yaml():
    spec = bringup.NodeSpec("n", "n", "m", (), {"model": "", "resume": True, "seed": 3})
    words = command_of(spec, "left")
    assert words[-6:] == ["-p", 'model:=""', "-p", "resume:=true", "-p", "seed:=3"]
    assert "__ns:=/left" in words


def test_recording_is_an_argument():
    assert "recorder" not in specs()
    nodes = specs(record="true", seed="3", output="there")
    assert "description" in nodes  # a bag has the cell's geometry
    assert list(nodes)[-2:] == ["recorder", "learner"]
    parameters = nodes["recorder"].parameters
    assert (parameters["folder"], parameters["seed"]) == ("there/bags", 3)
    assert '"task": "reach"' in parameters["settings"]
    assert nodes["recorder"].respawn
    assert nodes["learner"].parameters["recorded"]


def test_a_simulated_operator_is_asked_and_answers():
    plain, simulated = specs(), specs(simulated_operator="true")
    assert "supervisor.confirm_resets" not in plain["arm"].parameters
    assert "operator_confirmed" not in plain["learner"].parameters
    assert simulated["arm"].parameters["supervisor.confirm_resets"]
    assert simulated["learner"].parameters["operator_confirmed"]
