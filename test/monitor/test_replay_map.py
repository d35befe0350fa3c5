"""The slider of a replay: the map of the curiosity is darker the later the episode in view."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from sensor_msgs.msg import PointCloud2
from std_msgs.msg import UInt64
from websockets.exceptions import WebSocketException

from bayes_curiosity_ros.bringup.up import port_of_page
from bayes_curiosity_ros.nodes.conversions.clouds import values_of_cloud
from bayes_curiosity_ros.nodes.qos import LATCHED_QOS
from support.graph import inbox, parameters
from support.pretended import write_bag
from support.viewers import PoliteViewer
from support.waiting import WAIT_S, wait_for
from support.walking import PLACE, walking

MONITOR = "bayes_curiosity_ros.nodes.monitor_node"
REPLAY = "bayes_curiosity_ros.nodes.replay_node"
EPISODES = 4
NEAR_M, FAR_M = 0.08, 0.25


@pytest.fixture
def viewer(start, tmp_path):
    """Who holds the controls of a page beside a replay that is held."""
    write_bag(tmp_path / "bag", walking(EPISODES))
    start(REPLAY, *parameters(bag=tmp_path / "bag", paused=True, wait_s=0.0))
    port = port_of_page("127.0.0.1", 0)
    start(MONITOR, *parameters(web_port=port))
    polite = entered(port)
    polite.press("Take the controls")
    polite.until(lambda: any("You hold" in words for words in polite.words), WAIT_S)
    yield polite
    polite.close()


def entered(port):
    """A viewer who has got all buttons; who comes before the page is open is sent away."""
    found = []

    def came():
        with suppress(OSError, WebSocketException):
            polite = PoliteViewer(port)
            polite.until(lambda: "Step" in polite.buttons, WAIT_S)
            found.append(polite)
        return bool(found)

    wait_for(came, "page")
    return found[0]


def curiosity(clouds):
    """Mean of the next map's values where the hand goes about, and far from there."""
    points, values = values_of_cloud(clouds.get(timeout=WAIT_S))
    away = np.linalg.norm(points - PLACE, axis=1)
    return values[away < NEAR_M].mean(), values[away > FAR_M].mean()


def test_the_map_goes_dark_where_the_arm_has_been_as_the_slider_goes_on(background, viewer):
    sought = inbox(background, UInt64, "replay/seek")
    clouds = inbox(background, PointCloud2, "curiosity/map", LATCHED_QOS)
    seen = [curiosity(clouds)]  # before the run
    for episode in range(1, EPISODES):  # the slider is at 0
        viewer.slide("Episode", episode)
        seen.append(curiosity(clouds))
        assert sought.get(timeout=WAIT_S).data == episode
    near, far = np.array(seen).T
    assert (np.diff(near) < 0).all()
    assert near[-1] / near[0] < far[-1] / far[0] - 0.05
    viewer.slide("Episode", 0)
    assert near[1] < curiosity(clouds)[0] < near[0]
