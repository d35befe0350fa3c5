"""A visual task as a task of vectors: a frozen encoder sees, every method learns from that.

One pass through the convolutions per frame serves policy, curiosity and RND alike, and no method
has better eyes than another.
"""

from __future__ import annotations

import numpy as np
import torch

from bayes_curiosity_ros.curiosity.data import Observations
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.model_file import encoder_id
from bayes_curiosity_ros.errors import ConfigError, InputError
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.task import Task

CHUNK_ROWS = 256  # bounds the memory of a large batch


class Perception:
    """From joint angles and images to the vector [joint angles, latent space].

    Args:
        encoder: frozen here.

    Attributes:
        encoder_id: names the encoder; a policy belongs to one.
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder.requires_grad_(False)
        self.encoder_id = encoder_id(encoder)

    def __call__(self, observations: Observations) -> np.ndarray:
        """(N, vector_size + latent_size) float64."""
        starts = range(0, len(observations), CHUNK_ROWS)
        latent = [self._latent(observations[i : i + CHUNK_ROWS]) for i in starts]
        return np.concatenate([observations.vectors, np.concatenate(latent)], axis=1)

    def _latent(self, observations: Observations) -> np.ndarray:
        tensors = self.encoder.tensors(observations)
        with torch.inference_mode():
            return self.encoder.latent(*tensors).numpy()


class PerceivedTask(Task):
    """A visual arm task whose observation is the vector that a perception makes of it.

    Args:
        task: a visual one.
        encoder: trained on its demonstrations (see `learning.preparation`).

    Raises:
        ConfigError: the task is not visual, or the encoder expects other images than its camera
            gives.
    """

    def __init__(self, task: ArmTask, encoder: Encoder) -> None:
        require_fit(task, encoder)
        self.task = task
        self.perception = Perception(encoder)
        self.name = task.name
        self.horizon = task.horizon
        self.action_size = task.action_size
        self.success_steps = task.success_steps
        size = encoder.config.latent_size  # tanh: within -1..1
        self.observation_size = task.observation_size + size
        self.observation_center = np.concatenate([task.observation_center, np.zeros(size)])
        self.observation_scale = np.concatenate([task.observation_scale, np.ones(size)])
        self.observation_bound = np.concatenate([task.observation_bound, np.ones(size)])

    def observe(self, states: np.ndarray) -> np.ndarray:
        return self.perception(Observations(self.task.observe(states), self.task.images(states)))

    def initial_states(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return self.task.initial_states(count, rng)

    def advance(self, states: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return self.task.advance(states, actions)

    def reward(self, states: np.ndarray) -> np.ndarray:
        return self.task.reward(states)

    def successful(self, states: np.ndarray) -> np.ndarray:
        return self.task.successful(states)

    def marked_reward(self, success: bool) -> float:
        return self.task.marked_reward(success)

    def terminal(self, states: np.ndarray) -> np.ndarray:
        return self.task.terminal(states)

    def expert_at(self, states: np.ndarray) -> np.ndarray:
        return self.task.expert_at(states)

    def expert(self, observations: np.ndarray) -> np.ndarray:
        raise InputError(
            f"the expert of {self.name} needs the object's position; use task.expert_at(states)"
        )


def perceived(task: Task, encoder: Encoder) -> Task:
    """The task as every method sees it: itself, or perceived by the encoder if it is visual."""
    if isinstance(task, ArmTask) and task.visual:
        return PerceivedTask(task, encoder)
    return task


def simulated(task: Task) -> Task:
    """The task behind one that `perceived` gave."""
    return task.task if isinstance(task, PerceivedTask) else task


def seen_with(task: Task) -> str:
    """Id of the encoder that a task's observations come through; "" for none."""
    return task.perception.encoder_id if isinstance(task, PerceivedTask) else ""


def vectors_for(task: Task, observations: Observations) -> np.ndarray:
    """What a policy of a task that `perceived` gave sees of raw observations: (N, D)."""
    if isinstance(task, PerceivedTask):
        return task.perception(observations)
    return observations.vectors


def encoder_config(task: Task, image_trunk: str = "keypoints") -> EncoderConfig:
    """The encoder that takes what a task gives."""
    if not (isinstance(task, ArmTask) and task.visual):
        return EncoderConfig(vector_size=task.observation_size)
    camera = task.robot.world.camera
    return EncoderConfig(
        vector_size=task.observation_size,
        image_shape=(4, camera.height, camera.width),
        image_trunk=image_trunk,
        max_depth_m=camera.max_depth_m,
    )


def require_fit(task: ArmTask, encoder: Encoder) -> None:
    """Raise ConfigError unless the encoder takes what the visual task gives."""
    if not task.visual:
        raise ConfigError(f"task {task.name!r} has no images; it needs no perception")
    for name in ("vector_size", "image_shape", "max_depth_m"):
        given, expected = getattr(encoder_config(task), name), getattr(encoder.config, name)
        if given != expected:
            raise ConfigError(
                f"the encoder takes {name} = {expected}, {task.name} gives {given}; "
                f"make one with `bayes-curiosity prepare {task.name}`"
            )
