"""Places drawn natively: those that NumPy draws, however many are asked for at once."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vta.quantization.float.calibration import places as module
from vta.quantization.float.calibration.places import Places

LAYERS = st.lists(
    st.tuples(st.integers(1, 9_999), st.integers(1, 64)).map(lambda pair: (pair[0], min(pair))), min_size=1, max_size=6
)


def by_numpy(layers, samples):
    rng = np.random.default_rng(0)
    return [[rng.choice(positions, count, replace=False) for positions, count in layers] for _ in range(samples)]


@given(LAYERS, st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_they_are_those_of_numpy(layers, parts):
    source, found = Places(), []
    for samples in parts:
        drawn = source.drawn(*(list(given) for given in zip(*layers, strict=True)), samples)
        found += [[each[sample] for each in drawn] for sample in range(samples)]
    for got, wanted in zip(found, by_numpy(layers, sum(parts)), strict=True):
        for one, other in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def test_no_layers():
    assert Places().drawn([], [], 3) == []


def test_numbers_that_are_not_fair_have_others_in_their_place(monkeypatch):
    monkeypatch.setattr(module, "_SPARE", 0)
    # Of these many draws some are not fair.
    layers = [(3_000_000, 60)] * 100
    drawn = Places().drawn(*(list(given) for given in zip(*layers, strict=True)), 60)
    for sample, wanted in enumerate(by_numpy(layers, 60)):
        np.testing.assert_array_equal(np.stack([each[sample] for each in drawn]), np.stack(wanted))


def test_without_enough_numbers_there_is_no_memory(monkeypatch):
    monkeypatch.setattr(module, "lib", SimpleNamespace(vta_draw_places=lambda *_: -1))
    with pytest.raises(MemoryError, match="no memory to draw 4 places"):
        Places().drawn([16], [4], 1)
