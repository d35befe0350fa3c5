"""Where jobs run: processes on this machine, or a Ray cluster. Results do not depend on it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

from bayes_curiosity_ros.errors import ConfigError

JobT = TypeVar("JobT")
RowT = TypeVar("RowT")

# One thread per job: more would fight over the cores, and change sums in the last bit.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def run_locally(
    jobs: Sequence[JobT], work: Callable[[JobT], list[RowT]], workers: int
) -> Generator[tuple[JobT, list[RowT]], None, None]:
    """Each job and its rows, as it finishes. Leaving the iterator early ends the workers.

    Args:
        jobs: what to run.
        work: runs one; it is pickled.
        workers: processes.
    """
    os.environ.update(ONE_THREAD)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_interrupts)
    try:
        futures = {pool.submit(work, job): job for job in jobs}
        for future in as_completed(futures):
            yield futures.pop(future), future.result()
        pool.shutdown()  # in peace: ended workers leave no semaphores behind
    finally:
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


def run_on_ray(
    jobs: Sequence[JobT], work: Callable[[JobT], list[RowT]], address: str
) -> Generator[tuple[JobT, list[RowT]], None, None]:
    """The same on Ray.

    Args:
        jobs: what to run.
        work: runs one; it is pickled.
        address: of a running cluster ("auto" finds one on this machine); "local" starts one.

    Raises:
        ConfigError: Ray is not installed, or the cluster does not answer.
    """
    ray = _import_ray()
    where: dict[str, Any] = {"address": address}
    if address == "local":  # loopback only, and nothing reported to Ray's makers
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        where = {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
    try:
        ray.init(**where, runtime_env={"env_vars": ONE_THREAD}, log_to_driver=False)
    except Exception as error:  # Ray has many ways to fail, plain exceptions among them
        reason = str(error).splitlines()[0]
        raise ConfigError(f"no Ray cluster at {address!r}: {reason}") from None
    try:
        remote = ray.remote(num_cpus=1)(_call)
        shared = ray.put(work)
        pending = {remote.remote(shared, job): job for job in jobs}
        while pending:
            (done,), _ = ray.wait(list(pending), num_returns=1)
            yield pending.pop(done), ray.get(done)
    finally:
        ray.shutdown()


def _call(work: Callable[[JobT], list[RowT]], job: JobT) -> list[RowT]:
    return work(job)


def _import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ConfigError(
            "--cluster needs Ray; pip install 'bayes_curiosity_ros[cluster]'"
        ) from None
    return ray


def _ignore_interrupts() -> None:
    """Ctrl-C is the parent's business; it ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
