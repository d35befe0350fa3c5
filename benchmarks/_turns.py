"""Both sides of a comparison in turn, so that whatever else the machine does hits them alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from statistics import median

from tqdm import tqdm

from benchmarks._peers import PeerProcess
from benchmarks._timing import calls_per_repetition, repetition_s

Call = Callable[[], object]


def medians(
    ours: Mapping[str, Call],
    repetitions: int,
    title: str,
    peers: Iterable[str] = (),
    request: Mapping[str, object] | None = None,
    threads: int = 1,
) -> dict[str, float]:
    """Median seconds per call, by name of what was called.

    Args:
        ours: our calls by name.
        repetitions: how often each has its turn.
        title: of the progress bar.
        peers: methods of RLeXplore.
        request: what each is to be prepared for, as `benchmarks._rlexplore` takes it.
        threads: of torch in the peers.
    """
    with ExitStack() as stack:
        clocks = {name: _local_clock(call) for name, call in ours.items()}
        for method in peers:
            process = PeerProcess("curiosity", "benchmarks._rlexplore", str(threads))
            wanted = {**(request or {}), "method": method}
            clocks[method] = _peer_clock(stack.enter_context(process), wanted)
        rounds = [
            {name: clock() for name, clock in clocks.items()}
            for _ in tqdm(range(repetitions), desc=title, disable=None, leave=False)
        ]
    return {name: median(each[name] for each in rounds) for name in clocks}


def _local_clock(call: Call) -> Callable[[], float]:
    """Times one repetition of `call` at every call."""
    calls = calls_per_repetition(call)
    return lambda: repetition_s(call, calls)


def _peer_clock(process: PeerProcess, request: Mapping[str, object]) -> Callable[[], float]:
    """Times one repetition in the peer's process at every call."""
    process.ask(dict(request))
    return lambda: float(process.ask({"repeat": True})["seconds"])
