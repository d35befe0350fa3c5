"""Names and what they stand for: an entry is made where its class is defined, and read by all."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Any, Generic, Protocol, TypeVar

from bayes_curiosity_ros.errors import ConfigError, unknown_name

OURS = "bayes_curiosity_ros"
PLUGINS = "bayes_curiosity_ros.plugins"  # entry-point group of other people's packages


class Named(Protocol):
    """What every entry has."""

    @property
    def name(self) -> str:
        """What users type."""
        ...


EntryT = TypeVar("EntryT", bound=Named)
MakerT = TypeVar("MakerT", bound=Callable[..., Any])


class Registry(Generic[EntryT]):
    """Everything of one kind, by name.

    The modules that define entries are imported when a name is first asked for, package after
    package until it is found, and then what other installed packages offer as entry points of
    the group `bayes_curiosity_ros.plugins`. A module that needs a package which is not installed
    (a driver, on a machine without ROS) is left out, and errors say so.

    Args:
        kind: what an entry is, for error messages: "bonus", "task".
        entry: makes an entry from its name, its factory and keyword arguments.
        packages: dotted names of the packages whose modules define entries.
    """

    def __init__(self, kind: str, entry: Callable[..., EntryT], *packages: str) -> None:
        self.kind = kind
        self._entry = entry
        self._unread = list(packages)
        self._plugins_read = False
        self._left_out: list[str] = []
        self._entries: dict[str, EntryT] = {}

    def register(self, name: str, **about: Any) -> Callable[[MakerT], MakerT]:
        """Decorate a factory with its name and whatever else an entry of this kind says."""

        def decorate(make: MakerT) -> MakerT:
            self.add(self._entry(name=name, make=make, **about))
            return make

        return decorate

    def add(self, entry: EntryT) -> None:
        """Add an entry.

        Raises:
            ConfigError: the name is taken.
        """
        if entry.name in self._entries:
            raise ConfigError(f"there are two of {self.kind} {entry.name!r}; rename one")
        self._entries[entry.name] = entry

    def __getitem__(self, name: str) -> EntryT:
        """The entry of this name.

        Raises:
            ConfigError: there is none; the message lists the names there are.
        """
        while name not in self._entries and self._read_more():
            pass
        if name not in self._entries:
            raise ConfigError(
                "; ".join([unknown_name(self.kind, name, self._entries).args[0], *self._left_out])
            )
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def __iter__(self) -> Iterator[EntryT]:
        """All entries, by name."""
        return iter([self._entries[name] for name in self.names()])

    def names(self) -> tuple[str, ...]:
        """All names, sorted."""
        while self._read_more():
            pass
        return tuple(sorted(self._entries))

    def require(self, *names: str) -> None:
        """Check names before any work is spent.

        Raises:
            ConfigError: one is unknown; the message lists the names there are.
        """
        for name in names:
            _ = self[name]

    def _read_more(self) -> bool:
        """Import the next package that may define entries; False when all have been read."""
        if self._unread:
            self._left_out += import_modules(self._unread.pop(0))
            return True
        if self._plugins_read:
            return False
        self._plugins_read = True
        read_plugins()
        return True


def import_modules(package: str) -> list[str]:
    """Import every module of a package, those of its subpackages left out.

    Returns:
        A clause for each module that needs a package which is not installed.
    """
    left_out = []
    folder = importlib.import_module(package)
    for module in pkgutil.iter_modules(folder.__path__):
        if module.ispkg:
            continue
        try:
            importlib.import_module(f"{package}.{module.name}")
        except ModuleNotFoundError as error:
            missing = str(error.name).partition(".")[0]
            if missing == OURS:
                raise
            left_out.append(f"{package}.{module.name} needs {missing}, which is not installed")
    return left_out


def read_plugins() -> None:
    """Import what other installed packages register.

    Raises:
        ConfigError: one of them cannot be imported; the message names it.
    """
    for point in entry_points(group=PLUGINS):
        try:
            point.load()
        except ImportError as error:
            raise ConfigError(
                f"plugin {point.name!r} ({point.value}) cannot be imported: {error}; mend it or "
                "uninstall its package"
            ) from error
