"""`bayes-curiosity up`: the whole stack in one terminal, without launch_ros."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from bayes_curiosity_ros.bringup.arguments import arguments as bringup_arguments
from bayes_curiosity_ros.bringup.arguments import robot_of
from bayes_curiosity_ros.bringup.processes import Ended, ProcessGroup
from bayes_curiosity_ros.bringup.table import NodeSpec, nodes
from bayes_curiosity_ros.environment import node_environment
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.learning.episode_log import (
    LOG,
    EpisodeRow,
    read_log,
    success_rate,
    successes_per_timestep,
)
from bayes_curiosity_ros.learning.preparation import PreparedFiles
from bayes_curiosity_ros.learning.prepare import (
    PrepareOptions,
    add_demonstration_arguments,
    prepare,
)

matplotlib.use("Agg")
from matplotlib import pyplot as plt

CURVE = "learning_curve.png"
WINDOW = 10
LONG_WINDOW = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the bringup, and how to prepare."""
    add_bringup_arguments(parser)
    add_demonstration_arguments(parser)
    add_restart_argument(parser)
    parser.add_argument(
        "--scratch", action="store_true", help="no demonstrations: random encoder and policy"
    )


def add_restart_argument(parser: argparse.ArgumentParser) -> None:
    """`--restart`."""
    parser.add_argument(
        "--restart",
        action="store_true",
        help="forget the run in output, but keep the demonstrations and what came of them",
    )


def add_bringup_arguments(parser: argparse.ArgumentParser, left_out: Collection[str] = ()) -> None:
    """An option for every argument of the bringup, but for those left out."""
    for argument in bringup_arguments():
        if argument.name in left_out:
            continue
        if argument.flag:
            parser.add_argument(argument.option, action="store_true", help=argument.description)
        else:
            parser.add_argument(
                argument.option,
                default=argument.default,
                choices=argument.choices or None,
                metavar=_named(argument.choices),
                help=argument.description,
            )


def _named(choices: Collection[str]) -> str | None:
    """Without the empty one, which nobody types."""
    return "{" + ",".join(choice for choice in choices if choice) + "}" if choices else None


def words_of(given: Mapping[str, str]) -> list[str]:
    """The command line that starts `up` with these arguments, in a process of its own."""
    words = [sys.executable, "-m", "bayes_curiosity_ros.cli", "up"]
    for argument in bringup_arguments():
        value = given.get(argument.name, argument.default)
        if not argument.flag:
            words.append(f"{argument.option}={value}")
        elif value == "true":
            words.append(argument.option)
    return words


def run(arguments: argparse.Namespace) -> int:
    """Prepare, start, wait, end, sum up."""
    chosen = {
        argument.name: str(getattr(arguments, argument.name)).lower()
        if argument.flag
        else str(getattr(arguments, argument.name))
        for argument in bringup_arguments()
    }
    folder = Path(chosen["output"])
    nodes(chosen)  # checked before anything is spent
    if arguments.restart:
        forget(folder)
    check_folder(folder, arguments.resume)
    if not arguments.scratch:
        _prepare(chosen, folder, arguments)
    ended = run_nodes(chosen, folder)
    if ended.name == "learner" and ended.code == 0:
        _report(chosen, folder)
        return 0
    return ended.code if ended.name == "" else 1


def command_of(spec: NodeSpec, namespace: str = "", log_level: str = "info") -> list[str]:
    """The command line that starts a node without launch."""
    words = [sys.executable, "-m", spec.module, "--ros-args", "--log-level", log_level]
    if namespace:
        words += ["-r", f"__ns:=/{namespace.strip('/')}"]
    for path in spec.files:
        words += ["--params-file", path]
    for name, value in spec.parameters.items():
        words += ["-p", f"{name}:={json.dumps(value)}"]
    return words


def check_folder(folder: Path, resume: bool) -> None:
    """Check that a folder holds a run if it is to be resumed, and none otherwise.

    Raises:
        ConfigError: it does not; the message says what to do.
    """
    exists = (folder / "checkpoint.pt").exists()
    if resume and not exists:
        raise ConfigError(f"{folder}/checkpoint.pt does not exist; leave out --resume")
    if exists and not resume:
        raise ConfigError(
            f"{folder} holds a run already; give --resume to go on with it, --restart to begin "
            "again, or another --output"
        )


def forget(folder: Path) -> None:
    """Remove a run's checkpoint, so that it begins again."""
    for path in [folder / "checkpoint.pt", *folder.glob("curiosity_*.safetensors")]:
        path.unlink(missing_ok=True)


