"""An arm as its URDF and SRDF describe it: joints, limits, links, and pairs that may touch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from bayes_curiosity_ros.errors import ConfigError, ModelFileError, unknown_name

MOVING = ("revolute", "continuous")


@dataclass(frozen=True)
class Joint:
    """One moving joint.

    Attributes:
        lower_rad: lower limit, -inf for a continuous joint.
        upper_rad: upper limit, inf for a continuous joint.
    """

    name: str
    parent: str
    child: str
    lower_rad: float
    upper_rad: float
    max_velocity_rad_s: float
    max_effort_nm: float

    @property
    def continuous(self) -> bool:
        return math.isinf(self.upper_rad)


@dataclass(frozen=True)
class Description:
    """What a URDF and its SRDF say, read once and checked.

    Attributes:
        links: every link, in the order of the file.
        root: the one link without a parent.
        joints: every moving joint by name, in the order of the file.
        touching: pairs of links whose contact is not a collision.
    """

    name: str
    urdf: Path
    links: tuple[str, ...]
    root: str
    joints: dict[str, Joint]
    touching: frozenset[tuple[str, str]]

    @staticmethod
    def load(urdf: Path, srdf: Path | None = None) -> Description:
        """Read the files.

        Raises:
            ModelFileError: a file is not XML, or its tree is broken; the message says where.
        """
        root = _parse(urdf, "robot")
        links = tuple(_required(element, "name", urdf) for element in root.findall("link"))
        joints = {joint.name: joint for joint in _joints(root, links, urdf)}
        top = _root_link(root, links, urdf)
        touching = frozenset(_touching(_parse(srdf, "robot"), links, srdf) if srdf else ())
        return Description(root.get("name", urdf.stem), urdf, links, top, joints, touching)

    def select(self, names: Iterable[str]) -> tuple[Joint, ...]:
        """The joints of these names, in their order.

        Raises:
            ConfigError: no such joint; the message lists those there are.
        """
        names = tuple(names)
        for name in names:
            if name not in self.joints:
                raise unknown_name(f"joint in {self.urdf.name}:", name, self.joints)
        return tuple(self.joints[name] for name in names)

    def require_link(self, name: str) -> str:
        """The name, when there is such a link.

        Raises:
            ConfigError: no such link; the message lists those there are.
        """
        if name not in self.links:
            raise unknown_name(f"link in {self.urdf.name}:", name, self.links)
        return name


def _parse(path: Path, tag: str) -> ElementTree.Element:
    try:
        root = ElementTree.parse(path).getroot()
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read ({error.strerror})") from error
    except ElementTree.ParseError as error:
        raise ModelFileError(f"{path}: not well-formed XML ({error})") from error
    if root.tag != tag:
        raise ModelFileError(f"{path}: the root element is <{root.tag}>, expected <{tag}>")
    return root


def _required(element: ElementTree.Element, attribute: str, path: Path) -> str:
    value = element.get(attribute)
    if value is None:
        raise ModelFileError(f"{path}: a <{element.tag}> has no attribute {attribute!r}")
    return value


def _joints(root: ElementTree.Element, links: tuple[str, ...], path: Path) -> Iterator[Joint]:
    children: set[str] = set()
    for element in root.findall("joint"):
        name = _required(element, "name", path)
        parent, child = (_end(element, end, name, links, path) for end in ("parent", "child"))
        if child in children:
            raise ModelFileError(f"{path}: link {child!r} has two parents (joint {name!r})")
        children.add(child)
        kind = _required(element, "type", path)
        if kind in MOVING:
            yield _moving_joint(element, name, parent, child, path)
        elif kind != "fixed":
            raise ModelFileError(f"{path}: joint {name!r} is {kind!r}; use {MOVING} or 'fixed'")


def _root_link(root: ElementTree.Element, links: tuple[str, ...], path: Path) -> str:
    children = {tag.get("link") for tag in root.findall("joint/child")}
    roots = [link for link in links if link not in children]
    if len(roots) != 1:
        raise ModelFileError(f"{path}: a tree has one root link, this file has {roots}")
    return roots[0]


def _end(
    element: ElementTree.Element, end: str, joint: str, links: tuple[str, ...], path: Path
) -> str:
    tag = element.find(end)
    link = None if tag is None else tag.get("link")
    if link not in links:
        raise ModelFileError(f"{path}: joint {joint!r} has {end} {link!r}, which is no link")
    return link


def _moving_joint(
    element: ElementTree.Element, name: str, parent: str, child: str, path: Path
) -> Joint:
    limit = element.find("limit")
    if limit is None:
        raise ModelFileError(f"{path}: joint {name!r} has no <limit>; velocity and effort needed")
    lower, upper = -math.inf, math.inf
    if element.get("type") == "revolute":
        lower, upper = (_number(limit, key, name, path) for key in ("lower", "upper"))
    if not lower < upper:
        raise ModelFileError(f"{path}: joint {name!r} has lower {lower} ≥ upper {upper}")
    velocity, effort = (_number(limit, key, name, path) for key in ("velocity", "effort"))
    if velocity <= 0 or effort <= 0:
        raise ModelFileError(
            f"{path}: joint {name!r} has velocity {velocity}, effort {effort}; both must be > 0"
        )
    return Joint(name, parent, child, lower, upper, velocity, effort)


def _number(limit: ElementTree.Element, key: str, joint: str, path: Path) -> float:
    text = limit.get(key, "")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelFileError(f"{path}: joint {joint!r} has limit {key} = {text!r}, not a number")
    return value


def _touching(
    root: ElementTree.Element, links: tuple[str, ...], path: Path
) -> Iterator[tuple[str, str]]:
    for element in root.findall("disable_collisions"):
        pair = (_required(element, "link1", path), _required(element, "link2", path))
        for link in pair:
            if link not in links:
                raise ConfigError(f"{path}: disable_collisions names {link!r}, which is no link")
        yield pair
