"""What may fail around an arm in motion, and how the emulated arms are made to fail so."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks._rigs import Rig

BAR_S = 0.3
FROZEN_BAR_S = 0.4  # two steps without a change, to be told from a slow start
DEAF = ("driver killed", "commands lost")


@dataclass(frozen=True)
class Fault:
    """Something that fails.

    Attributes:
        name: what, for the table.
        strike: makes it fail.
        repair: makes it work again, after `lasts_s`.
        lasts_s: how long it fails.
        parameters: of the node, where they differ.
        bar_s: longest time to standstill that is called good.
        before: makes ready what the fault needs, a while before it.
        ends_node: whether the node does not outlive it.
    """

    name: str
    strike: Callable[[Rig], object]
    repair: Callable[[Rig], object] = lambda rig: None
    lasts_s: float = 0.0
    parameters: dict[str, object] = field(default_factory=dict)
    bar_s: float = BAR_S
    before: Callable[[Rig], object] = lambda rig: None
    ends_node: bool = False


def cease(rig: Rig) -> None:
    rig.moving.clear()


def send(number: signal.Signals) -> Callable[[Rig], None]:
    return lambda rig: rig.process.send_signal(number)


def put(**changes: object) -> Callable[[Rig], None]:
    return lambda rig: vars(rig.hardware).update(changes)


def everywhere() -> list[Fault]:
    """What may fail with any arm, a simulated one too."""
    return [
        Fault("commands cease (learner killed or stopped)", cease),
        Fault("the same, use_sim_time without /clock", cease, parameters={"use_sim_time": True}),
        Fault("SIGINT to the arm node", send(signal.SIGINT), ends_node=True),
        Fault(
            "SIGINT, use_sim_time without /clock",
            send(signal.SIGINT),
            parameters={"use_sim_time": True},
            ends_node=True,
        ),
        Fault("SIGKILL of the arm node", send(signal.SIGKILL), ends_node=True),
    ]


def with_hardware() -> list[Fault]:
    """What may fail with an arm that moves without its node; a simulated one stops with it."""
    return [
        *everywhere(),
        Fault("SIGSTOP of the arm node", send(signal.SIGSTOP), send(signal.SIGCONT), 2.0),
    ]


def delays() -> list[Fault]:
    """A delay of a tenth of a second is borne with: there commands cease as well.

    It comes three times: with the last command, the state that ends its step, and the stop.
    """
    return [
        Fault(
            "commands cease, connection delayed by 0.1 s",
            cease,
            put(delay_s=0.0),
            1.0,
            bar_s=3 * 0.1 + BAR_S,
            before=put(delay_s=0.1),
        ),
    ] + [
        Fault(f"connection delayed by {delay_s} s", put(delay_s=delay_s), put(delay_s=0.0), 4.0)
        for delay_s in (0.3, 1.0, 3.0)
    ]


def drop(rig: Rig) -> None:
    rig.hardware.drop()


def cut(rig: Rig) -> None:
    rig.hardware.unreachable = True
    rig.hardware.drop()


def kill_guard(rig: Rig) -> None:
    """The guard is the only child of the node."""
    children = Path(f"/proc/{rig.process.pid}/task").glob("*/children")
    for number in " ".join(path.read_text() for path in children).split():
        os.kill(int(number), signal.SIGKILL)


def of_kortex() -> list[Fault]:
    refused = put(refuses={"Stop"})
    return [
        *with_hardware(),
        Fault("connection dropped", drop),
        Fault("connection cut for 3 s", cut, put(unreachable=False), 3.0),
        Fault("requests lost for 1.6 s", put(silent=True), put(silent=False), 1.6),
        *delays(),
        Fault(
            "commands cease, stop refused for 0.5 s",
            lambda rig: (refused(rig), cease(rig)),
            put(refuses=set()),
            0.5,
            bar_s=0.5 + BAR_S,
        ),
        Fault(
            "states frozen",
            lambda rig: rig.hardware.freeze(),
            put(frozen=None),
            2.0,
            bar_s=FROZEN_BAR_S,
        ),
        Fault("fault in the base", put(fault=4)),
        Fault("SIGKILL of the guard", kill_guard),
        Fault(
            "SIGKILL of the arm node, arm that forgives silence",
            lambda rig: (put(forgives_silence=True)(rig), send(signal.SIGKILL)(rig)),
            put(forgives_silence=False),
            1.0,
            ends_node=True,
        ),
        Fault(
            "SIGSTOP of the arm node, arm that forgives silence",
            lambda rig: (put(forgives_silence=True)(rig), send(signal.SIGSTOP)(rig)),
            lambda rig: (put(forgives_silence=False)(rig), send(signal.SIGCONT)(rig)),
            2.0,
        ),
    ]


def of_trajectory() -> list[Fault]:
    return [
        *with_hardware(),
        Fault("driver killed", put(silent=True, deaf=True), put(silent=False, deaf=False), 2.0),
        Fault("states cease", put(silent=True), put(silent=False), 2.0),
        Fault("states repeated", put(repeating=True), put(repeating=False), 2.0),
        Fault("states frozen", put(stuck=True), put(stuck=False), 2.0, bar_s=FROZEN_BAR_S),
        Fault("commands lost", put(deaf=True), put(deaf=False), 2.0),
        *delays(),
    ]


def of_stream() -> list[Fault]:
    """Of a controller that hears no more, only the driver can end the motion."""
    heard = [fault for fault in of_trajectory() if fault.name not in DEAF]
    return [*heard, Fault("SIGKILL of the guard", kill_guard)]
