"""What the page shows, from plain data: words, curves, trails, colours, the arm's links."""

from html import unescape

import mujoco
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes_curiosity_ros.monitor.colors import colors_of, depth_picture
from bayes_curiosity_ros.monitor.history import DRAWN, EpisodePoint, History
from bayes_curiosity_ros.monitor.situation import (
    LONGEST,
    SILENT_S,
    Level,
    Part,
    Situation,
    dot,
    plain,
)
from bayes_curiosity_ros.monitor.trail import EPISODES, Trail


def point(episode, success=0.0):
    return EpisodePoint(episode, success, 2.0 * episode, 0.5, 1.0, 30.0)


def test_success_is_a_rate_over_the_last_ten_episodes():
    history = History()
    for episode in range(25):
        history.add(point(episode, success=float(episode >= 15)))
    rate = history.columns()["success"]
    assert rate[14] == 0.0
    assert rate[19] == pytest.approx(0.5)
    assert rate[-1] == 1.0


def test_a_long_run_is_thinned_and_keeps_its_newest_episode():
    history = History()
    for episode in range(10 * DRAWN + 7):
        history.add(point(episode))
    columns = history.columns()
    assert len(columns["episode"]) <= DRAWN
    assert columns["episode"][-1] == 10 * DRAWN + 6
    assert np.array_equal(columns["extrinsic_return"], 2.0 * columns["episode"])


def test_an_earlier_episode_begins_the_story_again_from_there():
    history = History()
    for episode in (0, 1, 2, 3, 1):
        history.add(point(episode))
    assert history.columns()["episode"].tolist() == [0, 1]


def test_no_episode_is_no_curve():
    assert all(len(column) == 0 for column in History().columns().values())


def test_a_situation_says_who_is_how_and_who_fell_silent():
    situation = Situation()
    situation.hear("arm", Part("ready", numbers={"accepted": "12"}, speaks=True), 10.0)
    situation.hear("learner", Part("paused", Level.WARN, "asked by the operator"), 10.0)
    said = situation.html(11.0)
    assert f"{dot(Level.OK)} <b>arm</b> ready" in said
    assert "accepted 12" in said
    assert f"{dot(Level.WARN)} <b>learner</b> paused<br>asked by the operator" in said
    assert "<b>recorder</b> not heard" in said
    later = situation.html(11.0 + SILENT_S)
    assert f"{dot(Level.QUIET)} <b>arm</b> silent for 6 s, was ready" in later
    assert "<b>learner</b> paused" in later


def test_rejections_and_troubles_are_told_and_what_is_well_is_not():
    situation = Situation()
    for _ in range(3):
        situation.reject("action (1, 2) rejected: NaN")
    situation.diagnose("/arm: sim", Part("ready", Level.OK))
    situation.diagnose("/curiosity: inputs", Part("3 rejected, 0 failed", Level.WARN))
    said = situation.html(0.0)
    assert said.count("rejected: NaN") == 1
    assert "3 rejected, 0 failed" in said
    assert "/arm: sim" not in said


@given(st.text())
def test_no_words_of_others_are_markup(words):
    shown = plain(words)
    assert "\n" not in shown
    assert not set("<>\"'") & set(shown)
    assert len(unescape(shown)) <= LONGEST


def test_a_trail_keeps_the_last_episodes_and_the_newest_is_brightest():
    trail = Trail()
    for episode in range(EPISODES + 3):
        trail.begin(episode)
        trail.begin(episode)
        for x in (0.0, 0.1, 0.2, 0.2):
            trail.add(np.array([x, 0.0, float(episode)]))
    lines, colors = trail.segments()
    assert lines.shape == colors.shape == (2 * EPISODES, 2, 3)
    assert lines[0, 0, 2] == EPISODES + 2
    assert colors[0].sum() > colors[-1].sum()
    assert trail.changed


def test_limits_that_are_hit_again_are_shown_once():
    trail = Trail()
    assert trail.limits.shape == (0, 3)
    assert trail.segments()[0].shape == (0, 2, 3)
    for x in (0.0, 0.001, 0.5):
        trail.limit(np.array([x, 0.0, 0.0]))
    assert trail.limits.shape == (2, 3)


def test_what_is_known_is_dark():
    colors = colors_of(np.array([0.0, 0.5, 1.0, np.nan, 7.0]), 1.0).astype(int).sum(axis=1)
    assert colors[0] < colors[1] < colors[2] == colors[4]
    assert colors[3] == colors[0]
    assert colors_of(np.zeros(3), 0.0).shape == (3, 3)


def test_what_is_near_is_bright_and_what_is_not_known_is_far():
    picture = depth_picture(np.array([[0.1, 3.0, np.nan, np.inf]]), 3.0).astype(int).sum(axis=2)
    assert picture[0, 0] > picture[0, 1] == picture[0, 2] == picture[0, 3]


def test_a_surface_is_as_large_as_its_geom():
    figure = pytest.importorskip("bayes_curiosity_ros.monitor.figure", exc_type=ImportError)
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>
        <geom type="box" size=".1 .2 .3"/><geom type="sphere" size=".4"/>
        <geom type="capsule" size=".1 .2"/><geom type="cylinder" size=".1 .5"/>
        <geom type="mesh" mesh="m"/></worldbody></mujoco>"""
    )
    meshes = [figure.mesh_of(model, geom) for geom in range(model.ngeom)]
    sizes = [mesh.bounds[1] - mesh.bounds[0] for mesh in meshes]
    assert np.allclose(sizes[0], [0.2, 0.4, 0.6])
    assert np.allclose(sizes[1], 0.8, atol=0.01)
    assert np.allclose(sizes[2], [0.2, 0.2, 0.6], atol=0.01)
    assert np.allclose(meshes[2].bounds.mean(axis=0), 0.0, atol=1e-6)
    assert np.allclose(sizes[3], [0.2, 0.2, 1.0], atol=0.01)
    assert len(meshes[4].vertices) == 4
