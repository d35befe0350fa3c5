"""How much can be recorded without loss, at what cost; how fast are episodes read again?

Recording: the real recorder node, in its process, hears another process over real DDS. The floor
is the mcap package's own writer and reader on the same messages, with no ROS and no thread; our
writer is built on that one, so its ratio says what a bag costs besides the file.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcap.reader import make_reader
from mcap.writer import CompressionType
from mcap.writer import Writer as PlainWriter
from rosbags.rosbag2 import Reader as RosbagsReader
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from bayes_curiosity_ros.bags.episode import read_episodes
from bayes_curiosity_ros.bags.peek import STEP_TYPES
from bayes_curiosity_ros.bags.reader import BagReader
from bayes_curiosity_ros.bags.storage import Record
from bayes_curiosity_ros.bags.writer import BagWriter
from benchmarks._domain import private_domain
from benchmarks._report import report

SECONDS = 10.0
RATE = 2500.0  # messages per second that are offered
BAR_RATE = 2000.0
BAR_SHARE = 0.5


def main() -> None:
    """Print `bags/record/…` and `bags/read/…`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        messages, seconds, cpu_s = record(path)
        reader = BagReader(path)
        records = list(reader.records())
        dropped = messages - sum(1 for r in records if r.topic != "/diagnostics")
        rate, megabytes = len(records) / seconds, sum(len(r.data) for r in records) / 1e6
        plain = len(records) / timed(lambda: write_plainly(Path(folder) / "plain.mcap", records))
        note = f"{megabytes / seconds:.1f} MB/s with RGBD 64 × 64 frames; peer: "
        report(
            "bags/record/messages_per_s", rate, BAR_RATE, unit="messages/s",
            higher_is_better=True, note=note + "the bar; offered: " + str(int(RATE)),
        )  # fmt: skip
        report(
            "bags/record/drops", 1 + dropped, 1, unit="1 + messages",
            higher_is_better=False, note=f"{dropped} of {messages} are not in the bag; bar: 0",
        )  # fmt: skip
        report(
            "bags/record/core_share", cpu_s / seconds, BAR_SHARE, unit="cores",
            higher_is_better=False, note="CPU time of the recorder's process; peer: the bar",
        )  # fmt: skip
        ours = timed(lambda: rewrite(Path(folder) / "ours", reader, records))
        report(
            "bags/write/messages_per_s/mcap", len(records) / ours, plain, unit="messages/s",
            higher_is_better=True, note="no ROS; peer: the mcap package's writer, uncompressed",
        )  # fmt: skip
        compare_reading(path)


def record(path: Path) -> tuple[int, float, float]:
    """Messages sent, for how long in [s], and the recorder's CPU time meanwhile in [s]."""
    private_domain()
    node = [sys.executable, "-m", "bayes_curiosity_ros.nodes.recorder_node", "--ros-args"]
    place = ["-p", f"folder:={path.parent}", "-p", f"name:={path.name}"]
    recorder = subprocess.Popen([*node, *place], stdout=subprocess.DEVNULL)
    traffic = subprocess.Popen(
        [sys.executable, "-m", "benchmarks._bag_traffic", str(SECONDS), str(RATE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert traffic.stdin is not None
    assert traffic.stdout is not None
    try:
        if traffic.stdout.readline().strip() != "begin":
            raise RuntimeError("no traffic")
        before = cpu_seconds(recorder.pid)
        traffic.stdin.write("\n")
        traffic.stdin.flush()
        sent, seconds = traffic.stdout.readline().split()
        used = cpu_seconds(recorder.pid) - before
        traffic.wait(timeout=20)
    finally:
        traffic.kill()
        recorder.send_signal(signal.SIGINT)
        recorder.wait(timeout=30)
    return int(sent), float(seconds), used


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_plainly(path: Path, records: list[Record]) -> None:
    """The floor: the mcap package's writer."""
    with path.open("wb") as file:
        writer = PlainWriter(file, compression=CompressionType.NONE)
        writer.start(profile="ros2")
        channels: dict[str, int] = {}
        for record in records:
            if record.topic not in channels:
                schema = writer.register_schema(record.topic, "ros2msg", b"")
                channels[record.topic] = writer.register_channel(record.topic, "cdr", schema)
            writer.add_message(
                channels[record.topic], record.received_ns, record.data, record.sent_ns
            )
        writer.finish()


def rewrite(path: Path, reader: BagReader, records: list[Record]) -> None:
    """The same with ours."""
    bag = BagWriter(path)
    for topic in reader.topics.values():
        bag.add_topic(topic)
    for record in records:
        bag.write(record)
    bag.close()


def compare_reading(path: Path) -> None:
    """Episodes as arrays per second, against decoding and dropping the same messages."""
    count = sum(1 for _ in read_episodes(BagReader(path)))
    ours = timed(lambda: sum(1 for _ in read_episodes(BagReader(path))))
    floor = timed(lambda: read_raw(path))
    stores = compiled(path)
    read_with_rosbags(path, stores)
    peer = timed(lambda: read_with_rosbags(path, stores))
    report(
        "bags/read/episodes_per_s", count / ours, count / peer, unit="episodes/s",
        higher_is_better=True,
        note="50 steps each, as arrays; peer: rosbags decodes the same messages and drops them",
    )  # fmt: skip
    report(
        "bags/read/episodes_per_s/raw", count / ours, count / floor, unit="episodes/s",
        higher_is_better=True, note="floor: the mcap package only finds all messages, undecoded",
    )  # fmt: skip


def read_raw(path: Path) -> int:
    """Every message as bytes, by the mcap package."""
    with next(path.glob("*.mcap")).open("rb") as file:
        return sum(1 for _ in make_reader(file).iter_messages(log_time_order=False))


def compiled(path: Path) -> dict[str, Any]:
    """What rosbags needs to decode the messages of steps; not timed, as ours is kept too."""
    with RosbagsReader(path) as reader:
        stores = {}
        for connection in reader.connections:
            if connection.msgtype in STEP_TYPES:
                stores[connection.msgtype] = store = get_typestore(Stores.EMPTY)
                store.register(get_types_from_msg(connection.msgdef.data, connection.msgtype))
        return stores


def read_with_rosbags(path: Path, stores: dict[str, Any]) -> int:
    """The messages of steps, decoded by rosbags."""
    count = 0
    with RosbagsReader(path) as reader:
        wanted = [c for c in reader.connections if c.msgtype in stores]
        for connection, _, data in reader.messages(wanted):
            store = stores[connection.msgtype]
            kind = store.get_msgdef(connection.msgtype)
            kind.deserialize_cdr_le(data[4:], 0, kind.cls, store)
            count += 1
    return count


def timed(call: Callable[[], object]) -> float:
    """CPU time of one call in [s]."""
    began = resource.getrusage(resource.RUSAGE_SELF)
    wall = time.perf_counter()
    call()
    ended = resource.getrusage(resource.RUSAGE_SELF)
    used = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    return used or time.perf_counter() - wall


if __name__ == "__main__":
    main()