def _prepare(chosen: dict[str, str], folder: Path, arguments: argparse.Namespace) -> None:
    """Fill in model and policy where they are not given."""
    options = PrepareOptions(
        task=chosen["task"],
        robot=robot_of(chosen),
        dynamics=chosen["dynamics"],
        embedding_from=arguments.embedding_from,
        imitate=not (arguments.no_policy or chosen["policy"]),
        imitation_epochs=arguments.imitation_epochs,
        seed=int(chosen["seed"]),
    )
    needed = ("model", "policy") if options.imitates else ("model",)
    wanted = [name for name in needed if not chosen[name]]
    if not wanted:
        return
    made = prepare(options, PreparedFiles.within(folder), lambda line: print(line, flush=True))
    for name in wanted:
        chosen[name] = str(getattr(made, name).resolve())


def run_nodes(
    chosen: Mapping[str, str], folder: Path, loud: Collection[str] = ("learner",)
) -> Ended:
    """Start every node, wait until the first one ends, and end the others.

    Args:
        chosen: arguments of the bringup, all of them.
        folder: folder of the run; what nodes print is in its `log`.
        loud: names of the nodes that print to the terminal instead.
    """
    specs = nodes(chosen)
    print(f"nodes: {', '.join(spec.name for spec in specs)}; logs in {folder / 'log'}", flush=True)
    with ProcessGroup(folder / "log", loud) as group:
        for spec in specs:
            command = command_of(spec, chosen["namespace"], chosen["log_level"])
            group.start(spec.name, command, node_environment(), spec.respawn)
        ended = group.wait()
        group.end()
        if loud and sys.stdout.isatty():
            print()
        if ended.name and ended.code:
            print(
                f"bayes-curiosity: {ended.name} ended with code {ended.code}; all were ended.\n"
                f"{group.tail(ended.name)}",
                file=sys.stderr,
            )
        elif ended.name != "learner":
            print(f"ended by {ended.name or 'a signal'}; all nodes are gone", file=sys.stderr)
    return ended


def _report(chosen: dict[str, str], folder: Path) -> None:
    """Say what was learnt, draw it, and tell how to go on."""
    rows = read_log(folder / LOG)
    print(summary(rows))
    draw(rows, folder / CURVE, chosen["task"], chosen["learner"], chosen["bonus"])
    print(
        f"wrote {folder / CURVE}, {folder / LOG}, {folder / 'checkpoint.pt'}; go on with\n"
        f"    bayes-curiosity up --resume --output {folder} "
        f"--timesteps {2 * int(chosen['timesteps'])}"
    )


def summary(rows: list[EpisodeRow]) -> str:
    """What was learnt, in words."""
    first, last = rows[:WINDOW], rows[-WINDOW:]
    before, after = successes_per_timestep(first), successes_per_timestep(last)
    long = min(LONG_WINDOW, len(rows) // 2)
    start, end = rows[:long], rows[-long:]
    verdict = "learnt" if after > before else "not learnt"
    return (
        f"{len(rows)} episodes, {rows[-1].timesteps} control steps: {verdict}\n"
        f"  success/steps  first {len(first)} episodes {before:.3f}  "
        f"last {len(last)} episodes {after:.3f}\n"
        f"                 first {long} episodes {successes_per_timestep(start):.3f}  "
        f"last {long} episodes {successes_per_timestep(end):.3f}\n"
        f"  success rate   first {long} episodes {success_rate(start):.0%}  "
        f"last {long} episodes {success_rate(end):.0%}\n"
        f"  curiosity      {_curiosity(start):+.2f} → {_curiosity(end):+.2f} nats"
    )


def draw(rows: list[EpisodeRow], path: Path, task: str, learner: str, bonus: str) -> None:
    """The learning curve: the paper's metric, over 10 and over 100 episodes."""
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    steps = [row.timesteps for row in rows]
    styles: dict[int, dict[str, Any]] = {WINDOW: {"alpha": 0.3}, LONG_WINDOW: {"linewidth": 2.0}}
    for window, style in styles.items():
        curve = [
            successes_per_timestep(rows[max(0, index - window + 1) : index + 1])
            for index in range(len(rows))
        ]
        axes.plot(steps, curve, color="tab:blue", label=f"last {window} episodes", **style)
    axes.set(
        title=f"{task}, {learner.upper()} with bonus {bonus}, over the ROS graph",
        xlabel="control steps",
        ylabel="successes ÷ control steps",
    )
    axes.set_ylim(bottom=0.0)
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _curiosity(rows: list[EpisodeRow]) -> float:
    return float(np.mean([row.mean_curiosity for row in rows])) if rows else 0.0
