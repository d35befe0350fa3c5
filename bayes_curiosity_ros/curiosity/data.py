"""What a bonus sees: observations, and the transitions between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayes_curiosity_ros.errors import LengthError


@dataclass(frozen=True)
class Observations:
    """A batch of N observations.

    Attributes:
        vectors: (N, D) floats, for instance joint angles in [rad] and coordinates in [m].
        images: (N, C, H, W) or None. Floats: RGB in 0..1 and depth in [m]. uint8: every
            channel scaled to 0..255, 255 in the depth channel meaning the encoder's
            `max_depth_m`.
    """

    vectors: np.ndarray
    images: np.ndarray | None = None

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2:
            raise LengthError(
                f"vectors has shape {self.vectors.shape}; expected (count, size). "
                "For a single observation use vectors[None]"
            )
        if self.images is not None and len(self.images) != len(self.vectors):
            raise LengthError(f"{len(self.images)} images for {len(self.vectors)} vectors")

    def __len__(self) -> int:
        return len(self.vectors)

    def __getitem__(self, index: slice | np.ndarray) -> Observations:
        return Observations(
            self.vectors[index], None if self.images is None else self.images[index]
        )

    @staticmethod
    def concatenate(parts: Sequence[Observations]) -> Observations:
        """All parts one after the other; either all of them have images, or none."""
        vectors = np.concatenate([part.vectors for part in parts])
        images = [part.images for part in parts if part.images is not None]
        return Observations(vectors, np.concatenate(images) if images else None)


@dataclass(frozen=True)
class Transitions:
    """N steps (o_t, a_t, o_t+1); when they are one episode, in its order.

    Attributes:
        observations: o_t, the observations acted on.
        actions: (N, A) floats.
        next_observations: o_t+1, the observations reached.
    """

    observations: Observations
    actions: np.ndarray
    next_observations: Observations

    def __post_init__(self) -> None:
        lengths = (len(self.observations), len(self.actions), len(self.next_observations))
        if len(set(lengths)) != 1:
            raise LengthError(
                f"observations, actions and next observations differ in length: {lengths}"
            )

    def __len__(self) -> int:
        return len(self.actions)

    def __getitem__(self, index: slice) -> Transitions:
        return Transitions(
            self.observations[index], self.actions[index], self.next_observations[index]
        )

    def visited(self) -> Observations:
        """o_0 … o_T of an episode: the first observation and every one reached."""
        return Observations.concatenate([self.observations[:1], self.next_observations])


def rgbd_images(color: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Images of `Observations`, (N, 4, H, W) float32, from a camera's.

    Args:
        color: (N, H, W, 3) bytes, RGB.
        depth: (N, H, W) in [m].
    """
    images = np.empty((len(color), 4, *color.shape[1:3]), dtype=np.float32)
    np.multiply(color.transpose(0, 3, 1, 2), np.float32(1.0 / 255.0), out=images[:, :3])
    images[:, 3] = depth
    return images
