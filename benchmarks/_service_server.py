"""The curiosity node with an empty service beside it, on the same executor."""

from __future__ import annotations

import sys

import torch
from std_srvs.srv import Trigger

from bayes_curiosity_ros.nodes.curiosity_node import CuriosityNode
from bayes_curiosity_ros.nodes.run import run_node


def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
    """Nothing."""
    return response


def make() -> CuriosityNode:
    """The node under test, and its floor."""
    node = CuriosityNode()
    node.create_service(Trigger, "empty", answer)
    return node


if __name__ == "__main__":
    torch.set_num_threads(1)  # as the node itself does
    sys.exit(run_node(make))
