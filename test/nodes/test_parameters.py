"""Parameters: declared from dataclasses, documented by them, and in step with config/."""

import dataclasses
from pathlib import Path

import yaml

from bayes_curiosity_ros.curiosity.keeper import KeeperConfig
from bayes_curiosity_ros.nodes.parameters import attribute_descriptions, declare

CONFIG = Path(__file__).parents[2] / "config/bringup" / "curiosity.yaml"


def flat(settings: dict, prefix: str = "") -> dict:
    """Nested settings by dotted name."""
    result = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            result |= flat(value, f"{prefix}{name}.")
        else:
            result[prefix + name] = list(value) if isinstance(value, tuple) else value
    return result


def test_the_file_has_the_defaults_and_no_unknown_name():
    defaults = flat(dataclasses.asdict(KeeperConfig()))
    written = flat(yaml.safe_load(CONFIG.read_text())["/**"]["ros__parameters"])
    assert written == {name: defaults[name] for name in written}


def test_declared_parameters_come_back_as_the_dataclass(background):
    assert declare(background.node, KeeperConfig()) == KeeperConfig()
    described = background.node.describe_parameter("curiosity.form")
    assert "nonnegative" in described.description
    assert described.read_only


def test_every_field_is_described():
    for config in (KeeperConfig(), KeeperConfig().encoder, KeeperConfig().curiosity):
        names = {field.name for field in dataclasses.fields(config)}
        assert names == set(attribute_descriptions(type(config)))
