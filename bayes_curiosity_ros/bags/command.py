"""`bayes-curiosity bag info | episodes | export | repair`: what is in a bag."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from bayes_curiosity_ros.bags.decode import decode
from bayes_curiosity_ros.bags.episode import SUMMARY, Episode, read_episodes
from bayes_curiosity_ros.bags.errors import BagError
from bayes_curiosity_ros.bags.exports.registry import EXPORTS, ExportSource
from bayes_curiosity_ros.bags.exports.registry import export as write_export
from bayes_curiosity_ros.bags.ledger import BEFORE, Ledgers, Verdict
from bayes_curiosity_ros.bags.metadata import Topic
from bayes_curiosity_ros.bags.player import parse_selection
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.bags.writer import BagWriter
from bayes_curiosity_ros.configuration.ranges import whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One sub-subcommand per question."""
    questions = parser.add_subparsers(dest="question", required=True, metavar="WHAT")
    for name, summary, answer in (
        ("info", "run, files, topics, what is missing; exit code 1 if something is", info),
        ("episodes", "one line per episode", list_episodes),
        ("export", "episodes as files of another format", export),
        ("repair", "a whole bag of what a broken one still has", repair),
    ):
        sub = questions.add_parser(
            name, help=summary, description=summary, formatter_class=parser.formatter_class
        )
        sub.add_argument("bag", help="a bag's folder, or one of its files")
        sub.set_defaults(answer=answer)
        if name == "repair":
            sub.add_argument("output", type=Path, help="folder of the new bag")
        if name in ("episodes", "export"):
            sub.add_argument("--namespace", default="", help="of the recorded graph")
            sub.add_argument("--episodes", default="", help="such as 3 or 3,5-8; all if absent")
        if name == "export":
            _add_export_arguments(sub)


def _add_export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=EXPORTS.names(), default="npz", help="of the files")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("output/episodes"),
        help="; ".join(f"{entry.name}: {entry.output}" for entry in EXPORTS),
    )
    parser.add_argument(
        "--fps",
        type=whole("--fps", 0, 1000),
        default=0,
        help="frames per second of a LeRobot dataset; 0: by stamps",
    )


def run(arguments: argparse.Namespace) -> int:
    """Answer the question."""
    return int(arguments.answer(arguments))


def info(arguments: argparse.Namespace) -> int:
    """Run, files, topics, and what is missing: 0 if nothing is, else 1."""
    reader = BagReader(arguments.bag)
    ledger = Ledgers(reader.about.get(BEFORE, ""))
    known: set[str] = set()
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    first = last = None
    driven = 0
    for record in reader.records():
        if record.topic not in known:
            known.add(record.topic)
            ledger.add_topic(reader.topics[record.topic])
        ledger.take(record)
        driven += _driven_steps(reader.topics[record.topic], record)
        counts[record.topic] += 1
        sizes[record.topic] += len(record.data)
        first = record.received_ns if first is None else min(first, record.received_ns)
        last = record.received_ns if last is None else max(last, record.received_ns)
    duration = 0.0 if first is None or last is None else (last - first) * 1e-9
    print(f"{reader.path}: {sum(counts.values())} messages in {duration:.1f} s")
    for file in reader.files:
        print(f"  {file.name}  {file.stat().st_size / 1e6:.2f} MB")
    for key, value in reader.about.items():
        if value and key not in ("episodes", "complete", "lacking"):
            print(f"  {key}: {value if len(value) < 200 else value[:200] + ' …'}")
    width = max((len(name) for name in reader.topics), default=0)
    for name, topic in sorted(reader.topics.items()):
        size = f"{sizes[name] / 1e6:9.2f} MB"
        print(f"  {name:{width}}  {counts[name]:8d}  {size}  {topic.type_name}")
    _say_losses(reader)
    print(f"checksums: {'yes' if reader.checked else 'none, so damage may go unnoticed'}")
    verdict = _with_remarks(ledger.close(), reader)
    if driven:
        print(f"a person drove {driven} steps")
    closed = "" if reader.metadata else "not closed; "
    print(f"{closed}episodes {verdict.episodes}; {verdict.sentence()}")
    return 0 if verdict.complete and reader.metadata and not reader.losses else 1


def _driven_steps(topic: Topic, record: Record) -> int:
    """Steps that a person drove, by the summary of an episode; 0 of any other message."""
    if topic.type_name != SUMMARY:
        return 0
    with suppress(BagError):  # that it is damaged is told elsewhere
        return int(getattr(decode(topic, record.data), "operator_steps", 0))
    return 0


def _with_remarks(verdict: Verdict, reader: BagReader) -> Verdict:
    """What its messages say of a bag, and what its recorder knew besides."""
    lacking = dict.fromkeys([*verdict.lacking, *_remarks(reader)])
    return replace(verdict, lacking=tuple(lacking))


def _remarks(reader: BagReader) -> list[str]:
    """What is missing in a bag, as its recorder said."""
    try:
        return [str(each) for each in json.loads(reader.about.get("lacking", "[]"))]
    except (ValueError, TypeError):
        return [f"what its recorder missed cannot be read: {reader.about['lacking']!r}"]


def list_episodes(arguments: argparse.Namespace) -> int:
    """One line per episode."""
    reader = BagReader(arguments.bag)
    print("episode  steps  outcome     return  intrinsic  faults")
    count = 0
    for episode in _selected(reader, arguments):
        count += 1
        paid = np.nansum(episode.reward[1:])
        print(
            f"{episode.id:7d}  {max(len(episode) - 1, 0):5d}  {episode.outcome or '?':10s}"
            f"{episode.extrinsic_return:8.2f}  {paid:9.3f}  {'; '.join(episode.faults)}"
        )
    print(f"{count} episodes")
    return _say_losses(reader)


def export(arguments: argparse.Namespace) -> int:
    """Episodes as files."""
    reader = BagReader(arguments.bag)
    about = {key: value for key, value in reader.about.items() if key != "episodes"}
    source = ExportSource(_selected(reader, arguments), about, arguments.fps)
    done = write_export(arguments.format, arguments.output, source)
    reader.losses += done.left_out
    print(f"{done.episodes} episodes in {done.path}")
    return _say_losses(reader)


def repair(arguments: argparse.Namespace) -> int:
    """A whole bag of what a broken one still has, for tools that need an index."""
    reader = BagReader(arguments.bag, repairing=True)
    for _ in reader.records():  # to know the description before the new bag begins
        pass
    about = {**reader.about, "repaired_from": reader.path.name, "losses": str(len(reader.losses))}
    for key in ("episodes", "complete", "lacking"):  # which the new bag has of its own
        about.pop(key, None)
    lacking = [*_remarks(reader), *reader.losses]
    bag = BagWriter(arguments.output, about=about)
    for topic in reader.topics.values():
        bag.add_topic(topic)
    count = 0
    for record in reader.records():
        bag.write(record)
        count += 1
    bag.close(lacking=lacking)
    print(f"{count} messages of {bag.episodes} episodes in {arguments.output}")
    return _say_losses(reader)


def _selected(reader: BagReader, arguments: argparse.Namespace) -> Iterator[Episode]:
    return read_episodes(reader, arguments.namespace, parse_selection(arguments.episodes))


def _say_losses(reader: BagReader) -> int:
    for loss in reader.losses:
        print(f"lost: {loss}")
    return 0
