"""What learning on the arm starts from, in small."""

import numpy as np
import pytest

from bayes_curiosity_ros.curiosity.model_file import load_model, model_id
from bayes_curiosity_ros.errors import ConfigError, ModelFileError
from bayes_curiosity_ros.learning.perception import PerceivedTask
from bayes_curiosity_ros.learning.preparation import PreparedFiles
from bayes_curiosity_ros.learning.prepare import PrepareOptions, prepare
from bayes_curiosity_ros.learning.settings import LearnerConfig
from bayes_curiosity_ros.tasks.demonstrations import Demonstrations
from support.learners import learner_of

SMALL = {"demonstrations": 100, "embedding_epochs": 1, "imitation_epochs": 1, "trials": 2}


@pytest.fixture(scope="module")
def visual(tmp_path_factory):
    files = PreparedFiles.within(tmp_path_factory.mktemp("visual"))
    return prepare(PrepareOptions(task="visual_reach", **SMALL), files)


def test_a_visual_run_starts_from_what_was_prepared(visual):
    config = LearnerConfig(task="visual_reach", model=str(visual.model), policy=str(visual.policy))
    task = config.perceive(config.make_task())
    assert isinstance(task, PerceivedTask)
    assert task.perception.encoder_id == model_id(load_model(visual.model).curiosity)
    policy = learner_of(config, task).policy
    fresh = learner_of(LearnerConfig(task="visual_reach"), task).policy
    assert not policy.parameters.equal(fresh.parameters)
    assert policy.mean_network.sizes[0] == task.observation_size == 38
    assert Demonstrations.load(visual.demonstrations).images.shape == (100, 4, 64, 64)


def test_a_visual_policy_without_its_eyes_is_refused(visual):
    config = LearnerConfig(task="visual_reach", policy=str(visual.policy))
    task = config.perceive(config.make_task())
    with pytest.raises(ModelFileError, match="give the model that the policy was prepared with"):
        learner_of(config, task)


def test_what_is_there_is_not_made_again(visual):
    lines = []
    before = visual.policy.read_bytes()
    prepare(PrepareOptions(task="visual_reach", **SMALL), visual, lines.append)
    assert lines == []
    assert visual.policy.read_bytes() == before


def test_a_folder_of_another_task_is_refused(visual):
    with pytest.raises(ConfigError, match="demonstrations of 'visual_reach', not of 'reach'"):
        prepare(PrepareOptions(task="reach", **SMALL), visual)


def test_the_same_seed_prepares_the_same(visual, tmp_path):
    again = prepare(PrepareOptions(task="visual_reach", **SMALL), PreparedFiles.within(tmp_path))
    encoders = [load_model(files.model).curiosity for files in (visual, again)]
    assert model_id(encoders[0]) == model_id(encoders[1])
    shown = [Demonstrations.load(files.demonstrations).images for files in (visual, again)]
    np.testing.assert_array_equal(*shown)


@pytest.mark.parametrize(
    ("task", "shown"),
    [("reach", "reach"), ("parked_reach", "reach"), ("visual_parked_reach", "visual_reach")],
)
def test_a_parked_arm_learns_its_embedding_from_another_pose_and_imitates_nothing(task, shown):
    options = PrepareOptions(task=task)
    assert options.shown_task == shown
    assert options.imitates == (task == shown)
    assert PrepareOptions(task=task, embedding_from=task).imitates


def test_a_model_without_a_policy(tmp_path):
    lines: list[str] = []
    options = PrepareOptions(task="parked_reach", dynamics="kinematic", **SMALL)
    files = prepare(options, PreparedFiles.within(tmp_path), lines.append)
    assert Demonstrations.load(files.demonstrations).task == "reach"
    assert load_model(files.model).trained
    assert not files.policy.exists()
    own = PreparedFiles.within(tmp_path / "own")
    assert not prepare(PrepareOptions(imitate=False, **SMALL), own).policy.exists()


def test_demonstrations_with_other_observations_are_refused(tmp_path):
    options = PrepareOptions(task="reach", embedding_from="visual_reach", **SMALL)
    with pytest.raises(ConfigError, match="cannot serve the other"):
        prepare(options, PreparedFiles.within(tmp_path))
