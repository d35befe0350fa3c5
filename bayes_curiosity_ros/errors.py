"""The one exception base of the package."""

from __future__ import annotations

from collections.abc import Iterable


class BayesCuriosityError(Exception):
    """Base of every error raised on purpose; its message names value, bound and next step."""


class ConfigError(BayesCuriosityError):
    """A setting is out of its bounds or unknown."""


class InputError(BayesCuriosityError):
    """Data handed in has the wrong shape, type or values."""


class LengthError(InputError):
    """Arrays do not fit the expected sizes, or each other."""


class NotFiniteError(InputError):
    """A value is NaN, infinite or beyond the stated range."""


class ImageError(InputError):
    """Images are missing, unwanted, or of another size or type."""


class EmptyBatchError(InputError):
    """A batch of no observations."""


class BatchTooLargeError(InputError):
    """More observations at once than the stated limit."""


class AlreadyUpdatedError(InputError):
    """An episode was offered twice."""


class StepError(InputError):
    """An (episode, step) out of order or repeated."""


class ModelFileError(BayesCuriosityError):
    """A file of ours is missing, damaged or of another kind."""


class DamagedFileError(ModelFileError):
    """A file is not there, or not as it was written."""


def unknown_name(kind: str, name: object, valid: Iterable[str]) -> ConfigError:
    """An error that lists the valid names."""
    return ConfigError(f"unknown {kind} {name!r}; choose one of: {', '.join(sorted(valid))}")
