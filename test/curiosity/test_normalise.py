"""Running moments equal those of the whole stream."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayes_curiosity_ros.curiosity.normalise import RunningMoments
from bayes_curiosity_ros.curiosity.pool import Pool
from bayes_curiosity_ros.errors import InputError


@given(sizes=st.lists(st.integers(0, 20), min_size=1, max_size=6), seed=st.integers(0, 2**32 - 1))
def test_batches_equal_the_whole(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    batches = [rng.normal(1e3, 2.0, size=(size, 3)) for size in sizes]
    moments = RunningMoments((3,))
    for batch in batches:
        moments.update(batch)
    whole = np.concatenate(batches)
    assert moments.count == len(whole)
    if len(whole):
        np.testing.assert_allclose(moments.mean, whole.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(moments.deviation(), whole.std(axis=0), atol=1e-9)


def test_identity_before_any_data_and_floor_after() -> None:
    moments = RunningMoments((2,))
    np.testing.assert_array_equal(moments.deviation(), [1.0, 1.0])
    moments.update(np.zeros((5, 2)))
    np.testing.assert_array_equal(moments.deviation(floor=0.1), [0.1, 0.1])


def test_wrong_shape_is_named() -> None:
    with pytest.raises(InputError, match=r"\(4, 2\)"):
        RunningMoments((3,)).update(np.zeros((4, 2)))


@given(sizes=st.lists(st.integers(0, 12), max_size=8))
def test_pool_keeps_the_newest(sizes: list[int]) -> None:
    pool = Pool(capacity=10, width=1)
    stream = np.arange(sum(sizes), dtype=np.float32)[:, None]
    start = 0
    for size in sizes:
        pool.add(stream[start : start + size])
        start += size
    assert sorted(pool.rows[:, 0]) == stream[-10:, 0].tolist()
