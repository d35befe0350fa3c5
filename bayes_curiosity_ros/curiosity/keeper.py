"""What the curiosity node knows, without ROS: the model, its limits, which episodes it has."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from bayes_curiosity_ros.configuration.settings import require_positive
from bayes_curiosity_ros.curiosity.curiosity import (
    Curiosity,
    CuriosityConfig,
    CuriosityStream,
    Scores,
    with_preset,
)
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import SavedModel, load_model, model_id, save_model
from bayes_curiosity_ros.errors import (
    AlreadyUpdatedError,
    BatchTooLargeError,
    ConfigError,
    ModelFileError,
    StepError,
)
from bayes_curiosity_ros.files import reason_of, within
from bayes_curiosity_ros.resources import own_path
from bayes_curiosity_ros.runs import SILENCE_S
from bayes_curiosity_ros.spans import Spans

FITTED = ("frequencies", "length_scale")  # of an encoder, by the first episode ever taken in
MAX_UNDER_WAY = 64  # episodes at once; whoever begins more gives up the oldest


@dataclass(frozen=True)
class KeeperConfig:
    """Parameters of the curiosity node.

    Attributes:
        model: path of the model file to start from; empty for a random frozen encoder.
        model_folder: folder that curiosity/save and curiosity/load keep to.
        max_batch: most observations in one request.
        max_image_batch: most observations in one request where they have images.
        encoder_seed: of the random encoder.
        encoder: shape of the random encoder; a model file brings its own.
        run_silence_s: a learner of which nothing was heard for so long may be replaced by another.
        preset: "paper" or "e3b" for what those left out of `curiosity` are taken from.
        curiosity: how what is learnt becomes reward; a model file brings its own prior and noise.
    """

    model: str = ""
    model_folder: str = "models"
    max_batch: int = 65536
    max_image_batch: int = 1024
    encoder_seed: int = 0
    run_silence_s: float = SILENCE_S
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(vector_size=9))
    preset: str = ""
    curiosity: CuriosityConfig = field(default_factory=CuriosityConfig)

    def __post_init__(self) -> None:
        for name in ("max_batch", "max_image_batch"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be at least 1")
        require_positive(self, "run_silence_s")
        object.__setattr__(self, "curiosity", with_preset(self.curiosity, self.preset))


@dataclass
class _UnderWay:
    """An episode that has not ended: its observations so far, what prices them, their scores.

    Attributes:
        seen: observations in the posterior that it began with.
        stream: what prices it.
        vectors: numbers of each observation.
        scores: scores of each observation.
    """

    seen: int
    stream: CuriosityStream
    vectors: list[np.ndarray]
    scores: list[Scores] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scores.append(self.stream.first)

    def take(self, observation: Observations) -> None:
        """The next observation."""
        self.scores.append(self.stream.take(observation))
        self.vectors.append(observation.vectors)

    def has(self, step: int, observation: Observations) -> bool:
        """Whether this observation came at this step before."""
        return np.array_equal(self.vectors[step], observation.vectors)


class CuriosityKeeper:
    """Guards one curiosity model: whatever is rejected changes nothing."""

    def __init__(self, config: KeeperConfig) -> None:
        """Start from the model file, or from a random encoder at the prior."""
        self.config = config
        if config.model:
            self._adopt(load_model(own_path(config.model)))
        else:
            generator = torch.Generator().manual_seed(config.encoder_seed)
            encoder = Encoder(config.encoder, generator)
            self._adopt(SavedModel(Curiosity(encoder, config.curiosity), trained=False))

    @property
    def episodes(self) -> int:
        """Episodes in the posterior."""
        return len(self._episodes)

    def admit(self, count: int) -> None:
        """Reject a batch beyond the limit before anything is spent on it."""
        images = self.curiosity.encoder.config.image_shape is not None
        name = "max_image_batch" if images else "max_batch"
        limit = getattr(self.config, name)
        if count > limit:
            raise BatchTooLargeError(
                f"{count} observations in one request; {name} = {limit}. Send them in parts"
            )

    def observe(self, episode: int, step: int, observation: Observations) -> Scores:
        """What an observation of an episode under way is worth.

        A step that comes again is answered as it was the first time. An episode that begins
        otherwise, or under another posterior, is another attempt at it.

        Raises:
            StepError: steps before this one did not come, or this one did otherwise; nothing
                changed.
        """
        known = self._under_way.get(episode)
        if step == 0 and not (known and known.has(0, observation) and known.seen == self._seen):
            known = self._begin(episode, observation)
        if known is None or step > len(known.scores):
            expected = len(known.scores) if known else 0
            raise StepError(
                f"observation of episode {episode}, step {step}; expected step {expected}. "
                "Ask curiosity/evaluate for the whole episode"
            )
        if step == len(known.scores):
            known.take(observation)
        elif not known.has(step, observation):
            raise StepError(
                f"observation of episode {episode}, step {step}: another one came at this step. "
                "Ask curiosity/evaluate for the whole episode"
            )
        return known.scores[step]

    @property
    def _seen(self) -> int:
        return self.curiosity.regression.count

    def preview(self, episode: int, observations: Observations) -> list[Scores]:
        """What each observation would be worth as the next one of an episode under way."""
        known = self._under_way.get(episode)
        stream = known.stream if known else None
        return [
            self.curiosity.score(row) if stream is None else stream.preview(row)
            for row in (observations[i : i + 1] for i in range(len(observations)))
        ]

    def snapshot(self) -> Curiosity:
        """The model as it is now; later updates do not reach it. Costs nothing.

        An update replaces the posterior's tensors and never writes into them.
        """
        frozen = copy.copy(self.curiosity)
        frozen.regression = copy.copy(self.curiosity.regression)
        return frozen

    def update(self, episode: int, observations: Observations) -> None:
        """Take in an episode, once."""
        if episode in self._episodes:
            raise AlreadyUpdatedError(
                f"episode {episode} is in the posterior already; use a new id, or reset"
            )
        self.curiosity.observe(observations)
        self._episodes.add(episode)
        self._under_way.pop(episode, None)

    def reset(self) -> None:
        """Back to the prior, and to features whose length scale no episode has decided yet."""
        self.curiosity.reset()
        for name, tensor in self._unfitted.items():
            getattr(self.curiosity.encoder, name).copy_(tensor)
        self._episodes = Spans()
        self._under_way.clear()

    def save(self, name: str) -> tuple[Path, str]:
        """Write the model file; returns where, and its checksum."""
        target = self._within(name)
        model = SavedModel(self.curiosity, self.trained, self._episodes)
        try:
            return target, save_model(target, model)
        except (OSError, ValueError) as error:
            raise ModelFileError(f"cannot write {target}: {reason_of(error)}") from error

    def load(self, name: str, checksum: str = "") -> Path:
        """Put a model file's model in this one's place; returns where it was.

        Args:
            name: name of the file in the model folder.
            checksum: what `save` gave for it; empty to take any.
        """
        source = self._within(name)
        model = load_model(source, checksum)
        ours, theirs = self.curiosity.encoder.config, model.curiosity.encoder.config
        for name in ("vector_size", "image_shape"):
            if getattr(ours, name) != getattr(theirs, name):
                raise ModelFileError(
                    f"{source} has {name} = {getattr(theirs, name)}; this node works with "
                    f"{getattr(ours, name)}. Start a node with model:={source} instead"
                )
        self._adopt(model)
        return source

    def _within(self, name: str) -> Path:
        return within(Path(self.config.model_folder), name)

    def _begin(self, episode: int, first: Observations) -> _UnderWay:
        """An episode begins; of too many under way, the oldest is given up."""
        self._under_way.pop(episode, None)
        while len(self._under_way) >= MAX_UNDER_WAY:
            self._under_way.pop(next(iter(self._under_way)))
        known = _UnderWay(self._seen, self.curiosity.begin(first), [first.vectors])
        self._under_way[episode] = known
        return known

    def _adopt(self, model: SavedModel) -> None:
        """Take over encoder and posterior; what is priced how stays this node's own affair.

        A posterior that has seen something stays in the features it saw it in.
        """
        theirs = model.curiosity
        config = dataclasses.replace(self.config.curiosity, regression=theirs.config.regression)
        if theirs.regression.count:
            self.curiosity = theirs
            theirs.config = dataclasses.replace(config, features=theirs.config.features)
        else:
            self.curiosity = Curiosity(theirs.encoder, config)
        fitted = FITTED if not theirs.regression.count else ()
        self._unfitted = {name: getattr(theirs.encoder, name).clone() for name in fitted}
        self._under_way: dict[int, _UnderWay] = {}
        self.trained = model.trained
        self.model_id = model_id(model.curiosity)
        self._episodes = model.episodes
