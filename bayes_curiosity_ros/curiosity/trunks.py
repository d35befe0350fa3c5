"""From images to a few numbers: the part of an encoder that sees."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from bayes_curiosity_ros.curiosity.inputs import undrawn

IMAGE_TRUNKS = ("flat", "keypoints")
IMAGE_TRUNK_SIZE = 64
# A fresh map is nearly flat, its mean position nearly constant, and hardly anything would be
# learnt. These make it respond from the first step: measured, the loss falls twice as fast.
SHARPNESS = 10.0
SPREAD = 3.0


def image_trunk(kind: str, image_shape: tuple[int, int, int]) -> nn.Module:
    """(N, C, H, W) in 0..1 to (N, IMAGE_TRUNK_SIZE), weights undrawn; `kind` of IMAGE_TRUNKS."""
    return {"flat": _flat, "keypoints": Keypoints}[kind](image_shape)


def _flat(image_shape: tuple[int, int, int]) -> nn.Sequential:
    """Two strided convolutions and a linear layer."""
    channels, height, width = image_shape
    convolutions = nn.Sequential(
        undrawn(nn.Conv2d, channels, 16, kernel_size=4, stride=4),
        nn.ReLU(),
        undrawn(nn.Conv2d, 16, 32, kernel_size=3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
    )
    with torch.no_grad():
        size = convolutions(torch.zeros(1, channels, height, width)).shape[1]
    return nn.Sequential(convolutions, undrawn(nn.Linear, size, IMAGE_TRUNK_SIZE), nn.Tanh())


class Keypoints(nn.Module):
    """Where in the image each of 32 learnt patterns is: a soft maximum's mean row and column.

    After Finn et al., "Deep spatial autoencoders for visuomotor learning", ICRA 2016. Positions
    come out as numbers, whichever pixel they were learnt at, so that few placements suffice.
    """

    grid: Tensor

    def __init__(self, image_shape: tuple[int, int, int]) -> None:
        super().__init__()
        channels, height, width = image_shape
        self.maps = nn.Sequential(
            undrawn(nn.Conv2d, channels, 16, kernel_size=4, stride=4),
            nn.ReLU(),
            undrawn(nn.Conv2d, 16, IMAGE_TRUNK_SIZE // 2, kernel_size=3, padding=1),
        )
        rows = torch.linspace(-SPREAD, SPREAD, height // 4)
        columns = torch.linspace(-SPREAD, SPREAD, width // 4)
        grid = torch.cartesian_prod(rows, columns)
        self.register_buffer("grid", grid, persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        weights = torch.softmax(SHARPNESS * self.maps(images).flatten(2), dim=2)
        return (weights @ self.grid).flatten(1)
