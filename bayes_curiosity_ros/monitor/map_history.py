"""The map of the curiosity as a recorded run went on."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.bags.episode import Episode, read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.posterior import RecordedStates, curiosity_for, recorded_states
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bringup.arguments import robot_of
from bayes_curiosity_ros.curiosity.curiosity import Curiosity
from bayes_curiosity_ros.errors import BayesCuriosityError
from bayes_curiosity_ros.learning.map.moments import MapHistory, Moment, gains_of, shown
from bayes_curiosity_ros.learning.map.points import CuriosityMap
from bayes_curiosity_ros.learning.preparation import PreparedFiles
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.plan import hands_of

FIRST = 20  # episodes whose objects say where the object stands in the map


def history_of(
    bag: Path,
    model: Path | None = None,
    robot: str = "",
    namespace: str = "",
    tell: Callable[[Iterator[Episode]], Iterator[Episode]] = lambda episodes: episodes,
) -> MapHistory:
    """Rebuild the posterior episode by episode, and look at the map on the way.

    Args:
        bag: a bag's folder, or one of its files.
        model: model file that the run began with; None for the file that it had, or the node's
            random encoder.
        robot: file in config/robots/, or a path; "" for the recorded one.
        namespace: namespace of the recorded graph.
        tell: passes the episodes on, and may show that they come.

    Raises:
        BagError: the bag does not say its task, has no observations or no curiosity, or they do
            not fit the model or the robot.
    """
    states, reader = recorded_states(BagReader(bag)), BagReader(bag)
    episodes = (e for e in read_episodes(reader, namespace) if e.vectors.shape[1])
    first = list(itertools.islice(episodes, FIRST))
    if not first:
        raise BagError(f"{bag} has no observations to draw a map of")
    map_ = _map_of(reader, robot, first[0])
    curiosity = _curiosity(states, first[0], model, reader)
    history = MapHistory(map_, _usual_spot(first, map_))
    _fill(history, curiosity, tell(itertools.chain(first, episodes)))
    return history


def _fill(history: MapHistory, curiosity: Curiosity, episodes: Iterator[Episode]) -> None:
    price = gains_of(curiosity)

    def look(count: int) -> None:
        values = history.map.values(price, history.spot)
        history.moments.append(Moment(count, values))

    look(0)
    for count, episode in enumerate(episodes, 1):
        history.paths.append(hands_of(history.map.task, episode.vectors))
        if episode.learnt_from:
            curiosity.observe(episode.observations())
        if shown(count):
            look(count)
    if history.moments[-1].episodes < len(history.paths):
        look(len(history.paths))


def _map_of(reader: BagReader, robot: str, episode: Episode) -> CuriosityMap:
    """The map of a bag's task and robot."""
    task = reader.about.get("task")
    if not task:
        raise BagError(f"{reader.path} does not name its task; record with task:=… for a map")
    map_ = CuriosityMap.over(task, RobotConfig.load(robot or _recorded_robot(reader)))
    ours, theirs = map_.task.observation_size, episode.vectors.shape[1]
    if ours != theirs:
        raise BagError(
            f"{reader.path} has observations of {theirs} numbers, {task} of "
            f"{map_.task.robot.arm.urdf} has {ours}; give the recorded robot with --robot"
        )
    return map_


def _settings(reader: BagReader) -> dict[str, str]:
    """The arguments of the bringup that recorded a bag; none where it does not say."""
    try:
        values = json.loads(reader.about.get("settings", ""))
    except ValueError:  # a user's recorder may note anything there
        return {}
    return values if isinstance(values, dict) else {}


def _recorded_robot(reader: BagReader) -> str:
    """The file in config/robots/ that a run had; the usual one where its bag does not say."""
    settings = _settings(reader)
    return robot_of(settings) if {"arm", "robot"} <= settings.keys() else "jaco.yaml"


def _known_models(reader: BagReader) -> list[Path]:
    """Files where a run's model may be: as its bag says, or in the folder that has its bags."""
    folder = reader.path if reader.path.is_dir() else reader.path.parent
    prepared = PreparedFiles.within(folder.absolute().parent.parent).model
    recorded = _settings(reader).get("model", "")
    return [path for path in (*map(Path, [recorded] * bool(recorded)), prepared) if path.is_file()]


def _curiosity(
    states: RecordedStates, episode: Episode, given: Path | None, reader: BagReader
) -> Curiosity:
    """The curiosity that a run began with, with the model given or the one that it had."""
    if not states.model_id and given is None:
        raise BagError(
            f"{reader.path} has no curiosity/state: no curiosity node was recorded. Pass a model "
            "with --model FILE to see how new its episodes would have been to that"
        )
    if given is not None:
        return curiosity_for(states, episode, given)
    for model in (*_known_models(reader), None):
        with suppress(BayesCuriosityError):  # not the recorded one
            return curiosity_for(states, episode, model)
    raise BagError(
        f"{reader.path} was recorded with model {states.model_id}, which is not where its run had "
        "it; pass it with --model FILE"
    )


def _usual_spot(episodes: Sequence[Episode], map_: CuriosityMap) -> np.ndarray:
    """The middle of where the object was in these episodes, or in all placements."""
    known = [each.objects for each in episodes if each.objects.shape[1] == 3]
    spots = np.concatenate([np.empty((0, 3)), *known])
    spots = spots[np.isfinite(spots).all(axis=1)]
    return np.median(spots, axis=0) if len(spots) else map_.usual_object
