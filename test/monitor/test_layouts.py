"""Layouts for RViz, Foxglove and PlotJuggler: well-formed, and of topics and fields there are."""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import pytest
import yaml

from bayes_curiosity_ros.nodes.conversions.clouds import FIELDS
from bayes_curiosity_ros.nodes.map_client import TOPIC as MAP
from bayes_curiosity_ros.nodes.recorder_node import KNOWN, KNOWN_LATCHED
from bayes_curiosity_ros.nodes.taps import message_class
from bayes_curiosity_ros.resources import find

TYPES = {
    **KNOWN,
    **KNOWN_LATCHED,
    MAP: "sensor_msgs/msg/PointCloud2",
    "object_marker": "visualization_msgs/msg/Marker",
    "diagnostics": "diagnostic_msgs/msg/DiagnosticArray",
}
NUMBERS = {"double", "float", "boolean"} | {f"{u}int{n}" for u in ("", "u") for n in (8, 32, 64)}
# By the type of what it shows.
RVIZ = {
    "rviz_default_plugins/PointCloud2": "sensor_msgs/msg/PointCloud2",
    "rviz_default_plugins/Marker": "visualization_msgs/msg/Marker",
    "rviz_default_plugins/Image": "sensor_msgs/msg/Image",
    "rviz_default_plugins/RobotModel": "std_msgs/msg/String",
}
FOXGLOVE = json.loads(find("foxglove", "cell.json").read_text())
PANELS = FOXGLOVE["configById"]
JUGGLER = ElementTree.parse(find("plotjuggler", "run.xml")).getroot()


def leaves(tree) -> Iterator[str]:
    """Panels of a Foxglove layout's tree."""
    if isinstance(tree, str):
        yield tree
        return
    assert set(tree) == {"direction", "first", "second", "splitPercentage"}
    assert tree["direction"] in ("row", "column")
    assert 0 < tree["splitPercentage"] < 100
    yield from leaves(tree["first"])
    yield from leaves(tree["second"])


def type_of(topic: str) -> str:
    assert topic.startswith("/")
    assert topic[1:] in TYPES, f"there is no topic {topic}"
    return TYPES[topic[1:]]


def require_number(topic: str, field: str) -> None:
    fields = message_class(type_of(topic)).get_fields_and_field_types()
    assert fields.get(field) in NUMBERS, f"{topic} has no number {field}"


def test_every_panel_is_shown_once():
    assert sorted(leaves(FOXGLOVE["layout"])) == sorted(PANELS)
    kinds = {panel.split("!")[0] for panel in PANELS}
    assert kinds == {"3D", "Plot", "Image", "DiagnosticSummary", "RawMessages"}


def test_plots_are_of_numbers_that_are_published():
    values = [path["value"] for panel in PANELS.values() for path in panel.get("paths", ())]
    assert len(values) == len(set(values)) >= 5
    for value in values:
        require_number(*value.rsplit(".", 1))


def test_images_diagnostics_and_messages_are_of_topics_there_are():
    for name, panel in PANELS.items():
        if name.startswith("Image"):
            assert type_of(panel["imageMode"]["imageTopic"]) == "sensor_msgs/msg/Image"
        elif name.startswith("DiagnosticSummary"):
            assert type_of(panel["topicToRender"]) == "diagnostic_msgs/msg/DiagnosticArray"
        elif name.startswith("RawMessages"):
            type_of(panel["topicPath"])


def test_the_cell_in_foxglove_shows_the_map_by_its_values():
    (cell,) = (panel for name, panel in PANELS.items() if name.startswith("3D"))
    kinds = {type_of(topic) for topic in cell["topics"]}
    assert kinds == {
        "std_msgs/msg/String", "visualization_msgs/msg/Marker", "sensor_msgs/msg/PointCloud2",
    }  # fmt: skip
    assert cell["topics"][f"/{MAP}"]["colorField"] in FIELDS


def test_rviz_shows_the_map_by_its_values_and_only_topics_there_are():
    manager = yaml.safe_load(find("rviz", "cell.rviz").read_text())["Visualization Manager"]
    shown = {}
    for display in manager["Displays"]:
        topic = display.get("Topic", display.get("Description Topic"))
        if topic is not None:
            assert TYPES[topic["Value"]] == RVIZ[display["Class"]]
            shown[topic["Value"]] = display
    assert shown[MAP]["Channel Name"] in FIELDS
    assert shown[MAP]["Topic"]["Durability Policy"] == "Transient Local"  # as it is published


def test_curves_of_plotjuggler_are_of_numbers_that_are_published():
    names = [curve.get("name") for curve in JUGGLER.iter("curve")]
    assert len(names) == len(set(names)) >= 5
    for name in names:
        require_number(*name.rsplit("/", 1))


@pytest.mark.parametrize("splitter", list(JUGGLER.iter("DockSplitter")))
def test_every_part_of_a_plotjuggler_tab_has_its_size(splitter):
    sizes = [float(size) for size in splitter.get("sizes").split(";")]
    assert len(splitter) == len(sizes) == int(splitter.get("count"))
    assert sum(sizes) == pytest.approx(1.0, abs=1e-3)
