"""`bayes-curiosity experiment NAME`: the paper's experiments."""

from __future__ import annotations

import argparse

from bayes_curiosity_ros.commands import Commands, add_commands

EXPERIMENTS: Commands = {
    "table1": (
        "bayes_curiosity_ros.experiments.table1.command",
        "sparse classic control: 4 tasks, 3 learners, 4 bonuses, none and a placebo",
    ),
    "tune": (
        "bayes_curiosity_ros.experiments.table1.tune",
        "the settings of the table's bonuses, on seeds it does not report",
    ),
    "curves": (
        "bayes_curiosity_ros.experiments.curves.command",
        "the arm's learning curves: reach and grasp, from coordinates and from images",
    ),
    "exploration": (
        "bayes_curiosity_ros.experiments.exploration.command",
        "an arm parked aside, sparse reward: every bonus, none, and a placebo",
    ),
    "memory": (
        "bayes_curiosity_ros.experiments.memory.command",
        "what a real arm can afford: SAC with a few demonstrations, with curiosity and without",
    ),
    "arm": (
        "bayes_curiosity_ros.experiments.arm.command",
        "the arm's own learning curve: reach with curiosity and RND, over ROS",
    ),
    "parked": (
        "bayes_curiosity_ros.experiments.parked.curve",
        "the arm parked aside, over ROS: curiosity, RND and no bonus",
    ),
    "ablations": (
        "bayes_curiosity_ros.experiments.curves.ablations",
        "curiosity on Cartesian grasp, one part changed at a time",
    ),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One sub-subcommand per experiment."""
    add_commands(parser, EXPERIMENTS, "experiment")
