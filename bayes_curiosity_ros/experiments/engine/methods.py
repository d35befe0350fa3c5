"""How the runs of an experiment explore: methods, each a bonus with its settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bayes_curiosity_ros.configuration.settings import build, require_nonnegative
from bayes_curiosity_ros.curiosity.bonus import BONUSES
from bayes_curiosity_ros.errors import unknown_name

EMBEDDINGS = ("demonstrations", "random", "none")


@dataclass(frozen=True)
class Method:
    """How a run explores: a bonus with its settings.

    Attributes:
        bonus: what rewards exploration.
        options: of the bonus, those that differ from its defaults.
        embedding: what the encoder of a bonus that has one begins with: what Algorithm 1 makes
            of the "demonstrations"; "random" weights behind inputs standardised by the
            demonstrations; or, with "none" of them, random weights and the task's own range.
        encoder: options of `EncoderConfig` that replace the task's.
        pretrained: whether the policy has imitated the demonstrations.
        timesteps: replaces the learner's budget; 0 does not.
        shuffled: whether the bonuses of a batch are dealt out over its steps at random: a
            placebo, which pays as much and says nothing.
        demonstrated_episodes: whole episodes of the expert in the memory of a learner that has
            one for them; every seed has its own.
        learner_options: of the learner's configuration, those that the bonus needs otherwise,
            such as critics of its own.
    """

    bonus: str
    options: dict = field(default_factory=dict)
    embedding: str = "demonstrations"
    encoder: dict = field(default_factory=dict)
    pretrained: bool = False
    timesteps: int = 0
    shuffled: bool = False
    demonstrated_episodes: int = 0
    learner_options: dict = field(default_factory=dict)

    def __post_init__(self) -> None:
        BONUSES.require(self.bonus)
        require_nonnegative(self, "timesteps", "demonstrated_episodes")
        if self.embedding not in EMBEDDINGS:
            raise unknown_name("embedding", self.embedding, EMBEDDINGS)


def parse_method(name: str, methods: Mapping[str, Any], pretrained: bool, where: str) -> Method:
    """One of a task's methods.

    Args:
        name: of the method.
        methods: values of all, as in the file.
        pretrained: whether policies have imitated the demonstrations, unless the method says.
        where: place to name in an error.
    """
    values = {"pretrained": pretrained} | _resolved(name, methods)
    # What is not a field of `Method` is an option of the bonus.
    own = {item.name for item in dataclasses.fields(Method)} - {"options"}
    fields = {key: value for key, value in values.items() if key in own}
    options = {key: value for key, value in values.items() if key not in own}
    return build(Method, {**fields, "options": options}, where)


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Mappings merged deeply; where a change says nothing (null), the base stays."""
    result = dict(base)
    for key, value in (changes or {}).items():
        mine = result.get(key)
        if isinstance(mine, Mapping) and isinstance(value, Mapping | None):
            value = merged(mine, value or {})
        result[key] = value
    return result


def _resolved(name: str, methods: Mapping[str, Any]) -> dict[str, Any]:
    """A method's values with those of the one that it is like; its bonus is its name."""
    if name not in methods:
        raise unknown_name("method to be like", name, methods)
    own = dict(methods[name] or {})
    base = own.pop("like", None)
    if base is None:
        return {"bonus": name} | own
    others = {key: value for key, value in methods.items() if key != name}
    return merged(_resolved(base, others), own)
