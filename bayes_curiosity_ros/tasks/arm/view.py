"""`bayes-curiosity view`: the simulated arm, in a window where there is a screen, else on film."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image

from bayes_curiosity_ros.configuration.ranges import SEED, whole
from bayes_curiosity_ros.errors import ConfigError
from bayes_curiosity_ros.robot.cameras.renderer import GLCamera
from bayes_curiosity_ros.robot.composition import SEEN
from bayes_curiosity_ros.tasks.arm.names import add_task_arguments, make_arm_task
from bayes_curiosity_ros.tasks.arm.task import ArmTask

INSET_SHARE = 0.2  # of the film's width, for each of the two images
BORDER_PX = 4
FFMPEG_TIMEOUT_S = 120.0
SUFFIXES = (".gif", ".mp4", ".png")

# From states (N, S), and a source of chance, to actions (N, A).
Actor = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    add_task_arguments(parser)
    parser.add_argument("--seed", type=SEED, default=0, help="of the placements")
    parser.add_argument(
        "--episodes", type=whole("--episodes", 1), default=1, help="on film, or in the window"
    )
    parser.add_argument(
        "--policy", choices=("expert", "random"), default="expert", help="who moves the arm"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=None,
        help="film (.gif, .mp4) or last picture (.png); if absent, a window where there is a "
        "screen, else output/TASK.gif",
    )
    for name, default in (("--width", 640), ("--height", 480)):
        parser.add_argument(
            name, type=whole(name, 16, 4096), default=default, help="of the film, in pixels"
        )


def run(arguments: argparse.Namespace) -> int:
    """Open a window, or write a film."""
    task = make_arm_task(arguments, threads=1)
    states = episodes(task, actor(task, arguments.policy), arguments.episodes, arguments.seed)
    if arguments.output is None and has_screen():
        show(task, states)
        return 0
    path = arguments.output or Path("output") / f"{task.name}.gif"
    if path.suffix not in SUFFIXES:
        raise ConfigError(f"--output {path}: choose one of {', '.join(SUFFIXES)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    frames = list(film(task, states, arguments.width, arguments.height))
    save(frames, path, task.robot.world.control_step_s)
    print(f"{len(frames)} frames in {path}")
    return 0


def has_screen() -> bool:
    """Whether a window can be opened."""
    return sys.platform != "linux" or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def actor(task: ArmTask, policy: str) -> Actor:
    """The expert, or chance."""
    if policy == "expert":
        return lambda states, rng: task.expert_at(states)
    return lambda states, rng: rng.uniform(-1, 1, (len(states), task.action_size))


def episodes(task: ArmTask, act: Actor, count: int, seed: int) -> Iterator[np.ndarray]:
    """Every state, (1, S), of some episodes."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        states = task.initial_states(1, rng)
        yield states
        for _ in range(task.horizon):
            if task.terminal(states)[0]:
                break
            states = task.advance(states, act(states, rng))
            yield states


def film(
    task: ArmTask, states: Iterator[np.ndarray], width: int, height: int
) -> Iterator[np.ndarray]:
    """Pictures, (H, W, 3) uint8, with what the robot's own camera sees in a corner."""
    with ExitStack() as stack:
        cameras: dict[int, GLCamera] = {}
        for state in states:
            variant = int(state[0, task.layout.variant])
            if variant not in cameras:
                camera = GLCamera(task.stepper.worlds[variant], width, height)
                cameras[variant] = stack.enter_context(camera)
            cameras[variant].pose(state[0], task.layout)
            picture = cameras[variant].color(spectator()).copy()
            inset(picture, task, state)
            yield picture


