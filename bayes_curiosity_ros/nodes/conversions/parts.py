"""What nodes say of themselves, as the operator's page shows it."""

from __future__ import annotations

from collections.abc import Iterator

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from bayes_curiosity_interfaces.msg import ArmStatus, CuriosityState, LearnerStatus
from bayes_curiosity_ros.monitor.situation import Level, Part
from bayes_curiosity_ros.robot.supervision import State

ARM_LEVELS = {
    State.INACTIVE: Level.QUIET,
    State.READY: Level.OK,
    State.MOVING: Level.OK,
    State.STOPPED: Level.ERROR,
    State.FAULT: Level.ERROR,
    State.WAITING_FOR_OPERATOR: Level.WARN,
}
LEARNER = {
    LearnerStatus.RUNNING: ("running", Level.OK),
    LearnerStatus.PAUSED: ("paused", Level.WARN),
    LearnerStatus.FINISHED: ("finished", Level.QUIET),
    LearnerStatus.FAILED: ("failed", Level.ERROR),
}
REJECTED = " rejected: "
SHOWN = ("episodes", "messages", "dropped", "lost")


def part_of_arm(status: ArmStatus) -> Part:
    """The arm: its state, why, and how many commands."""
    state = State(status.state)
    numbers = {"accepted": status.accepted, "limited": status.limited}
    numbers |= {"rejected": status.rejected, "stops": status.stops}
    words = state.name.lower().replace("_", " ") + (", dry run" if status.dry_run else "")
    words += ", driven by a person" if status.driver == ArmStatus.OPERATOR else ""
    return Part(words, ARM_LEVELS[state], status.reason, _texts(numbers), speaks=True)


def part_of_learner(status: LearnerStatus) -> Part:
    """The learner: its state, why, and how far it is."""
    state, level = LEARNER[status.state]
    numbers = {"episodes": status.episodes, "steps": status.timesteps}
    numbers |= {"updates": status.iterations, "steps/s": f"{status.steps_per_second:.1f}"}
    about = f"{status.algorithm} with {status.bonus} on {status.task}"
    return Part(f"{state}, {about}", level, status.reason, _texts(numbers))


def part_of_curiosity(state: CuriosityState) -> Part:
    """The curiosity: what it has taken in, and what it gained by it."""
    encoder = "trained encoder" if state.trained else "random encoder"
    numbers = {"observations": state.observations, "episodes": state.episodes}
    gained = f"{state.information:.1f} nats gained"
    return Part(f"{gained}, {encoder}", Level.OK, "", _texts(numbers))


def part_of_diagnostic(status: DiagnosticStatus) -> Part:
    """Anything that reports as diagnostics do."""
    level = Level(min(int.from_bytes(status.level, "little"), int(Level.QUIET)))
    numbers = {each.key: each.value for each in status.values if each.key in SHOWN}
    return Part(status.message, level, "", _texts(numbers))


def parts_of_diagnostics(array: DiagnosticArray) -> Iterator[tuple[str, Part]]:
    """Each report of an array, by its name."""
    for status in array.status:
        yield status.name, part_of_diagnostic(status)


def rejection_of(status: ArmStatus) -> str:
    """What the arm refused just now; empty if nothing."""
    return str(status.reason) if REJECTED in status.reason else ""


def _texts(numbers: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in numbers.items()}
