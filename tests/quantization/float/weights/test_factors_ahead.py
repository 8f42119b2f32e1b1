"""Weights rounded by factors that another thread computes: the same, in whatever order they are asked for."""

import threading

import numpy as np
import pytest

from vta.quantization.float.calibration.input_moments import Moments
from vta.quantization.float.weights import factors_ahead as module
from vta.quantization.float.weights.factors_ahead import FactorsAhead
from vta.quantization.float.weights.gptq import compensated


@pytest.fixture(params=[1, 2], autouse=True)
def threads(request, monkeypatch):
    monkeypatch.setattr(module, "threads_at_once", lambda: request.param)
    return request.param


def layers(count):
    rng = np.random.default_rng(count)
    found = []
    for size in rng.integers(1, 30, count):
        values = rng.standard_normal((60, size)) @ rng.standard_normal((size, size))
        weight = rng.standard_normal((int(rng.integers(1, 20)), size))
        found.append((weight, np.full(len(weight), 0.03), Moments((values.T @ values)[None] / 60, 60)))
    return found


@pytest.mark.parametrize("order", [1, -1])
def test_weights_are_those_of_each_layer_alone(order):
    given = layers(20)
    with FactorsAhead([moments for _, _, moments in given]) as ahead:
        for weight, scales, moments in given[::order]:
            np.testing.assert_array_equal(ahead.compensated(weight, scales, moments), compensated(weight, scales, moments))
    assert not any(thread.name == "vta-factors" for thread in threading.enumerate())


def test_one_layer_may_be_rounded_twice_and_others_not_at_all():
    given = layers(9)
    with FactorsAhead([moments for _, _, moments in given]) as ahead:
        for _ in range(2):
            np.testing.assert_array_equal(ahead.compensated(*given[3]), compensated(*given[3]))


def test_moments_that_were_not_announced():
    (weight, scales, moments), *_ = layers(1)
    with FactorsAhead(()) as ahead:
        np.testing.assert_array_equal(ahead.compensated(weight, scales, moments), compensated(weight, scales, moments))


def test_an_error_ends_the_thread():
    def fail():
        with FactorsAhead([moments for _, _, moments in layers(20)]):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not any(thread.name == "vta-factors" for thread in threading.enumerate())


def test_where_memory_is_short_the_one_who_asks_says_so(monkeypatch):
    def without_memory(moments):
        raise MemoryError("no memory for a factor")

    monkeypatch.setattr(module, "factor_of", without_memory)
    given = layers(3)
    with FactorsAhead([moments for _, _, moments in given]) as ahead, pytest.raises(MemoryError, match="no memory for a factor"):
        ahead.compensated(*given[0])
