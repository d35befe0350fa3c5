"""Control steps and RGBD frames per second, against dm_control's Jaco and MuJoCo's renderer.

    python -m benchmarks.simulation [--repetitions 9] [--cells 128] [--only reach]
                                    [--episodes 3000]

`kinematic_reach` holds the cell without forces against our own physics, at the shipped clock:
speed, and along the same actions the distance of hands and the failures of `--episodes` random
episodes.

All sides run in one go, a repetition of each in turn, so that whatever else the machine does
hits them alike; the median repetition counts. Physics and control step are dm_control's: 2 and
40 ms. Batched figures use all cores on both sides: our threads against one dm_control process
per core. Our episodes' restarts are timed, dm_control's are not. Per core-second counts CPU time
and not waiting: where other programs share the cores, look at that.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from statistics import median
from time import perf_counter, process_time

import numpy as np
from tqdm import tqdm

from bayes_curiosity_ros.robot.cameras.renderer import GLCamera
from bayes_curiosity_ros.robot.config import RobotConfig
from bayes_curiosity_ros.tasks.arm.grasp import Grasp
from bayes_curiosity_ros.tasks.arm.reach import Reach
from bayes_curiosity_ros.tasks.arm.task import ArmTask
from bayes_curiosity_ros.tasks.simulation import Simulation
from benchmarks._peers import PeerProcess
from benchmarks._report import report

PHYSICS_STEP_S, CONTROL_STEP_S = 0.002, 0.04
TASKS = {"reach": Reach, "grasp": Grasp}
PEER_STEPS = 150
SINGLE_STEPS = 300
BATCH_STEPS = 20
FRAMES = 64
MAX_HAND_DISTANCE_M = 0.01
Rate = Callable[[], float]
Clock = Callable[[], float]


def robot() -> RobotConfig:
    """The Jaco, at dm_control's clock."""
    config = RobotConfig.load()
    world = replace(config.world, physics_step_s=PHYSICS_STEP_S, control_step_s=CONTROL_STEP_S)
    return replace(config, world=world)


def our_steps(
    kind: str, cells: int, threads: int, steps: int, clock: Clock = perf_counter
) -> Rate:
    """Control steps/s of `cells` cells under random actions, restarts included."""
    return stepping(TASKS[kind](robot(), threads=threads), cells, steps, clock)


def stepping(task: ArmTask, cells: int, steps: int, clock: Clock) -> Rate:
    """Control steps/s of a task's cells under random actions, restarts included."""
    rng = np.random.default_rng(0)
    simulation = Simulation(task, cells, rng)

    def rate() -> float:
        start = clock()
        for _ in range(steps):
            step = simulation.step(rng.uniform(-1, 1, (cells, task.action_size)))
            ended = step.terminated | step.truncated
            if ended.any():
                simulation.restart(ended)
        return cells * steps / (clock() - start)

    return rate


def peer_steps(processes: list[PeerProcess], seconds: str = "seconds") -> Rate:
    """Control steps/s of dm_control in all these processes at the same time."""
    pool = ThreadPoolExecutor(len(processes))

    def ask(process: PeerProcess) -> float:
        answer = process.ask({"steps": PEER_STEPS})
        clock = answer["physics_step_s"], answer["control_step_s"]
        assert np.allclose(clock, (PHYSICS_STEP_S, CONTROL_STEP_S)), clock
        return PEER_STEPS / float(answer[seconds])

    return lambda: sum(pool.map(ask, processes))


def our_frames(cells: int, threads: int) -> Rate:
    """RGBD frames/s of the ray-cast camera, poses changing."""
    task = Grasp(threads=threads, visual=True)
    states = moving_states(task, FRAMES)

    def rate() -> float:
        start = perf_counter()
        for first in range(0, FRAMES, cells):
            task.camera.frames(states[first : first + cells])
        return FRAMES / (perf_counter() - start)

    return rate


def renderer_frames() -> Rate:
    """RGBD frames/s of MuJoCo's renderer on the same scene and poses, without shadows."""
    task = Grasp(threads=1)
    states = moving_states(task, FRAMES)
    size = task.robot.world.camera
    camera = GLCamera(task.stepper.world, size.width, size.height, shadows=False)

    def rate() -> float:
        start = perf_counter()
        for state in states:
            camera.pose(state, task.layout)
            camera.color()
            camera.depth()
        return FRAMES / (perf_counter() - start)

    return rate


def moving_states(task: Grasp, count: int) -> np.ndarray:
    """States of arms on their way."""
    rng = np.random.default_rng(0)
    states = task.initial_states(count, rng)
    for _ in range(5):
        states = task.advance(states, rng.uniform(-1, 1, (count, task.action_size)))
    return states


def measure(rates: dict[str, Rate], repetitions: int) -> dict[str, float]:
    """The median of each rate, measured in turn after a warm-up."""
    for rate in rates.values():
        rate()
    rounds = [
        {name: rate() for name, rate in rates.items()}
        for _ in tqdm(range(repetitions), leave=False)
    ]
    return {name: median(each[name] for each in rounds) for name in rates}


