"""`bayes-curiosity up`: the whole stack in one terminal, without launch_ros."""

from __future__ import annotations

import argparse
import json
import socket
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from bayes_curiosity_ros.bringup.arguments import arguments as bringup_arguments
from bayes_curiosity_ros.bringup.arguments import checked, robot_of
from bayes_curiosity_ros.bringup.processes import Ended, ProcessGroup, Respawn
from bayes_curiosity_ros.bringup.table import NodeSpec, nodes
from bayes_curiosity_ros.environment import node_environment
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.failures import BUG_CODE, EXPECTED_CODE
from bayes_curiosity_ros.learning.algorithm import LEARNERS
from bayes_curiosity_ros.learning.checkpoint import (
    CHECKPOINT,
    forget_checkpoint,
    has_checkpoint,
)
from bayes_curiosity_ros.learning.episode_log import (
    LOG,
    EpisodeRow,
    of_policy,
    read_log,
    successes_per_timestep,
)
from bayes_curiosity_ros.learning.intervals import by_episode, by_step, ends, judged
from bayes_curiosity_ros.learning.preparation import PreparedFiles
from bayes_curiosity_ros.learning.prepare import (
    PrepareOptions,
    add_demonstration_arguments,
    prepare,
)
from bayes_curiosity_ros.learning.settings import LearnerConfig
from bayes_curiosity_ros.locks import FolderLock
from bayes_curiosity_ros.resources import own_path

matplotlib.use("Agg")
from matplotlib import pyplot as plt

