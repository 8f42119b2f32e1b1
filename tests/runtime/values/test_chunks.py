"""Samples in chunks: in order, the last run filled up, shared by workers."""

import threading

import numpy as np
import pytest

from vta.errors import UsageError
from vta.ir import names as ops
from vta.ir.graph import Graph, call, graph_input
from vta.runtime.values import chunks
from vta.runtime.values.chunks import SampleChunks, cores

X = graph_input("x", (2, 3))
NET = Graph((X,), (call(ops.NEGATIVE, [X]),))
FLAT = graph_input("x", (3,))
ALONE = Graph((FLAT,), (call(ops.NEGATIVE, [FLAT]),))


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(chunks, "_MOST_RUNS", 3)


def negated(inputs, runs):
    assert len(inputs["x"]) == runs <= 3
    return [-inputs["x"]]


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("samples", [1, 2, 5, 6, 7, 31])
def test_samples_come_back_in_order(samples, workers):
    x = np.random.default_rng(0).standard_normal((samples, 3)).astype(np.float32)
    ticks = []
    (got,) = SampleChunks(NET, {"x": x}).map([negated] * workers, ticks.append)
    np.testing.assert_array_equal(got, -x)
    assert ticks == [min(done, samples) for done in range(2, samples + 2, 2)]


def test_what_fills_up_the_last_run_is_zero():
    given = []
    SampleChunks(NET, {"x": np.ones((7, 3), np.float32)}).map(
        [lambda inputs, runs: given.append(inputs["x"]) or negated(inputs, runs)]
    )
    assert [array.shape for array in given] == [(3, 2, 3), (1, 2, 3)]
    np.testing.assert_array_equal(given[1][0, 1], np.zeros(3))


def test_samples_without_a_batch_axis():
    x = np.arange(21, dtype=np.float32).reshape(7, 3)
    chunked = SampleChunks(ALONE, {"x": x})
    assert chunked.count == 3
    np.testing.assert_array_equal(chunked.map([negated, negated])[0], -x)


def test_an_error_of_a_worker_is_raised_and_all_threads_end():
    def fail(inputs, runs):
        raise ValueError("broken")

    before = threading.active_count()
    with pytest.raises(ValueError, match="broken"):
        SampleChunks(NET, {"x": np.zeros((40, 3), np.float32)}).map([negated, fail])
    assert threading.active_count() == before


def test_large_networks_go_in_small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "_CHUNK_BYTES", 50)
    assert SampleChunks(NET, {"x": np.zeros((8, 3), np.float32)}).count == 2
    monkeypatch.setattr(chunks, "_CHUNK_BYTES", 1)
    assert SampleChunks(NET, {"x": np.zeros((8, 3), np.float32)}).count == 4


def test_inputs_must_have_as_many_samples():
    with pytest.raises(UsageError, match="no inputs"):
        SampleChunks(NET, {})


def test_there_is_at_least_one_core():
    assert 1 <= cores() <= 8
