"""The arm's tasks as Gymnasium environments; `tasks.gymnasium_env` registers them."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np

from bayes_curiosity_ros.errors import unknown_name
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.registry import make_task

Observation = np.ndarray | dict[str, np.ndarray]


class ArmEnv(gymnasium.Env[Observation, np.ndarray]):
    """One simulated cell. Gymnasium's TimeLimit wrapper truncates at the horizon.

    Actions lie in [-1, 1]; `env.unwrapped.task.max_delta_rad` is what 1 means for each joint.
    The observation is a vector, or for a visual task a dict of "vector" and "image", the
    latter (4, H, W) bytes: RGB and depth, 255 being the camera's `max_depth_m`.

    Args:
        task: name of an arm's task.
        render_mode: "rgb_array" for `render`.
        options: passed on to the task, for instance `robot` or `randomization`.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 10}  # type: ignore[misc]

    def __init__(
        self,
        task: str,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise unknown_name("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        made = make_task(task, threads=1, **options)
        assert isinstance(made, ArmTask)
        self.task = made
        self.observation_space = self._space()
        self.action_space = gymnasium.spaces.Box(
            -1.0, 1.0, (self.task.action_size,), dtype=np.float32
        )
        self.states = np.zeros((1, 0))

    def _space(self) -> gymnasium.Space:
        bound = self.task.observation_bound
        vector = gymnasium.spaces.Box(-bound, bound, dtype=np.float64)
        if not self.task.visual:
            return vector
        camera = self.task.robot.world.camera
        shape = (4, camera.height, camera.width)
        image = gymnasium.spaces.Box(0, 255, shape, dtype=np.uint8)
        return gymnasium.spaces.Dict({"vector": vector, "image": image})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        self.states = self.task.initial_states(1, self.np_random)
        return self._observe(), self._info()

    def step(self, action: np.ndarray) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        actions = np.asarray(action, dtype=np.float64)[None]
        self.states = self.task.advance(self.states, actions)
        reward = float(self.task.reward(self.states)[0])
        terminated = bool(self.task.terminal(self.states)[0])
        return self._observe(), reward, terminated, False, self._info()

    def render(self) -> np.ndarray | None:
        """What the camera sees: (H, W, 3) uint8."""
        if self.render_mode is None:
            return None
        return self.task.camera.frames(self.states)[0][0]

    def _observe(self) -> Observation:
        vector = self.task.observe(self.states)[0]
        if not self.task.visual:
            return vector
        return {"vector": vector, "image": self.task.images(self.states)[0]}

    def _info(self) -> dict[str, Any]:
        return {
            "success": bool(self.task.successful(self.states)[0]),
            "failure": self.task.failure_reasons(self.states)[0],
        }