CURVE = "learning_curve.png"
WINDOW = 10
LONG_WINDOW = 100
# Arguments of the bringup that are for another command.
OTHERS = ("demonstrations",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the bringup, and how to prepare."""
    add_bringup_arguments(parser, OTHERS)
    add_demonstration_arguments(parser)
    add_restart_argument(parser)
    parser.add_argument(
        "--demonstrations",
        dest="demonstrated_bags",  # for launch, `demonstrations` is a number of episodes
        nargs="+",
        default=[],
        metavar="BAG",
        help="bags whose episodes a learner with a memory (sac) begins with, not the expert's",
    )
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
                nargs="?" if argument.switch else None,
                const="true" if argument.switch else None,
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
        if argument.name in OTHERS:
            continue
        value = given.get(argument.name, argument.default)
        if not argument.flag:
            words.append(f"{argument.option}={value}")
        elif value == "true":
            words.append(argument.option)
    return words


def chosen_of(arguments: argparse.Namespace) -> dict[str, str]:
    """The arguments of the bringup among the options of a command."""
    return {
        argument.name: str(getattr(arguments, argument.name)).lower()
        if argument.flag
        else str(getattr(arguments, argument.name))
        for argument in bringup_arguments()
        if hasattr(arguments, argument.name)
    }


def run(arguments: argparse.Namespace) -> int:
    """Prepare, start, wait, end, sum up."""
    chosen = checked(chosen_of(arguments))
    folder = Path(chosen["output"])
    nodes(chosen)  # checked before anything is spent
    _require_files(chosen)
    with FolderLock(folder):
        return _run(arguments, chosen, folder)


def _run(arguments: argparse.Namespace, chosen: dict[str, str], folder: Path) -> int:
    if arguments.restart:
        forget(folder)
    check_folder(folder, arguments.resume)
    if not arguments.scratch:
        _prepare(chosen, folder, arguments)
    ended = run_nodes(with_page(chosen), folder)
    rows, budget = logged(folder), int(chosen["timesteps"])
    # A learner that ends by itself has spent its budget, but while it imports a signal ends it
    # with code 0.
    if ended == Ended("learner", 0) and steps_of(rows) >= budget:
        _report(chosen, folder, rows)
        return 0
    print(f"{stopped(ended, rows, budget)}; {how_to_go_on(folder)}", file=sys.stderr)
    return ended.code if ended.signal or ended.code == EXPECTED_CODE else BUG_CODE


def with_page(chosen: Mapping[str, str]) -> dict[str, str]:
    """The arguments with a port that the page keeps; prints its address where there is a page."""
    if chosen["web"] == "false":
        return dict(chosen)
    port = port_of_page(chosen["web_host"], int(chosen["web_port"]))
    print(f"page: http://{chosen['web_host']}:{port}", flush=True)
    return {**chosen, "web_port": str(port)}


def port_of_page(host: str, port: int) -> int:
    """The port that was asked for, or one that is free; a page that comes back keeps it.

    Raises:
        ConfigError: another program has it, or this machine has no such address.
    """
    try:
        with socket.create_server((host, port)) as tried:
            return int(tried.getsockname()[1])
    except OSError as error:
        raise ConfigError(
            f"no page at {host}:{port} ({error}); give another --web-port, 0 for any that is free"
        ) from error


def logged(folder: Path) -> list[EpisodeRow]:
    """The policy's episodes of the run in a folder; none where it has none."""
    return of_policy(read_log(folder / LOG)) if (folder / LOG).exists() else []


def steps_of(rows: Sequence[EpisodeRow]) -> int:
    """Control steps that a run has taken, by its episodes."""
    return rows[-1].timesteps if rows else 0


def stopped(ended: Ended, rows: Sequence[EpisodeRow], budget: int) -> str:
    """Where a run was cut short, and by what."""
    why = ended.signal or f"{ended.name} ended with code {ended.code}"
    return f"stopped at step {steps_of(rows)} of {budget} ({why})"


def how_to_go_on(folder: Path) -> str:
    """What to type after a run was cut short."""
    if has_checkpoint(folder / CHECKPOINT):
        return "the same command with --resume goes on from the last policy update"
    return "nothing is saved before the first policy update: the same command begins again"


def command_of(spec: NodeSpec, namespace: str = "", log_level: str = "info") -> list[str]:
    """The command line that starts a node without launch."""
    words = [sys.executable, "-m", spec.module, "--ros-args", "--log-level", log_level]
    words += spec.ros_words
    if namespace:
        words += ["-r", f"__ns:=/{namespace.strip('/')}"]
    for name, other in spec.remappings.items():
        words += ["-r", f"{name}:={other}"]
    for path in spec.files:
        words += ["--params-file", path]
    return words + _parameter_words(spec.parameters)


def respawn_of(spec: NodeSpec) -> Respawn | None:
    """How a node is started again, if it may be."""
    if spec.respawn:
        return Respawn(missed=not spec.needed)
    return None if spec.again is None else Respawn(False, _parameter_words(spec.again))


def _parameter_words(parameters: Mapping[str, Any]) -> list[str]:
    return [
        word
        for name, value in parameters.items()
        for word in ("-p", f"{name}:={json.dumps(value)}")
    ]


def _require_files(chosen: Mapping[str, str]) -> None:
    """Check that what a run shall start from is there; nodes would tell a minute later."""
    for name in ("model", "policy", "shown"):
        if chosen[name] and not own_path(chosen[name]).is_file():
            raise ConfigError(f"--{name} {chosen[name]}: there is no such file; check the path")


def check_folder(folder: Path, resume: bool) -> None:
    """Check that a folder holds a run if it is to be resumed, and none otherwise.

    Raises:
        ConfigError: it does not; the message says what to do.
    """
    exists = has_checkpoint(folder / CHECKPOINT)
    if resume and not exists:
        raise ConfigError(f"{folder / CHECKPOINT} does not exist; leave out --resume")
    if exists and not resume:
        raise ConfigError(
            f"{folder} holds a run already; give --resume to go on with it, --restart to begin "
            "again, or another --output"
        )


def forget(folder: Path) -> None:
    """Remove a run's checkpoints, so that it begins again."""
    forget_checkpoint(folder / CHECKPOINT)


def _prepare(chosen: dict[str, str], folder: Path, arguments: argparse.Namespace) -> None:
    """Fill in model, policy and demonstrated episodes where they are not given."""
    bags, remembers = arguments.demonstrated_bags, LEARNERS[chosen["learner"]].remembers
    options = PrepareOptions(
        task=chosen["task"],
        robot=robot_of(chosen),
        dynamics=chosen["dynamics"],
        embedding_from=arguments.embedding_from,
        imitate=not (arguments.no_policy or chosen["policy"] or remembers),
        imitation_epochs=arguments.imitation_epochs,
        demonstrated_episodes=arguments.demonstrated_episodes if remembers and not bags else 0,
        seed=int(chosen["seed"]),
    )
    needed = {"model": True, "policy": options.imitates}
    needed["shown"] = options.demonstrated_episodes > 0
    wanted = [name for name in needed if needed[name] and not chosen[name]]
    if wanted:
        made = prepare(options, PreparedFiles.within(folder), lambda line: print(line, flush=True))
        for name in wanted:
            chosen[name] = str(getattr(made, name).resolve())
    if bags:
        chosen["shown"] = _remembered(bags, chosen, folder)


def _remembered(bags: Sequence[str], chosen: Mapping[str, str], folder: Path) -> str:
    """The file of what bags hold, for a learner with a memory."""
    from bayes_curiosity_ros.bags.remember import remember

    path = PreparedFiles.within(folder).shown
    config = LearnerConfig(chosen["task"], robot_of(chosen), chosen["dynamics"])
    config = replace(config, learner=chosen["learner"], model=chosen["model"])
    remember(config, bags, path, tell=lambda line: print(line, flush=True))
    return str(path.resolve())


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
    with ProcessGroup(folder / "log", loud, partial(_size, folder / LOG)) as group:
        for spec in specs:
            command = command_of(spec, chosen["namespace"], chosen["log_level"])
            group.start(spec.name, command, node_environment(spec.withheld), respawn_of(spec))
        ended = _unless_unrecorded(group.wait(), group.end(), chosen)
        if loud and sys.stdout.isatty():
            print()
        for trouble in group.troubles():
            print(f"bayes-curiosity: {trouble}", file=sys.stderr)
        if ended.code and not ended.signal:
            print(
                f"bayes-curiosity: {ended.name} ended with code {ended.code}; all were ended.\n"
                f"{group.tail(ended.name)}",
                file=sys.stderr,
            )
    return ended


def _size(path: Path) -> int:
    """Size of a file in bytes; 0 where there is none."""
    return path.stat().st_size if path.exists() else 0


def _unless_unrecorded(ended: Ended, codes: Mapping[str, int], chosen: Mapping[str, str]) -> Ended:
    """What ended a run; one whose recorder had to record all, and could not, is no success."""
    code = codes.get("recorder", 0)
    unrecorded = chosen["record"] == "required" and code != 0
    return Ended("recorder", code) if ended == Ended("learner", 0) and unrecorded else ended


def _report(chosen: dict[str, str], folder: Path, rows: list[EpisodeRow]) -> None:
    """Say what was learnt, draw it, and tell how to go on."""
    print(summary(rows))
    draw(rows, folder / CURVE, chosen["task"], chosen["learner"], chosen["bonus"])
    print(
        f"wrote {folder / CURVE}, {folder / LOG}, {folder / CHECKPOINT}; the same command "
        f"with --resume --timesteps {2 * int(chosen['timesteps'])} goes on"
    )


def summary(rows: Sequence[EpisodeRow]) -> str:
    """What a finished run learnt, in words; judged by 95 % intervals of its ends."""
    first, last = ends(rows)
    count = f"{len(first)} episodes"
    return (
        f"{len(rows)} episodes, {steps_of(rows)} control steps: {judged(rows)}\n"
        f"  with 95 % intervals  {f'first {count}':20s}  last {count}\n"
        f"  success/steps        {by_step(first).interval}  {by_step(last).interval}\n"
        f"  success rate         {by_episode(first).interval}  {by_episode(last).interval}\n"
        f"  curiosity in nats    {_curiosity(first):<+20.2f}  {_curiosity(last):+.2f}"
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


def _curiosity(rows: Sequence[EpisodeRow]) -> float:
    return float(np.mean([row.mean_curiosity for row in rows])) if rows else 0.0
