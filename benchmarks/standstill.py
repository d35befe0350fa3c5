"""How long an arm moves on after something fails: the fault table of docs/real_arm.md.

An arm node runs as a process of its own, over DDS, and drives an emulated arm of this process:
one on loopback TCP for `kortex`, a driver's node for `trajectory` and for the forward controllers.
While a stand-in for the learner keeps it moving, something fails. What is measured is the arm
itself, not what anybody says of it: from the fault to its last motion. READY must not be said in
between.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "test"))  # the emulated arms are those of the tests

from support.domains import hold_domain  # noqa: E402

DOMAIN, HELD = hold_domain()
os.environ.update(ROS_DOMAIN_ID=str(DOMAIN), ROS_AUTOMATIC_DISCOVERY_RANGE="LOCALHOST")

from bayes_curiosity_interfaces.msg import ArmStatus, Status  # noqa: E402
from bayes_curiosity_ros.bringup.arguments import defaults  # noqa: E402
from bayes_curiosity_ros.bringup.table import parameter_files  # noqa: E402
from bayes_curiosity_ros.nodes.background import BackgroundNode  # noqa: E402
from bayes_curiosity_ros.robot.config import RobotConfig  # noqa: E402
from bayes_curiosity_ros.robot.supervision import State  # noqa: E402
from support.driver import ARM, Driver  # noqa: E402
from support.graph import eventually, parameters  # noqa: E402
from support.joint_driver import JointDriver, StreamedDriver  # noqa: E402
from support.loopback_arm import PASSWORD, VENDOR, LoopbackArm  # noqa: E402

WAIT_S, SETTLE_S, WARM_UP_S = 60.0, 1.0, 1.0
BAR_S = 0.3
DELTA_RAD, STEP_S = 0.012, 0.1
ATTEMPTS = 3
COMMANDS, STATES = "driver/command", "driver/state"
DEAF = ("driver killed", "commands lost")


class NotMovingError(Exception):
    """The arm did not move when the fault was to strike: nothing was measured."""


@dataclass
class Rig:
    """One arm, its node, and who commands it.

    Attributes:
        hardware: the emulated arm.
        learner: commands the node and hears it.
        process: the node.
        statuses: (steady time, state) of every status.
        moving: set while commands are sent.
    """

    hardware: Any
    learner: Driver
    process: subprocess.Popen[str]
    statuses: list[tuple[float, int]] = field(default_factory=list)
    moving: threading.Event = field(default_factory=threading.Event)


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
    """

    name: str
    strike: Callable[[Rig], object]
    repair: Callable[[Rig], object] = lambda rig: None
    lasts_s: float = 0.0
    parameters: dict[str, object] = field(default_factory=dict)
    bar_s: float = BAR_S
    before: Callable[[Rig], object] = lambda rig: None


def cease(rig: Rig) -> None:
    rig.moving.clear()


def send(number: signal.Signals) -> Callable[[Rig], None]:
    return lambda rig: rig.process.send_signal(number)


def put(**changes: object) -> Callable[[Rig], None]:
    return lambda rig: vars(rig.hardware).update(changes)


def everywhere() -> list[Fault]:
    return [
        Fault("commands cease (learner killed or stopped)", cease),
        Fault("the same, use_sim_time without /clock", cease, parameters={"use_sim_time": True}),
        Fault("SIGINT to the arm node", send(signal.SIGINT)),
        Fault(
            "SIGINT, use_sim_time without /clock",
            send(signal.SIGINT),
            parameters={"use_sim_time": True},
        ),
        Fault("SIGSTOP of the arm node", send(signal.SIGSTOP), send(signal.SIGCONT), 2.0),
        Fault("SIGKILL of the arm node", send(signal.SIGKILL)),
    ]


