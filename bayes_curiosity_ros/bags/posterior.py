"""The curiosity's posterior, rebuilt from a bag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bayes_curiosity_ros.bags.decode import decode
from bayes_curiosity_ros.bags.episode import CURIOSITY_STATE, Episode
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig, Scores
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import load_model, model_id


@dataclass(frozen=True)
class RecordedStates:
    """What the curiosity node said of itself.

    Attributes:
        log_determinants: by the number of observations in the posterior, in [nats].
        model_id: id of its encoder; "" where none was recorded.
        first: number of observations in the posterior when the recording began.
        form, weight, posterior, features: its configuration; a bag from before there was a
            choice has a frozen posterior and plain features.
    """

    log_determinants: dict[int, float]
    model_id: str = ""
    first: int = 0
    form: str = "nonnegative"
    weight: float = 1.0
    posterior: str = "frozen"
    features: str = "plain"


def recorded_states(reader: BagReader) -> RecordedStates:
    """All `curiosity/state` messages of a bag."""
    messages: list[Any] = []
    for record in reader.records({CURIOSITY_STATE}):
        messages.append(decode(reader.topics[record.topic], record.data))
    if not messages:
        return RecordedStates({})
    last = messages[-1]
    return RecordedStates(
        {int(m.observations): float(m.log_determinant) for m in messages},
        last.model_id,
        int(messages[0].observations),
        last.form,
        float(last.weight),
        getattr(last, "posterior", RecordedStates.posterior),
        getattr(last, "features", RecordedStates.features),
    )


def curiosity_for(states: RecordedStates, episode: Episode, model: Path | None) -> Curiosity:
    """The recorded node's curiosity as it was at the start of the recording.

    Args:
        states: what the bag's curiosity node said of itself.
        episode: any episode of the bag; decides the shape of a random encoder.
        model: model file; None for the node's default, a random frozen encoder.

    Raises:
        BagError: the model is not the recorded one, or does not fit the bag.
    """
    curiosity = _curiosity_of(states, episode, model)
    ours = model_id(curiosity)
    if states.model_id and ours != states.model_id:
        raise BagError(
            f"the bag was recorded with model {states.model_id}, this is {ours}; give the "
            "recorded one with --model"
        )
    if model is not None and curiosity.regression.count != states.first:
        if states.first:
            raise BagError(
                f"the recording began with {states.first} observations in the posterior, {model} "
                f"has {curiosity.regression.count}; give the model saved just before it"
            )
        curiosity.reset()
    return curiosity


def score_episodes(
    curiosity: Curiosity, episodes: Iterator[Episode]
) -> Iterator[tuple[Episode, Scores]]:
    """Each episode with the scores of its observations, then taken into the posterior.

    One observation at a time, as the node scores them, so that the numbers are its own bit for
    bit. Episodes that were aborted or have no end are scored and not taken in.
    """
    for episode in episodes:
        observations = episode.observations()
        yield episode, curiosity.score_in_order(observations)
        if episode.learnt_from:
            curiosity.observe(observations)


def _curiosity_of(states: RecordedStates, episode: Episode, model: Path | None) -> Curiosity:
    config = CuriosityConfig(
        weight=states.weight,
        form=states.form,
        posterior=states.posterior,
        features=states.features,
    )
    if model is None:
        images = None if episode.color is None else (4, *episode.color.shape[1:3])
        shape = EncoderConfig(vector_size=episode.vectors.shape[1], image_shape=images)
        return Curiosity(Encoder(shape), config)
    saved = load_model(model).curiosity
    theirs = saved.config
    config = replace(config, forgetting=theirs.forgetting, regression=theirs.regression)
    if theirs.features != config.features:
        return Curiosity(saved.encoder, config)
    saved.config = config
    return saved
