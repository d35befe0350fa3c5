"""The sequential form's part of `benchmarks.curiosity`: whole episodes, streams, many features."""

from __future__ import annotations

import numpy as np

from bayes_curiosity_ros.curiosity.bonus import Bonus
from bayes_curiosity_ros.curiosity.curiosity import Curiosity, CuriosityConfig
from bayes_curiosity_ros.curiosity.data import Observations, Transitions
from bayes_curiosity_ros.curiosity.encoder import Encoder, EncoderConfig
from bayes_curiosity_ros.curiosity.rnd import Rnd, RndConfig
from benchmarks._report import report
from benchmarks._turns import Call, medians

VECTOR_SIZE = 9
STEPS = 60  # of an episode, as parked_reach has them
EPISODES = 32
FEATURES = (256, 512, 1024, 2048)
SLOW_REPETITIONS = 3
FROZEN = CuriosityConfig(posterior="frozen", features="plain")  # M = 33, the constant included
COMPUTE = "RLeXplore's compute(samples, sync=False); 8 environments"
TRAIN = "RLeXplore's compute(samples, sync=True), which trains; 8 environments"


def episodes(count: int) -> list[Transitions]:
    """Random walks."""
    rng = np.random.default_rng(0)
    walks = rng.normal(size=(count, STEPS + 1, VECTOR_SIZE)).cumsum(axis=1).astype(np.float32)
    actions = np.zeros((STEPS, 6))
    return [Transitions(Observations(w[:-1]), actions, Observations(w[1:])) for w in 0.1 * walks]


def curiosity(features: int = FEATURES[0]) -> Curiosity:
    """The default form."""
    return Curiosity(Encoder(EncoderConfig(VECTOR_SIZE, fourier_features=features)))


def evaluate(bonus: Bonus, batch: list[Transitions]) -> Call:
    """Rewards of a batch, from a bonus that has seen something."""
    bonus.update(batch)
    return lambda: bonus.evaluate(batch)


def evaluate_and_update(bonus: Bonus, batch: list[Transitions]) -> Call:
    """All that a learner asks for in an iteration."""

    def both() -> None:
        bonus.evaluate(batch)
        bonus.update(batch)

    return both


def stream(bonus: Curiosity, episode: Transitions) -> Call:
    """An episode, observation by observation."""
    bonus.update([episode])
    steps = [episode[i : i + 1] for i in range(len(episode))]

    def one_by_one() -> None:
        under_way = bonus.begin(episode.observations[:1])
        for step in steps:
            under_way.reward(step)

    return one_by_one


def whole_episodes(threads: int, repetitions: int) -> None:
    """Report observations/s of whole episodes, without and with what is learnt from them."""
    batch = episodes(EPISODES)
    own_rnd = Rnd(RndConfig(VECTOR_SIZE))
    ours = {
        "evaluate": evaluate(curiosity(), batch),
        "both": evaluate_and_update(curiosity(), batch),
        "own_rnd": evaluate(own_rnd, batch),
        "own_rnd_update": evaluate_and_update(own_rnd, batch),
    }
    count = EPISODES * STEPS
    peers = ("rnd", "rnd_frozen", "e3b", "rnd_update")
    request = {"prepare": "vector", "batch": count}
    found = medians(ours, repetitions, "whole episodes", peers, request, threads)
    for peer, note in (
        ("rnd", f"{COMPUTE}; bar: 1"),
        ("rnd_frozen", f"{COMPUTE}, the update of its moments patched out"),
        ("e3b", f"{COMPUTE}; bar: 20"),
        ("own_rnd", "our RND's evaluate"),
    ):
        _rates(f"curiosity/episodes/{count}/{peer}", found["evaluate"], found[peer], note)
    for peer, note in (
        ("rnd_update", TRAIN),
        ("own_rnd_update", "our RND's evaluate and update"),
    ):
        _rates(f"curiosity/episodes/{count}/{peer}", found["both"], found[peer], note)


def streamed(repetitions: int) -> None:
    """Report one observation of a stream against one of the frozen form with 33 features."""
    episode = episodes(1)[0]
    frozen = Curiosity(Encoder(EncoderConfig(VECTOR_SIZE)), FROZEN)
    ours = {"stream": stream(curiosity(), episode), "frozen": stream(frozen, episode)}
    found = {
        name: 1e6 * each / STEPS for name, each in medians(ours, repetitions, "streams").items()
    }
    note = "one observation; frozen form, M = 33; bar: ratio ≥ 1/3"
    report("curiosity/stream/frozen", found["stream"], found["frozen"], unit="µs",
           higher_is_better=False, note=note)  # fmt: skip


def many_features(repetitions: int) -> None:
    """Report how evaluate and update grow with the number of features."""
    batch = episodes(EPISODES)
    calls = {str(size): evaluate_and_update(curiosity(size), batch) for size in FEATURES}
    found = medians(calls, min(repetitions, SLOW_REPETITIONS), "many features")
    each = {size: 1e6 * found[str(size)] / (EPISODES * STEPS) for size in FEATURES}
    for size in FEATURES[1:]:
        square = (size / FEATURES[0]) ** 2 * each[FEATURES[0]]
        note = f"evaluate and update; {each[FEATURES[0]]:.3g} µs at M = {FEATURES[0]}, times M²"
        report(f"curiosity/features/{size}", each[size], square, unit="µs per observation",
               higher_is_better=False, note=note)  # fmt: skip


def _rates(name: str, ours_s: float, peer_s: float, note: str) -> None:
    count = EPISODES * STEPS
    report(name, count / ours_s, count / peer_s, unit="observations/s", higher_is_better=True,
           note=f"{EPISODES} episodes of {STEPS} steps, M = {FEATURES[0]}; {note}")  # fmt: skip
