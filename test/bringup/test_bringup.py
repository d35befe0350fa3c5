"""The node table composes the right nodes, with no launch system at hand."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bayes_curiosity_ros.bringup.arguments import arguments, robot_of
from bayes_curiosity_ros.bringup.table import NodeSpec, nodes
from bayes_curiosity_ros.bringup.up import OTHERS, command_of, respawn_of, words_of
from bayes_curiosity_ros.cli import build_parser
from bayes_curiosity_ros.curiosity.bonus import BONUSES
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.robot.cameras.topics import TopicsConfig
from bayes_curiosity_ros.tasks.registry import arm_task_names

CONFIG = Path(__file__).parents[2] / "config"
REAL = {
    "kortex": {"robot_ip": "192.0.2.10"},
    "trajectory": {"command_topic": "driver/command", "state_topic": "driver/state"},
    "moveit": {},
}
ARMS = {"sim": {}} | REAL
OURS = [path for path in (CONFIG / "bringup").glob("*.yaml") if path.stem != "curiosity"]


def specs(**given):
    return {spec.name: spec for spec in nodes(given)}


def files_of(spec: NodeSpec) -> list[str]:
    return [Path(path).name for path in spec.files]


def test_simulation_is_the_default():
    found = specs()
    assert list(found) == ["arm", "camera", "curiosity", "learner"]
    assert found["arm"].parameters["backend"] == "sim"
    assert found["camera"].parameters["backend"] == "sim"
    assert files_of(found["arm"]) == ["common.yaml", "sim.yaml"]


def test_arm_and_learner_agree_on_the_dynamics():
    found = specs(task="parked_reach", dynamics="kinematic")
    assert {found[name].parameters["dynamics"] for name in ("arm", "learner")} == {"kinematic"}
    with pytest.raises(ConfigError, match="dynamics"):
        specs(dynamics="elastic")


@pytest.mark.parametrize("task", ["parked_reach", "visual_parked_reach"])
def test_a_task_may_have_a_file_of_its_own(task):
    assert files_of(specs(task=task)["learner"]) == [
        "common.yaml",
        "sim.yaml",
        "parked_reach.yaml",
    ]


@pytest.mark.parametrize("arm", REAL)
def test_a_real_arm_has_its_own_files_and_no_simulated_camera(arm):
    found = specs(arm=arm, **REAL[arm])
    assert found["arm"].parameters["backend"] == arm
    assert files_of(found["arm"]) == ["common.yaml", "real.yaml", f"{arm}.yaml"]
    assert found["camera"].parameters["backend"] == "topics"
    assert "detector" in found


@pytest.mark.parametrize(("arm", "needed"), [("kortex", "robot_ip"), ("trajectory", "topic")])
def test_a_real_arm_needs_to_know_where_it_is(arm, needed):
    with pytest.raises(ConfigError, match=needed):
        specs(arm=arm)


def test_arguments_of_an_arm_become_parameters_of_its_node():
    assert specs(arm="kortex", robot_ip="a")["arm"].parameters["kortex.ip"] == "a"
    driver = specs(arm="trajectory", **REAL["trajectory"])["arm"].parameters
    assert driver["trajectory.command_topic"] == "driver/command"
    assert driver["trajectory.state_topic"] == "driver/state"


def test_a_cameras_topics_are_arguments_and_realsenses_by_default():
    topics = {"color_topic": "/a", "depth_topic": "/b", "info_topic": "/c"}
    given = specs(arm="moveit", **topics)["camera"].parameters
    assert {name: given[f"topics.{name}"] for name in topics} == topics
    assert not any("topic" in name for name in specs(arm="moveit")["camera"].parameters)
    default = TopicsConfig()
    assert default.color_topic == "/camera/camera/color/image_raw"
    assert default.depth_topic == "/camera/camera/aligned_depth_to_color/image_raw"
    assert default.info_topic == "/camera/camera/color/camera_info"


@pytest.mark.parametrize("bonus", BONUSES.names())
def test_the_curiosity_node_runs_for_a_bonus_that_is_a_node(bonus):
    found = specs(bonus=bonus)
    assert ("curiosity" in found) == BONUSES[bonus].node
    assert found["learner"].parameters["bonus"] == bonus


def test_a_person_demonstrates_in_the_learners_place():
    found = specs(demonstrations="3", record="true", task="grasp", seed="7")
    assert list(found) == ["arm", "camera", "description", "recorder", "drive"]
    parameters = found["drive"].parameters
    assert (parameters["episodes"], parameters["task"], parameters["seed"]) == (3, "grasp", 7)
    assert parameters["operator_confirmed"]
    assert parameters["pauses"]
    real = specs(demonstrations="3", arm="moveit")["drive"]
    assert not real.parameters["operator_confirmed"]
    assert not real.parameters["pauses"]  # its watchdog would end the episode
    assert respawn_of(real) is None
    with pytest.raises(ConfigError, match="demonstrations"):
        specs(demonstrations="-1")


@pytest.mark.parametrize("learner", LEARNERS.names())
def test_the_learner_is_an_argument(learner):
    assert specs(learner=learner)["learner"].parameters["learner"] == learner


@pytest.mark.parametrize("task", arm_task_names())
def test_the_curiosity_node_is_told_what_the_task_gives(task):
    parameters = specs(task=task)["curiosity"].parameters
    shape = [parameters["encoder.vector_size"], parameters.get("encoder.image_shape")]
    assert shape == ([6, [4, 64, 64]] if task.startswith("visual_") else [9, None])


def test_a_model_brings_its_own_encoder_and_a_visual_learner_sees_with_it():
    found = specs(task="visual_reach", model="a")
    assert found["learner"].parameters["model"] == "a"
    assert found["curiosity"].parameters == {"model": "a", "model_folder": "output/run/models"}


def test_neither_a_real_arm_nor_its_learner_comes_back_by_itself():
    everything = specs(arm="moveit", description="true")
    not_again = [name for name, spec in everything.items() if respawn_of(spec) is None]
    assert not_again == ["arm", "learner"]


def test_in_simulation_all_come_back_and_the_run_needs_some_of_them():
    everything = specs(record="true")
    assert all(respawn_of(spec) for spec in everything.values())
    assert not everything["learner"].respawn  # launch cannot know whose checkpoint there is
    assert respawn_of(everything["learner"]).words == ["-p", "restarted:=true"]
    needed = [name for name, spec in everything.items() if not respawn_of(spec).missed]
    assert needed == ["arm", "curiosity", "learner"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"arm": "lego"}, "choose one of: kortex, moveit, sim, trajectory"),
        ({"task": "dance"}, "unknown task 'dance'"),
        ({"learner": "dance"}, "choose one of: ddpg, ppo, reinforce, sac, trpo"),
        ({"speed": "1"}, "unknown argument 'speed'"),
        ({"seed": "-1"}, "whole number"),
        ({"params_file": "no.yaml"}, "no.yaml does not exist"),
        ({"log_level": "loud"}, "choose one of: debug, error, fatal, info, warn"),
    ],
)
def test_bad_arguments_are_named(given, words):
    with pytest.raises(ConfigError, match=words):
        nodes(given)


@pytest.mark.parametrize("arm", ARMS)
def test_every_module_in_the_table_exists(arm):
    for spec in nodes({"arm": arm, "record": "true", **ARMS[arm]}):
        assert importlib.util.find_spec(spec.module), spec.module


@pytest.mark.parametrize("arm", ARMS)
def test_files_name_the_arms_own_robot_or_leave_it_to_the_default(arm):
    """For a node that is started by hand, with the same files."""
    own = robot_of({"arm": arm, "robot": ""})
    content = yaml.safe_load((CONFIG / "bringup" / f"{arm}.yaml").read_text())
    named = {node["ros__parameters"].get("robot", "jaco.yaml") for node in content.values()}
    assert named == {own}


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_our_files_name_their_nodes(path):
    """ROS lets a plain /** count less than a named node, wherever it stands."""
    assert all(key.startswith("/**/") for key in yaml.safe_load(path.read_text()))


