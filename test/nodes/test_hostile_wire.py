"""Real nodes, and what comes over the middleware that nobody should send: all outlive it."""

import numpy as np
from sensor_msgs.msg import Image

from bayes_curiosity_interfaces.msg import Action, ArmState, Observation
from bayes_curiosity_interfaces.srv import Evaluate
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.qos import EPISODE_QOS
from support.curiosity import Caller
from support.driver import Driver
from support.graph import eventually, inbox, parameters
from support.hostile import broken, hostile
from support.processes import started_processes
from support.waiting import WAIT_S, wait_for

TIMES = 100
TOPICS = {"action": Action, "arm/state": ArmState, "observation": Observation}


def test_real_nodes_outlive_what_comes_over_the_wire():
    modules = [f"bayes_curiosity_ros.nodes.{name}_node" for name in ("arm", "camera", "curiosity")]
    rng = np.random.default_rng(2)
    with started_processes() as start, BackgroundNode("tester") as background:
        processes = [start(module, *parameters(task="reach")) for module in modules]
        driver, caller = Driver(background), Caller(background)
        frames = inbox(background, Image, "camera/color/image_raw")
        first = driver.reset(episode=1, seed=3).state
        before = caller.fingerprint()
        for topic, kind in TOPICS.items():
            publisher = background.node.create_publisher(kind, topic, EPISODE_QOS)
            wait_for(lambda p=publisher: p.get_subscription_count() > 0, f"listener to {topic}")
            for _ in range(TIMES):
                publisher.publish(hostile(kind, rng))
                for data in broken(kind(), rng):
                    publisher.publish(data)
        for _ in range(TIMES // 10):
            request = hostile(Evaluate.Request, rng)
            background.call(Evaluate, "curiosity/evaluate", request, WAIT_S)
            caller.load("x" * 300)
        assert caller.fingerprint() == before
        assert driver.reset(episode=2, seed=3).state.positions == first.positions
        eventually(frames, lambda image: image.height == 64)
        assert all(process.poll() is None for process in processes)
