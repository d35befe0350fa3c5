"""What tests of the recorder and of the replay share."""

import signal

import numpy as np

from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.robot.cameras.camera import Frame
from support.waiting import WAIT_S, until

CURIOSITY = "bayes_curiosity_ros.nodes.curiosity_node"
RECORDER = "bayes_curiosity_ros.nodes.recorder_node"


def ended(process, number=signal.SIGINT):
    process.send_signal(number)
    output = process.communicate(timeout=WAIT_S)[0]
    assert process.returncode == 0, output
    assert "Traceback" not in output
    return output


def await_episodes(path, count):
    """Wait until a bag under way holds so many episodes, and of each all messages."""

    def whole():
        return [episode.faults for episode in read_episodes(BagReader(path))] == [()] * count

    assert until(whole, WAIT_S)


def vectors(count, seed):
    return np.random.default_rng(seed).normal(size=(count, 9))


def frames(count, seed):
    rng = np.random.default_rng(seed)
    return [
        Frame(
            rng.integers(0, 256, (16, 16, 3), dtype=np.uint8),
            rng.uniform(0.1, 2.0, (16, 16)).astype(np.float32),
            0.0,
        )
        for _ in range(count)
    ]
