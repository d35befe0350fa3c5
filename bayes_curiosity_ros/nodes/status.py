"""From an error made on purpose to a status code and a sentence."""

from __future__ import annotations

from bayes_curiosity_interfaces.msg import Status
from bayes_curiosity_ros.errors import (
    AlreadyUpdatedError,
    BatchTooLargeError,
    BayesCuriosityError,
    EmptyBatchError,
    ImageError,
    LengthError,
    ModelFileError,
    NotFiniteError,
    StepError,
)
from bayes_curiosity_ros.robot.arms.arm import ArmError, ArmStoppedError
from bayes_curiosity_ros.robot.supervision import NotReadyError
from bayes_curiosity_ros.runs import OtherRunError

LONGEST = 500  # characters of a sentence
CODES: dict[type, int] = {
    LengthError: Status.WRONG_LENGTH,
    NotFiniteError: Status.NOT_FINITE,
    ImageError: Status.WRONG_IMAGE,
    EmptyBatchError: Status.EMPTY_BATCH,
    BatchTooLargeError: Status.BATCH_TOO_LARGE,
    AlreadyUpdatedError: Status.ALREADY_UPDATED,
    ModelFileError: Status.BAD_FILE,
    StepError: Status.WRONG_STEP,
    NotReadyError: Status.NOT_READY,
    ArmStoppedError: Status.STOPPED,
    ArmError: Status.FAULT,
    OtherRunError: Status.OTHER_RUN,
}


def status_of(error: Exception) -> Status:
    """The status that reports `error`."""
    code = next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), Status.REJECTED)
    return Status(code=code, message=shortened(error))


def shortened(error: Exception) -> str:
    """An error in words, as many as a status may have; one that nobody foresaw with its kind."""
    return cut(str(error) if isinstance(error, BayesCuriosityError) else f"unexpected {error!r}")


def cut(words: str) -> str:
    """What fits into a status."""
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"
