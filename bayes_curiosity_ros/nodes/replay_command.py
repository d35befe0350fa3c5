"""`bayes-curiosity replay BAG`: a bag on the graph again, compared, or driven again."""

from __future__ import annotations

import argparse
import contextlib

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor

from bayes_curiosity_ros.bags.player import cues, parse_selection
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.loopback import bind_to_loopback
from bayes_curiosity_ros.nodes.replay_node import ReplayConfig, ReplayNode, survey
from bayes_curiosity_ros.nodes.reproduce import Comparison, Reproduction


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    defaults = ReplayConfig()
    parser.add_argument("bag", help="a bag's folder, or one of its files")
    parser.add_argument("--episodes", default="", help="such as 3 or 3,5-8; all if absent")
    parser.add_argument(
        "--rate", type=float, default=defaults.rate, help="2 is twice as fast, 0 full speed"
    )
    parser.add_argument("--exclude", nargs="*", default=[], metavar="TOPIC", help="leave out")
    parser.add_argument("--paused", action="store_true", help="wait for replay/resume or step")
    parser.add_argument("--no-clock", action="store_true", help="do not publish /clock")
    parser.add_argument(
        "--check",
        action="store_true",
        help="reset the curiosity node on the graph, play it the observations as their learner "
        "did, updates included, and compare its rewards with the recorded ones bit for bit",
    )
    parser.add_argument(
        "--redrive",
        action="store_true",
        help="feed the recorded actions to the simulated arm and compare; needs no graph",
    )


def run(arguments: argparse.Namespace) -> int:
    """Replay, compare with a live curiosity node, or drive again in simulation."""
    bind_to_loopback()
    if arguments.redrive:
        from bayes_curiosity_ros.bags.redrive import report

        return report(arguments.bag, arguments.episodes)
    return _check(arguments) if arguments.check else _replay(arguments)


def _replay(arguments: argparse.Namespace) -> int:
    config = ReplayConfig(
        bag=arguments.bag,
        episodes=arguments.episodes,
        rate=arguments.rate,
        exclude=tuple(arguments.exclude),
        paused=arguments.paused,
        clock=not arguments.no_clock,
    )
    rclpy.init()
    try:
        node = ReplayNode(config)
        try:
            _spin(node)
        finally:
            node.end()
            node.destroy_node()  # what it latched would else stay on the graph for a while
    finally:
        rclpy.try_shutdown()
    return int(node.failed)


def _spin(node: ReplayNode) -> None:
    node.begin()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        while not node.finished.is_set():
            executor.spin_once(timeout_sec=0.1)


def _check(arguments: argparse.Namespace) -> int:
    reader = BagReader(arguments.bag)
    survey(reader)
    with BackgroundNode("replay") as background:
        selected = parse_selection(arguments.episodes)
        result = Reproduction(background, reader).run(cues(reader, selected))
    for line in (*reader.losses, *result.remarks):
        print(line)
    print(summary(result))
    return 0 if result.exact else 1


def summary(result: Comparison) -> str:
    """The comparison in words."""
    equal = result.compared - result.different
    words = (
        f"{result.episodes} episodes, {result.updates} updates: {equal} of {result.compared} "
        "intrinsic rewards reproduced bit for bit"
    )
    if result.different:
        words += f"; the others differ by up to {result.largest_difference:.3g}"
    if result.log_determinants_differ:
        words += f"; {result.log_determinants_differ} posteriors differ from the recorded ones"
    return words
