"""What came of the runs: rows, verdict, figure and film."""

from __future__ import annotations

from collections.abc import Mapping

from bayes_curiosity_ros.experiments.arm.command import rows_of
from bayes_curiosity_ros.experiments.engine.jobs import Job
from bayes_curiosity_ros.experiments.engine.store import to_csv
from bayes_curiosity_ros.experiments.parked.contrast import first_trainer, trained
from bayes_curiosity_ros.experiments.parked.film import write_film
from bayes_curiosity_ros.experiments.parked.plots import Seen, plot
from bayes_curiosity_ros.experiments.parked.settings import LEARNER, METHODS, TASK, Comparison
from bayes_curiosity_ros.experiments.parked.verdict import summary
from bayes_curiosity_ros.files import write_atomically
from bayes_curiosity_ros.learning.checkpoint import CHECKPOINT
from bayes_curiosity_ros.learning.episode_log import LOG, read_log
from bayes_curiosity_ros.learning.intervals import at_the_end
from bayes_curiosity_ros.learning.trail import NAME as TRAIL
from bayes_curiosity_ros.learning.trail import read_trail
from bayes_curiosity_ros.tasks.arm.plan import hands_of
from bayes_curiosity_ros.tasks.arm.task import ArmTask

ROWS, VERDICT, FIGURE, FILM = "rows.csv", "verdict.txt", "explore.png", "explore.gif"


def report(runs: Comparison) -> None:
    """Say what came of it, draw and film it, and tell how to go on."""
    task = runs.make_task()
    seen = {method: seen_of(runs, method, task) for method in METHODS}
    write_rows(runs, seen)
    text = summary({method: at_the_end(run.episodes) for method, run in seen.items()})
    write_atomically(runs.folder / VERDICT, f"{text}\n".encode())
    print(text, flush=True)
    plot(seen, task, runs.folder / FIGURE)
    write_film(first_trainer(runs, task), trained(runs, task), task, runs.folder / FILM)
    names = f"{FIGURE}, {FILM}, {ROWS}, {VERDICT}, curiosity/{{{LOG},{CHECKPOINT}}}"
    print(
        f"wrote {names} in {runs.folder}; go on with\n    {runs.how_to_go_on(2 * runs.timesteps)}"
    )


def seen_of(runs: Comparison, method: str, task: ArmTask) -> Seen:
    """What one run left in its folder."""
    path = runs.folder_of(method) / TRAIL
    return Seen(
        read_log(runs.log_of(method)),
        hands_of(task, read_trail(path, task.observation_size))[:, :2],
    )


def write_rows(runs: Comparison, seen: Mapping[str, Seen]) -> None:
    """Rows like those of the experiments, all runs in one file."""
    rows = [
        row
        for method, run in seen.items()
        for row in rows_of(Job(TASK, LEARNER, method, runs.seed), run.episodes, runs.timesteps)
    ]
    write_atomically(runs.folder / ROWS, to_csv(rows, header=True).encode())
