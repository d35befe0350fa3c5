"""Adam (Kingma and Ba 2015) for a flat vector of parameters; the arithmetic is PyTorch's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam


class Adam:
    """`torch.optim.Adam`, bit for bit, less its overhead per call: networks here are small.

    Args:
        parameters: changed in place.
        learning_rate: size of a step.
        betas: how slowly the two moments forget.
        epsilon: added to the second moment's root.
        fused: all of a step in one pass over memory, as `torch.optim.Adam(fused=True)`; twice as
            fast from 10⁵ parameters on.
    """

    def __init__(
        self,
        parameters: Tensor,
        learning_rate: float,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        fused: bool = False,
    ) -> None:
        self.parameters = parameters
        self.first = torch.zeros_like(parameters)
        self.second = torch.zeros_like(parameters)
        self.count = torch.zeros(())
        self.learning_rate = learning_rate
        self.betas = betas
        self.epsilon = epsilon
        self.fused = fused

    @classmethod
    def stacked(cls, optimizers: Sequence[Adam], parameters: Tensor) -> Adam:
        """One for the parameters (S, P) of S networks, with copies of these optimizers' state."""
        one = optimizers[0]
        whole = cls(parameters, one.learning_rate, one.betas, one.epsilon, one.fused)
        for name in one.state_dict():
            setattr(whole, name, torch.stack([getattr(each, name) for each in optimizers]))
        return whole

    def descend(self, gradient: Tensor) -> None:
        """One step against the gradient, in place."""
        adam(
            self._rows(self.parameters),
            self._rows(gradient),
            self._rows(self.first),
            self._rows(self.second),
            [],
            self._rows(self.count),
            foreach=False,
            fused=self.fused,
            amsgrad=False,
            maximize=False,
            lr=self.learning_rate,
            beta1=self.betas[0],
            beta2=self.betas[1],
            eps=self.epsilon,
            weight_decay=0.0,
        )

    def _rows(self, values: Tensor) -> list[Tensor]:
        """Of each network that is optimised."""
        return list(values.unbind()) if self.count.dim() else [values]

    def state_dict(self) -> dict[str, Any]:
        """Moments and count."""
        return {"first": self.first, "second": self.second, "count": self.count}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.first.copy_(state["first"])
        self.second.copy_(state["second"])
        self.count.copy_(state["count"])