def delays() -> list[Fault]:
    """A delay of a tenth of a second is borne with: there commands cease as well."""
    return [
        Fault(
            "commands cease, connection delayed by 0.1 s",
            cease,
            put(delay_s=0.0),
            1.0,
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
        Fault("states frozen", lambda rig: rig.hardware.freeze(), put(frozen=None), 2.0),
        Fault("fault in the base", put(fault=4)),
        Fault("SIGKILL of the guard", kill_guard),
        Fault(
            "SIGKILL of the arm node, arm that forgives silence",
            lambda rig: (put(forgives_silence=True)(rig), send(signal.SIGKILL)(rig)),
            put(forgives_silence=False),
            1.0,
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
        Fault("driver killed", put(silent=True, deaf=True), put(silent=False, deaf=False), 2.0),
        Fault("states cease", put(silent=True), put(silent=False), 2.0),
        Fault("states repeated", put(repeating=True), put(repeating=False), 2.0),
        Fault("states frozen", put(stuck=True), put(stuck=False), 2.0),
        Fault("commands lost", put(deaf=True), put(deaf=False), 2.0),
        *delays(),
    ]


def of_stream() -> list[Fault]:
    """Of a controller that hears no more, only the driver can end the motion."""
    return [fault for fault in of_trajectory() if fault.name not in DEAF]


@contextmanager
def kortex_hardware() -> Iterator[tuple[Any, dict[str, object], dict[str, str]]]:
    """The arm, parameters of its node, and its environment."""
    ready = RobotConfig.load("gen3.yaml").arm.ready_rad
    with LoopbackArm(np.degrees(ready) % 360.0) as hardware:
        paths = os.pathsep.join([str(VENDOR), os.environ.get("PYTHONPATH", "")])
        yield (
            hardware,
            {"backend": "kortex", "kortex__ip": "127.0.0.1", "kortex__port": hardware.port},
            {"KORTEX_PASSWORD": PASSWORD, "PYTHONPATH": paths},
        )


@contextmanager
def trajectory_hardware() -> Iterator[tuple[Any, dict[str, object], dict[str, str]]]:
    arm = RobotConfig.load("jaco.yaml").arm
    topics = {"trajectory__command_topic": COMMANDS, "trajectory__state_topic": STATES}
    with BackgroundNode("driver") as node:
        driver = JointDriver(node, arm.ready_rad, arm.joints, COMMANDS, STATES)
        yield driver, {"backend": "trajectory"} | topics, {}


def streamed_hardware(interface: str) -> Callable[[], Any]:
    """A forward controller that executes the last thing it heard."""

    @contextmanager
    def hardware() -> Iterator[tuple[Any, dict[str, object], dict[str, str]]]:
        arm = RobotConfig.load("jaco.yaml").arm
        given = {"trajectory__command_topic": COMMANDS, "trajectory__state_topic": STATES}
        given |= {"backend": "trajectory", "trajectory__interface": interface}
        velocities = interface == "forward_velocity"
        with BackgroundNode("driver") as node:
            yield (
                StreamedDriver(node, arm.ready_rad, arm.joints, COMMANDS, STATES, velocities),
                given,
                {},
            )

    return hardware


class SimulatedHardware:
    """The simulated arm, seen through its joint states."""

    def __init__(self, learner: Driver) -> None:
        self.learner = learner
        self.seen: list[tuple[float, np.ndarray]] = []

    @property
    def track(self) -> list[tuple[float, np.ndarray]]:
        while not self.learner.states.empty():
            message = self.learner.states.get()
            self.seen.append((time.monotonic(), np.array(message.positions[:6])))
        return self.seen


ARMS: dict[str, tuple[Any, Callable[[], list[Fault]]]] = {
    "sim": (None, list),
    "kortex": (kortex_hardware, of_kortex),
    "trajectory": (trajectory_hardware, of_trajectory),
    "forward_position": (streamed_hardware("forward_position"), of_trajectory),
    "forward_velocity": (streamed_hardware("forward_velocity"), of_stream),
}


def command(arm: str, given: dict[str, object]) -> list[str]:
    files = parameter_files(defaults() | {"arm": given["backend"]})
    words = [word for path in files for word in ("--params-file", str(path))]
    return [sys.executable, "-m", ARM, "--ros-args", *words, *parameters(**given)[1:]]


@contextmanager
def rigged(arm: str, fault: Fault) -> Iterator[Rig]:
    with ExitStack() as stack:
        background = stack.enter_context(BackgroundNode("learner"))
        learner = Driver(background)
        hardware, given, environment = SimulatedHardware(learner), {"backend": arm}, {}
        if ARMS[arm][0] is not None:
            hardware, given, environment = stack.enter_context(ARMS[arm][0]())
        log = stack.enter_context(tempfile.TemporaryFile("w+"))
        process = subprocess.Popen(
            command(arm, given | fault.parameters),
            env=os.environ | environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )
        rig = Rig(hardware, learner, process)
        background.node.create_subscription(
            ArmStatus, "arm/status", lambda m: rig.statuses.append((time.monotonic(), m.state)), 50
        )
        stack.callback(_end, process)
        yield rig


def _end(process: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGCONT)
        process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(15.0)
    process.kill()
    process.wait()


def drive(rig: Rig, episode: int) -> None:
    """Commands without a pause, there and back, until told to cease or something fails."""
    step = 0
    while rig.moving.is_set():
        away = DELTA_RAD if step // 20 % 2 == 0 else -DELTA_RAD
        rig.learner.act(episode, step, [away] * 6)
        step += 1
        try:
            eventually(rig.learner.states, lambda m, s=step: m.step == s, 1.0)
        except AssertionError:
            return


def last_motion(rig: Rig, since_s: float) -> float:
    """Time from `since_s` to the last change of a joint, in [s]."""
    track = [(when, joints) for when, joints in list(rig.hardware.track) if when >= since_s - 0.05]
    moved = [
        when
        for (_, before), (when, joints) in itertools.pairwise(track)
        if np.abs(np.subtract(joints, before)).max() > 1e-6
    ]
    return max(max(moved, default=since_s) - since_s, 0.0)


def ready_in_motion(rig: Rig, since_s: float) -> int:
    """Number of times that READY was said while the arm moved on."""
    return sum(
        state == ArmStatus.READY and last_motion(rig, when) > 0.02
        for when, state in rig.statuses
        if when > since_s
    )


def trial(rig: Rig, fault: Fault, episode: int) -> tuple[float, int, str, str]:
    """Time to standstill, times READY was wrong, and what the node said in the end."""
    answer = rig.learner.reset(episode, confirmed=True)
    assert answer.status.code == Status.OK, answer.status.message
    rig.moving.set()
    commands = threading.Thread(target=drive, args=(rig, episode), daemon=True)
    commands.start()
    fault.before(rig)
    time.sleep(WARM_UP_S + random.uniform(0.0, 0.2))  # in every phase of a step
    struck_s = time.monotonic()
    if not commands.is_alive() or last_motion(rig, struck_s - STEP_S) == 0.0:
        raise NotMovingError  # this machine was too busy for the commands to come in time
    fault.strike(rig)
    time.sleep(fault.lasts_s)
    fault.repair(rig)
    time.sleep(SETTLE_S)
    rig.moving.clear()
    commands.join(5.0)
    said = None
    while not rig.learner.status.empty():
        said = rig.learner.status.get()
    stopped_s, wrong = last_motion(rig, struck_s), ready_in_motion(rig, struck_s)
    state = State(said.state).name if said else "silent"
    return stopped_s, wrong, state, said.reason if said else ""


def measure(arm: str, fault: Fault, trials: int) -> dict[str, object]:
    """A row of the table."""
    rows: list[tuple[float, int, str, str]] = []
    for episode in range(1, ATTEMPTS * trials + 1):
        with suppress(NotMovingError, AssertionError), rigged(arm, fault) as rig:
            eventually(rig.learner.status, lambda m: m.state == ArmStatus.READY, WAIT_S)
            rows.append(trial(rig, fault, episode))
        if len(rows) == trials:
            break
    if not rows:
        rows.append((math.nan, 0, "not measured", "this machine was too busy to keep it moving"))
    times_s = [round(row[0], 3) for row in rows]
    return {
        "arm": arm,
        "fault": fault.name,
        "standstill_s": times_s,
        "p100_s": max(times_s),
        "bar_s": fault.bar_s,
        "ready_while_moving": sum(row[1] for row in rows),
        "state": rows[-1][2],
        "reason": rows[-1][3],
    }


def table(path: Path) -> str:
    """The rows of a file as the table of docs/real_arm.md: a line per fault, a column per arm."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    arms = list(dict.fromkeys(row["arm"] for row in rows))
    lines = [f"| fault | {' | '.join(arms)} |", f"|---|{'---|' * len(arms)}"]
    for fault in dict.fromkeys(row["fault"] for row in rows):
        found = {row["arm"]: f"{row['p100_s']:.2f}" for row in rows if row["fault"] == fault}
        lines.append(f"| {fault} | {' | '.join(found.get(arm, '') for arm in arms)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS))
    parser.add_argument("--only", default="", help="faults whose name contains this")
    parser.add_argument("--trials", type=int, default=3, help="trials of each fault")
    parser.add_argument("--output", type=Path, help="file to append the rows to, as JSON lines")
    parser.add_argument("--table", type=Path, help="print the table of such a file, and end")
    arguments = parser.parse_args()
    if arguments.table:
        print(table(arguments.table))
        return 0
    good = True
    for arm in arguments.arms:
        for fault in [*everywhere(), *ARMS[arm][1]()]:
            if arguments.only not in fault.name:
                continue
            row = measure(arm, fault, arguments.trials)
            good &= row["p100_s"] <= fault.bar_s and not row["ready_while_moving"]
            line = json.dumps(row, ensure_ascii=False)
            print(line, flush=True)
            if arguments.output:
                with arguments.output.open("a") as file:
                    file.write(line + "\n")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