def main() -> None:
    """Measure and report everything, or what `--only` names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--cells", type=int, default=128, help="in a batch")
    parser.add_argument("--episodes", type=int, default=3000, help="compared with the physics")
    choices = ("", "reach", "grasp", "rgbd", "kinematic_reach")
    parser.add_argument("--only", default="", choices=choices)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    kinds = [kind for kind in TASKS if arguments.only in ("", kind)]
    if kinds:
        steps(kinds, arguments.cells, cores, arguments.repetitions)
    if arguments.only in ("", "rgbd"):
        frames(arguments.cells, cores, arguments.repetitions)
    if arguments.only in ("", "kinematic_reach"):
        kinematic_speed(arguments.cells, arguments.repetitions)
        kinematic_agreement(arguments.episodes, arguments.cells)


def steps(kinds: list[str], cells: int, cores: int, repetitions: int) -> None:
    """Control steps of tasks against dm_control's."""
    with ExitStack() as stack:
        peers = [
            stack.enter_context(PeerProcess("simulation", "benchmarks._dm_control"))
            for _ in range(cores)
        ]
        rates: dict[str, Rate] = {"peer/single": peer_steps(peers[:1])}
        rates["peer/batched"] = peer_steps(peers)
        rates["peer/core"] = peer_steps(peers[:1], "cpu_seconds")
        for kind in kinds:
            rates[f"{kind}/core"] = our_steps(kind, cells, 1, BATCH_STEPS, process_time)
            rates[f"{kind}/single"] = our_steps(kind, 1, 1, SINGLE_STEPS)
            rates[f"{kind}/batched"] = our_steps(kind, cells, cores, BATCH_STEPS)
        found = measure(rates, repetitions)
    for kind in kinds:
        note_single = "one cell, one thread; dm_control reach_site_features, one process"
        tell(f"simulation/{kind}/single/dm_control", found, f"{kind}/single", "peer/single",
             note_single, "control steps/s")  # fmt: skip
        note = f"{cells} cells on {cores} threads; dm_control in {cores} processes"
        tell(f"simulation/{kind}/batched/dm_control", found, f"{kind}/batched", "peer/batched",
             note, "control steps/s")  # fmt: skip
        name, note = f"simulation/{kind}/batched_per_core/dm_control", f"{cells} cells on 1 thread"
        tell(name, found, f"{kind}/core", "peer/core", note, "control steps/core-second")


def frames(cells: int, cores: int, repetitions: int) -> None:
    """RGBD frames against MuJoCo's renderer."""
    rates = {"single": our_frames(1, 1), "renderer": renderer_frames()}
    rates["batched"] = our_frames(cells, cores)
    found = measure(rates, repetitions)
    note = "64×64; mujoco.Renderer colour + depth, no shadows"
    tell("simulation/rgbd/renderer", found, "single", "renderer", note, "frames/s")
    tell("simulation/rgbd_batched/renderer", found, "batched", "renderer",
         f"{cells} cells on {cores} threads; {note}", "frames/s")  # fmt: skip


def kinematic_speed(cells: int, repetitions: int) -> None:
    """Control steps without forces against our own physics, on one core."""
    tasks = {
        "kinematic": Reach(threads=1, dynamics="kinematic"),
        "physics": Reach(threads=1),
        "physics_10ms": Reach(threads=1, physics_step_s=0.01),
    }
    found = measure(
        {name: stepping(task, cells, BATCH_STEPS, process_time) for name, task in tasks.items()},
        repetitions,
    )
    unit, note = "control steps/core-second", f"{cells} cells on 1 thread"
    for peer in ("physics", "physics_10ms"):
        name = f"simulation/kinematic_reach/batched_per_core/{peer}"
        tell(name, found, "kinematic", peer, note, unit)


def kinematic_agreement(episodes: int, cells: int) -> None:
    """Hands and failures without forces against those of the physics, along the same actions."""
    tasks = Reach(), Reach(dynamics="kinematic")
    starts = range(0, episodes, cells)
    parts = [side_by_side(*tasks, min(cells, episodes - start), start) for start in tqdm(starts)]
    distances, failures, others = (np.concatenate(part) for part in zip(*parts, strict=True))
    note = f"{episodes} random episodes of reach"
    report("simulation/kinematic_reach/hands", distances.max(), MAX_HAND_DISTANCE_M, unit="m",
           higher_is_better=False, note=f"largest distance; {note}; bound")  # fmt: skip
    report("simulation/kinematic_reach/failures", others.mean(), failures.mean(),
           unit="share of episodes", higher_is_better=True,
           note=f"{note}; {np.mean(failures != others):.4f} end otherwise; physics")  # fmt: skip


def side_by_side(
    physics: Reach, geometry: Reach, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Largest distance of hands in [m] while both go on, and who failed: (N,) each."""
    seen, states = (
        t.initial_states(count, np.random.default_rng(seed)) for t in (physics, geometry)
    )
    rng, distances = np.random.default_rng([seed, 1]), np.zeros(count)
    way = rng.uniform(-1, 1, (count, physics.action_size))
    for _ in range(physics.horizon):
        actions = np.clip(way + rng.normal(0, 0.3, way.shape), -1, 1)
        seen, states = physics.advance(seen, actions), geometry.advance(states, actions)
        away = physics.stepper.hands(seen) - geometry.stepper.hands(states)
        going = ~physics.terminal(seen) & ~geometry.terminal(states)
        distances = np.maximum(distances, going * np.linalg.norm(away, axis=1))
    return distances, physics.failed(seen), geometry.failed(states)


def tell(name: str, found: dict[str, float], ours: str, peer: str, note: str, unit: str) -> None:
    """Report one figure."""
    report(name, found[ours], found[peer], unit=unit, higher_is_better=True, note=note)


if __name__ == "__main__":
    main()
