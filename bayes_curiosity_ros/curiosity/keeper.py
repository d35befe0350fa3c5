"""What the curiosity node knows, without ROS: the model, its limits, which episodes it has."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

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

MAX_UNDER_WAY = 64  # episodes at once; whoever begins more gives up the oldest


@dataclass(frozen=True)
class KeeperConfig:
    """Parameters of the curiosity node.

    Attributes:
        model: model file to start from; empty for a random frozen encoder.
        model_folder: where relative paths of curiosity/save and curiosity/load begin.
        max_batch: most observations in one request.
        max_image_batch: most observations in one request where they have images.
        encoder_seed: of the random encoder.
        encoder: shape of the random encoder; a model file brings its own.
        preset: "paper" or "e3b" for what those left out of `curiosity` are taken from.
        curiosity: how what is learnt becomes reward; a model file brings its own prior and noise.
    """

    model: str = ""
    model_folder: str = "models"
    max_batch: int = 65536
    max_image_batch: int = 1024
    encoder_seed: int = 0
    encoder: EncoderConfig = field(default_factory=lambda: EncoderConfig(vector_size=9))
    preset: str = ""
    curiosity: CuriosityConfig = field(default_factory=CuriosityConfig)

    def __post_init__(self) -> None:
        for name in ("max_batch", "max_image_batch"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} = {getattr(self, name)}; it must be at least 1")
        object.__setattr__(self, "curiosity", with_preset(self.curiosity, self.preset))


@dataclass
class _UnderWay:
    """An episode that has not ended: its first observation, what prices it, its scores so far."""

    first: Observations
    stream: CuriosityStream
    scores: list[Scores] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scores.append(self.stream.first)

    def began_with(self, observation: Observations) -> bool:
        """Whether this is its first observation again."""
        return np.array_equal(self.first.vectors, observation.vectors)


class CuriosityKeeper:
    """Guards one curiosity model: whatever is rejected changes nothing."""

    def __init__(self, config: KeeperConfig) -> None:
        """Start from the model file, or from a random encoder at the prior."""
        self.config = config
        if config.model:
            self._adopt(load_model(self.resolve(config.model)))
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

        A step that comes again is answered as it was the first time.

        Raises:
            StepError: steps before this one did not come; nothing changed.
        """
        known = self._under_way.get(episode)
        if step == 0 and (known is None or not known.began_with(observation)):
            known = self._begin(episode, observation)
        if known is None or step > len(known.scores):
            expected = len(known.scores) if known else 0
            raise StepError(
                f"observation of episode {episode}, step {step}; expected step {expected}. "
                "Ask curiosity/evaluate for the whole episode"
            )
        if step == len(known.scores):
            known.scores.append(known.stream.take(observation))
        return known.scores[step]

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
        """Back to the prior."""
        self.curiosity.reset()
        self._episodes.clear()
        self._under_way.clear()

    def save(self, path: str) -> Path:
        """Write the model file; returns where."""
        target = self.resolve(path)
        model = SavedModel(self.curiosity, self.trained, frozenset(self._episodes))
        try:
            save_model(target, model)
        except OSError as error:
            raise ModelFileError(f"cannot write {target}: {error.strerror}") from error
        return target

    def load(self, path: str) -> Path:
        """Put a model file's model in this one's place; returns where it was."""
        source = self.resolve(path)
        model = load_model(source)
        ours, theirs = self.curiosity.encoder.config, model.curiosity.encoder.config
        for name in ("vector_size", "image_shape"):
            if getattr(ours, name) != getattr(theirs, name):
                raise ModelFileError(
                    f"{source} has {name} = {getattr(theirs, name)}; this node works with "
                    f"{getattr(ours, name)}. Start a node with model:={source} instead"
                )
        self._adopt(model)
        return source

    def resolve(self, path: str) -> Path:
        """A path as the services take it, in full."""
        if not path:
            raise ModelFileError("path is empty; name a file such as arm.safetensors")
        return (Path(self.config.model_folder) / path).resolve()

    def _begin(self, episode: int, first: Observations) -> _UnderWay:
        """An episode begins; of too many under way, the oldest is given up."""
        self._under_way.pop(episode, None)
        while len(self._under_way) >= MAX_UNDER_WAY:
            self._under_way.pop(next(iter(self._under_way)))
        self._under_way[episode] = known = _UnderWay(first, self.curiosity.begin(first))
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
        self._under_way: dict[int, _UnderWay] = {}
        self.trained = model.trained
        self.model_id = model_id(model.curiosity)
        self._episodes = set(model.episodes)
