"""A curiosity node's services, called as its clients call them."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_interfaces.msg import ObservationBatch
from bayes_curiosity_interfaces.srv import Evaluate, ModelFile, Reset, Update
from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.nodes.background import BackgroundNode
from bayes_curiosity_ros.nodes.conversions.observations import batch_of_observations
from support.waiting import WAIT_S

Mode = Evaluate.Request  # which has the modes as constants
CURIOSITY = "bayes_curiosity_ros.nodes.curiosity_node"


class Caller:
    """The services of one curiosity node, by default of the one without a namespace."""

    def __init__(self, background: BackgroundNode, namespace: str = "") -> None:
        self.background = background
        self._namespace = namespace

    def evaluate(
        self, batch: ObservationBatch, mode: int = Mode.NOW, episode: int = 0
    ) -> Evaluate.Response:
        request = Mode(mode=mode, episode=episode, observations=batch)
        return self._call("evaluate", Evaluate, request)

    def update(self, episode: int, batch: ObservationBatch) -> Update.Response:
        request = Update.Request(episode=episode, observations=batch)
        return self._call("update", Update, request)

    def reset(self) -> None:
        self._call("reset", Reset, Reset.Request())

    def save(self, path: str) -> ModelFile.Response:
        return self._call("save", ModelFile, ModelFile.Request(path=path))

    def load(self, path: str, checksum: str = "") -> ModelFile.Response:
        return self._call("load", ModelFile, ModelFile.Request(path=path, checksum=checksum))

    def fingerprint(self) -> tuple[bytes, int, str]:
        """Answers that any change of the posterior would change."""
        answer = self.evaluate(vectors(64, seed=77))
        return answer.variance.tobytes(), answer.observations_seen, answer.model_id

    def _call(self, name, kind, request):
        service = f"{self._namespace}/curiosity/{name}"
        return self.background.call(kind, service, request, WAIT_S)


def vectors(count: int, seed: int = 0, size: int = 9) -> ObservationBatch:
    """Batch of random observations without images."""
    rows = np.random.default_rng(seed).normal(size=(count, size))
    return batch_of_observations(Observations(rows))
