"""A bag being read: ours, or of any rosbag2; whole, half-written or damaged."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from bayes_curiosity_ros.bags.checksums import KEY, check_text
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.mcap_file import McapReader
from bayes_curiosity_ros.bags.metadata import FILE_NAME, BagMetadata, Topic, parse
from bayes_curiosity_ros.bags.sqlite_file import SqliteReader
from bayes_curiosity_ros.bags.storage import Record, StorageReader
from bayes_curiosity_ros.resources import own_path

READERS: dict[str, Callable[[Path], StorageReader]] = {".mcap": McapReader, ".db3": SqliteReader}


class BagReader:
    """Messages of a bag in the order they were recorded.

    Args:
        path: a bag's folder, or one of its files.
        repairing: whether a damaged `metadata.yaml` is left out; else it is an error.

    Attributes:
        metadata: what `metadata.yaml` says; None where there is none.
        about: the run's description of itself, by name.
        topics: topics by name; complete once `records` has come to its end.
        losses: a sentence for everything that could not be read; complete likewise.
        checked: whether all of it has checksums; known likewise.

    Raises:
        BagError: there is no bag, or its metadata is damaged.
    """

    def __init__(self, path: Path | str, repairing: bool = False) -> None:
        self.path = own_path(path)
        self.checked = True
        self._repairing = repairing
        self.metadata: BagMetadata | None = None
        self.topics: dict[str, Topic] = {}
        self.about: dict[str, str] = {}
        self.losses: list[str] = []
        self._opening_losses: list[str] = []
        self._files = self._find_files()
        if self.metadata is None:
            self.about = _about(self._files[0])

    @property
    def files(self) -> tuple[Path, ...]:
        """In the order they are read."""
        return tuple(self._files)

    def records(self, types: Collection[str] | None = None) -> Iterator[Record]:
        """Every message that can be read, of these types where they are given."""
        self.losses = list(self._opening_losses)
        count = 0
        for file in self._files:
            reader = READERS[file.suffix](file)
            self.topics = reader.contents.topics = dict(self.topics)
            try:
                for record in reader.records(types):
                    count += 1
                    yield record
            except BagError as error:
                if len(self._files) == 1:
                    raise
                self.losses.append(str(error))
            self.about = {**reader.contents.about, **self.about}
            self.checked &= reader.contents.checked
            self.losses += reader.contents.losses
            count += reader.contents.skipped
        self._compare(count)

    def _find_files(self) -> list[Path]:
        if not self.path.exists():
            raise BagError(f"{self.path} does not exist")
        if self.path.is_file():
            return [self._known(self.path)]
        described = self.path / FILE_NAME
        if described.is_file() and self._describe(described):
            assert self.metadata is not None
            return self._listed(self.metadata)
        found = [file for file in self.path.iterdir() if file.suffix in READERS]
        if not found:
            raise BagError(
                f"{self.path} is not a bag: it has no {FILE_NAME}, no .mcap and no .db3 file"
            )
        if not self._opening_losses:
            self._opening_losses.append(
                f"{self.path.name} has no {FILE_NAME}: its recorder did not finish it"
            )
        return sorted(found, key=_number)

    def _describe(self, file: Path) -> bool:
        """Take in `metadata.yaml`; whether it counts."""
        text = file.read_text(errors="replace")
        try:
            self.checked = check_text(text, str(file))
            self.metadata = parse(text, str(file))
        except BagError as error:
            if not self._repairing:
                raise
            self._opening_losses.append(str(error))
            return False
        self.about = {key: value for key, value in self.metadata.custom.items() if key != KEY}
        self.topics = {name: topic for name, (topic, _) in self.metadata.topics.items()}
        return True

    def _listed(self, metadata: BagMetadata) -> list[Path]:
        files = []
        for info in metadata.files:
            file = self.path / Path(info.path).name
            if file.is_file():
                files.append(self._known(file))
            else:
                self._opening_losses.append(
                    f"{info.path} is missing: {info.message_count} messages are lost"
                )
        if not files:
            raise BagError(f"{self.path} has none of the files that its {FILE_NAME} lists")
        return files

    def _known(self, file: Path) -> Path:
        if file.suffix not in READERS:
            raise BagError(
                f"{file} is neither an .mcap nor a .db3 file; bags compressed as files or "
                "message by message have to be converted with `ros2 bag convert` first"
            )
        if file.stat().st_size == 0:
            raise BagError(f"{file} is empty")
        return file

    def _compare(self, count: int) -> None:
        """What the metadata promises and the files do not have is a loss too."""
        if self.metadata and count < self.metadata.message_count:
            self.losses.append(
                f"{self.path.name} should hold {self.metadata.message_count} messages; "
                f"{count} could be read, {self.metadata.message_count - count} are lost"
            )


def _about(file: Path) -> dict[str, str]:
    """What a file says of its run, which stands before its first message."""
    reader = READERS[file.suffix](file)
    with contextlib.suppress(BagError):
        next(reader.records(), None)
    return dict(reader.contents.about)


def _number(file: Path) -> tuple[int, str]:
    match = re.search(r"_(\d+)$", file.stem)
    return (int(match.group(1)) if match else 0, file.name)