def robots_view(task: ArmTask, states: Iterator[np.ndarray], height: int) -> Iterator[np.ndarray]:
    """Pictures from the robot's own camera, (H, W, 3) uint8, enlarged; they need no OpenGL."""
    for state in states:
        color = task.camera.frames(state)[0][0]
        scale = max(1, height // len(color))
        yield color.repeat(scale, axis=0).repeat(scale, axis=1)


def spectator() -> mujoco.MjvCamera:
    """A view of the whole cell."""
    view = mujoco.MjvCamera()
    view.lookat[:] = [0.36, 0.0, 0.17]
    view.distance, view.azimuth, view.elevation = 1.5, 125.0, -18.0
    return view


def inset(picture: np.ndarray, task: ArmTask, state: np.ndarray) -> None:
    """Draw the RGBD image, colour beside depth, into the lower left corner."""
    colors, depths = task.camera.frames(state)
    near, far = depths[0].min(), depths[0].max()
    grey = np.round(255 * (far - depths[0]) / max(far - near, 1e-6)).astype(np.uint8)
    both = np.concatenate([colors[0], np.repeat(grey[..., None], 3, axis=2)], axis=1)
    scale = max(1, round(INSET_SHARE * picture.shape[1] / colors.shape[2]))
    both = both.repeat(scale, axis=0).repeat(scale, axis=1)
    framed = np.pad(both, ((BORDER_PX,) * 2, (BORDER_PX,) * 2, (0, 0)), constant_values=255)
    height, width = framed.shape[:2]
    if height <= picture.shape[0] and width <= picture.shape[1]:
        picture[-height:, :width] = framed


def save(frames: list[np.ndarray], path: Path, frame_s: float, colors: int = 128) -> None:
    """Write a film, or the last picture.

    Args:
        frames: (H, W, 3) uint8 each.
        path: path of the file, whose suffix is one of SUFFIXES.
        frame_s: time that a frame is shown, in [s].
        colors: colours of each frame of a GIF, at most 256.
    """
    images = [Image.fromarray(frame) for frame in frames]
    if path.suffix == ".png":
        images[-1].save(path)
    elif path.suffix == ".gif":
        palette = [image.quantize(colors, dither=Image.Dither.NONE) for image in images]
        durations = [round(1000 * frame_s)] * (len(images) - 1) + [1000]
        palette[0].save(path, save_all=True, append_images=palette[1:], duration=durations, loop=0)
    else:
        save_mp4(frames, path, frame_s)


def save_mp4(frames: list[np.ndarray], path: Path, frame_s: float) -> None:
    """Write an MP4 with ffmpeg.

    Raises:
        ConfigError: it is not installed, or failed.
    """
    if shutil.which("ffmpeg") is None:
        raise ConfigError(f"{path}: MP4 needs ffmpeg (apt install ffmpeg); a .gif needs nothing")
    height, width = frames[0].shape[:2]
    source = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {1 / frame_s:g} -i -"
    command = f"ffmpeg -y -loglevel error {source} -pix_fmt yuv420p".split()
    done = subprocess.run(
        [*command, str(path)],
        input=b"".join(frame.tobytes() for frame in frames),
        stderr=subprocess.PIPE,
        timeout=FFMPEG_TIMEOUT_S,
        check=False,
    )
    if done.returncode:
        raise ConfigError(f"{path}: ffmpeg failed: {done.stderr.decode().strip()}")


def show(task: ArmTask, states: Iterator[np.ndarray]) -> None:
    """Play the states in MuJoCo's window, in real time, until it is closed."""
    import mujoco.viewer

    world = task.stepper.world
    data = mujoco.MjData(world.scene)
    with mujoco.viewer.launch_passive(world.scene, data) as viewer:
        viewer.opt.geomgroup[:] = SEEN
        for state in states:
            if not viewer.is_running():
                return
            data.qpos[:] = state[0, task.layout.qpos]
            if world.object_qpos is None:
                data.mocap_pos[0] = state[0, task.layout.marker]
            mujoco.mj_forward(world.scene, data)
            viewer.sync()
            time.sleep(task.robot.world.control_step_s)
        while viewer.is_running():
            time.sleep(0.1)