def test_nothing_stands_in_two_of_our_files():
    for real in (CONFIG / "bringup" / f"{arm}.yaml" for arm in REAL):
        chain = [CONFIG / "bringup" / name for name in ("common.yaml", "real.yaml")] + [real]
        said = [pair for path in chain for pair in settings_in(path)]
        assert len(said) == len(set(said)), real


def settings_in(path: Path) -> list[tuple[str, str]]:
    def dotted(values, prefix):
        for name, value in values.items():
            nested = isinstance(value, dict)
            yield from dotted(value, f"{prefix}{name}.") if nested else [f"{prefix}{name}"]

    content = yaml.safe_load(path.read_text())
    return [(n, name) for n, c in content.items() for name in dotted(c["ros__parameters"], "")]


def test_the_users_own_file_is_the_last(tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text("/**/arm:\n  ros__parameters:\n    max_speed_deg_s: 5.0\n")
    for spec in nodes({"arm": "moveit", "params_file": str(own)}):
        assert spec.files[-1] == str(own)


@pytest.mark.parametrize("key", ["/**", "arm", "/arm", "/**/arm", "/left/arm"])
def test_the_users_own_file_cannot_undo_an_argument(tmp_path, key):
    own = tmp_path / "mine.yaml"
    own.write_text(f"{key}:\n  ros__parameters:\n    supervisor: {{dry_run: false}}\n")
    assert nodes({"params_file": str(own)})
    with pytest.raises(ConfigError, match=r"sets supervisor.dry_run of node arm"):
        nodes({"params_file": str(own), "dry_run": "true"})


def test_a_drivers_file_says_where_it_is_and_which_arm_it_has():
    arm = specs(arm="trajectory", params_file="ros2_kortex.yaml")["arm"]
    assert arm.parameters["trajectory.state_topic"] == "/joint_states"
    assert arm.parameters["robot"] == "gen3_robotiq.yaml"
    assert arm.files[-1].endswith("config/bringup/ros2_kortex.yaml")


def test_arguments_count_more_than_a_drivers_file():
    given = {"arm": "trajectory", "params_file": "jaco_gen2.yaml", "state_topic": "/other"}
    arm = specs(**given, robot="my_cell.yaml", task="reach", model="m")["arm"]
    assert arm.parameters["trajectory.state_topic"] == "/other"
    assert arm.parameters["robot"] == "my_cell.yaml"


def test_that_something_moves_is_not_for_a_file_to_say():
    with pytest.raises(ConfigError, match=r"is for arm 'trajectory', not 'sim'; give arm:="):
        specs(params_file="jaco_gen2.yaml")


def test_a_users_own_file_without_parameters_is_refused(tmp_path):
    own = tmp_path / "mine.yaml"
    own.write_text("arm:\n  max_speed_deg_s: 5.0\n")
    with pytest.raises(ConfigError, match="has no ros__parameters"):
        nodes({"params_file": str(own)})


def test_only_those_who_watch_take_simulated_time():
    found = specs(arm="moveit", record="true", use_sim_time="true")
    watchers = [name for name, spec in found.items() if "use_sim_time" in spec.parameters]
    assert watchers == ["detector", "description"]


def test_a_namespace_is_the_frames_prefix_unless_another_is_given():
    framed = ("camera", "description", "recorder")
    for given, wanted in (
        ({}, None),
        ({"namespace": "/left"}, "left/"),
        ({"namespace": "left", "frame_prefix": "l_"}, "l_"),
    ):
        found = specs(record="true", **given)
        assert [found[name].parameters.get("frame_prefix") for name in framed] == [wanted] * 3
        assert "frame_prefix" not in found["arm"].parameters


def test_whoever_watches_a_simulation_has_its_clock():
    """An arm's clock is in its namespace; that of another simulation where ROS looks for it."""
    found = specs(namespace="left", record="true", use_sim_time="true")
    assert found["description"].remappings == {"/clock": "clock"}
    assert "/clock:=clock" in command_of(found["description"], "left")
    assert specs(arm="moveit", use_sim_time="true")["detector"].remappings == {}


def test_commands_quote_values_as_yaml():
    spec = NodeSpec("n", "n", "m", ("a.yaml",), {"model": "", "resume": True, "seed": 3})
    words = command_of(spec, "left", "debug")
    assert words[-6:] == ["-p", 'model:=""', "-p", "resume:=true", "-p", "seed:=3"]
    assert "__ns:=/left" in words
    assert words[words.index("--log-level") + 1] == "debug"
    assert words[words.index("--params-file") + 1] == "a.yaml"


def test_up_understands_what_it_is_started_with():
    given = {"bonus": "rnd", "resume": "true", "seed": "3", "namespace": "left"}
    words = words_of(given)
    parsed = vars(build_parser().parse_args(words[words.index("up") :]))
    assert not set(OTHERS) & set(parsed)
    for argument in arguments():
        if argument.name in OTHERS:
            continue
        wanted = given.get(argument.name, argument.default)
        assert str(parsed[argument.name]) == (wanted.title() if argument.flag else wanted)


def test_recording_is_an_argument():
    assert "recorder" not in specs()
    found = specs(record="true", seed="3", output="there")
    assert "description" in found  # a bag has the cell's geometry
    assert list(found)[-2:] == ["recorder", "learner"]
    parameters = found["recorder"].parameters
    assert (parameters["folder"], parameters["seed"]) == ("there/bags", 3)
    assert '"task": "reach"' in parameters["settings"]
    assert found["recorder"].respawn
    assert found["learner"].parameters["recorded"]
    assert "required" not in parameters


def test_a_required_recording_ends_the_run_with_its_recorder():
    found = specs(record="required")
    assert found["recorder"].parameters["required"]
    assert not found["recorder"].respawn
    assert found["learner"].parameters["recorded"]
    assert "description" in found
    with pytest.raises(ConfigError, match="unknown record 'perhaps'"):
        specs(record="perhaps")


@pytest.mark.parametrize(
    ("words", "record"),
    [([], "false"), (["--record"], "true"), (["--record", "required"], "required")],
)
def test_record_may_stand_alone(words, record):
    assert build_parser().parse_args(["up", *words, "--seed", "1"]).record == record


def test_a_simulated_operator_is_asked_and_answers():
    plain, simulated = specs(), specs(simulated_operator="true")
    assert "supervisor.confirm_resets" not in plain["arm"].parameters
    assert "operator_confirmed" not in plain["learner"].parameters
    assert simulated["arm"].parameters["supervisor.confirm_resets"]
    assert simulated["learner"].parameters["operator_confirmed"]


def test_importing_the_table_reads_no_registry():
    code = "import sys, bayes_curiosity_ros.bringup.table; print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"'torch'", "'numpy'"} & set(done.stdout.strip("[]\n").split(", "))
