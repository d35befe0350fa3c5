"""`bayes-curiosity map --bag BAG`: where in space a recorded run made the robot less curious."""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from tqdm import tqdm

from bayes_curiosity_ros.learning.event_log import LOGS, EventLog, require_log
from bayes_curiosity_ros.learning.map.figure import draw_before_and_after, frames_of, headline
from bayes_curiosity_ros.monitor.map_history import history_of
from bayes_curiosity_ros.tasks.arm.view import save

PICTURE, FILM = "map.png", "map.gif"
FRAME_S = 0.4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--bag", required=True, type=Path, help="a bag's folder, or a file of it")
    parser.add_argument(
        "--model",
        type=Path,
        default=None,
        help="model file that the run began with; if absent, the file that it had",
    )
    parser.add_argument(
        "--robot", default="", help="file in config/robots/, or a path; the recorded one if absent"
    )
    parser.add_argument("--namespace", default="", help="of the recorded graph")
    parser.add_argument("--output", type=Path, default=Path("output/map"), help="folder")
    parser.add_argument(
        "--log", choices=LOGS, default="", help="the film's pictures as event files, too"
    )


def run(arguments: argparse.Namespace) -> int:
    """Rebuild the posterior, draw the map before and after, and film it going dark."""
    require_log(arguments.log)
    torch.set_num_threads(1)  # as the node has: with more, sums round otherwise
    history = history_of(
        arguments.bag,
        arguments.model,
        arguments.robot,
        arguments.namespace,
        lambda episodes: iter(tqdm(episodes, desc="map", unit="episode")),
    )
    draw_before_and_after(history, arguments.output / PICTURE)
    frames = list(tqdm(frames_of(history), desc="film", unit="frame", total=len(history.moments)))
    save(frames, arguments.output / FILM, FRAME_S, colors=256)
    with EventLog(arguments.output, arguments.log) as events:
        for moment, picture in zip(history.moments, frames, strict=True):
            events.add_picture("curiosity/map", picture, moment.episodes)
    print(headline(history))
    print(f"wrote {PICTURE} and {FILM} ({len(history.moments)} frames) to {arguments.output}")
    return 0
