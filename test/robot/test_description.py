"""The URDF and SRDF: what they say, and what is said of broken ones."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from bayes_curiosity_ros.errors import ConfigError, ModelFileError
from bayes_curiosity_ros.resources import find
from bayes_curiosity_ros.robot.description import Description

URDF = "jaco_j2n6s300.urdf"


@pytest.fixture(scope="module")
def jaco() -> Description:
    return Description.load(find("urdf", URDF), find("urdf", "jaco_j2n6s300.srdf"))


def test_jaco_has_the_published_limits(jaco):
    arm = jaco.select([f"joint_{i}" for i in range(1, 7)])
    assert [round(joint.max_velocity_rad_s, 4) for joint in arm] == [0.6283] * 3 + [0.8378] * 3
    assert [joint.max_effort_nm for joint in arm] == [40, 80, 40, 20, 20, 20]
    assert [joint.continuous for joint in arm] == [True, False, False, True, True, True]
    assert (arm[1].lower_rad, arm[1].upper_rad) == (0.820305, 5.462881)
    assert math.degrees(arm[2].lower_rad) == pytest.approx(19, abs=1e-3)


def test_adjacent_links_and_fingers_may_touch(jaco):
    assert ("link_2", "link_3") in jaco.touching
    assert ("link_6", "link_finger_1") in jaco.touching
    assert ("link_tip_1", "link_tip_2") in jaco.touching
    assert ("link_1", "link_6") not in jaco.touching


def test_unknown_joint_lists_those_there_are(jaco):
    with pytest.raises(ConfigError, match=r"joint_7.*joint_1, joint_2"):
        jaco.select(["joint_7"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("</robot>", "", "not well-formed XML"),
        ("<robot ", "<machine ", "XML"),
        ('<child link="link_3"/>', '<child link="link_9"/>', "joint_3.*link_9.*no link"),
        ('<child link="link_3"/>', '<child link="link_2"/>', "link_2.*two parents"),
        ('lower="0.820305"', 'lower="6.0"', r"joint_2.*lower 6.0 ≥ upper"),
        ('lower="0.820305"', 'lower="low"', r"joint_2.*lower = 'low', not a number"),
        ('effort="80" velocity="0.62832"', 'effort="80" velocity="0"', "joint_2.*must be > 0"),
        ('name="joint_2" type="revolute"', 'name="joint_2" type="floating"', "joint_2.*floating"),
    ],
)
def test_broken_urdf_is_named(tmp_path: Path, old: str, new: str, message: str):
    text = find("urdf", URDF).read_text()
    assert old in text
    broken = tmp_path / "broken.urdf"
    broken.write_text(text.replace(old, new, 1))
    with pytest.raises(ModelFileError, match=message) as error:
        Description.load(broken)
    assert "broken.urdf" in str(error.value)


def test_missing_file_says_where_it_was_looked_for():
    with pytest.raises(ConfigError, match=r"no urdf file 'absent.urdf'; looked for .*share"):
        find("urdf", "absent.urdf")
