"""Adam on one flat vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor


class Adam:
    """Kingma and Ba's Adam, equal to torch.optim.Adam, without its per-call overhead."""

    def __init__(
        self,
        parameters: Tensor,
        learning_rate: float,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
    ) -> None:
        self.parameters = parameters
        self.learning_rate = learning_rate
        self.betas = betas
        self.epsilon = epsilon
        self.first = torch.zeros_like(parameters)
        self.second = torch.zeros_like(parameters)
        self.count = 0

    def descend(self, gradient: Tensor) -> None:
        """One step against the gradient, in place."""
        beta_1, beta_2 = self.betas
        self.count += 1
        self.first.lerp_(gradient, 1 - beta_1)
        self.second.mul_(beta_2).addcmul_(gradient, gradient, value=1 - beta_2)
        root = (1 - beta_2**self.count) ** 0.5
        spread = self.second.sqrt().div_(root).add_(self.epsilon)
        rate = self.learning_rate / (1 - beta_1**self.count)
        self.parameters.addcdiv_(self.first, spread, value=-rate)

    def state_dict(self) -> dict[str, Any]:
        """Moments and count."""
        return {"first": self.first, "second": self.second, "count": self.count}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.first.copy_(state["first"])
        self.second.copy_(state["second"])
        self.count = int(state["count"])
