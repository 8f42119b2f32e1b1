"""The benchmark of compiling kernels: what it counts is there for each tile."""

from benchmarks.host import Layer
from benchmarks.host_compile import layers, row_of, table


def test_a_choice_among_tiles():
    row = row_of(Layer("convolution", 16, 32, 6, 3), tiles=2, runs=1)
    assert row.tiles == 2
    assert 0 < row.compile_seconds <= row.slowest_compile_seconds < row.choice_seconds
    assert row.gain >= 1
    assert row.layer in list(table([row]))[-1]


def test_the_layers_are_those_that_are_tuned():
    found = layers()
    assert len(found) == 16
    assert sum(layer.groups > 1 for layer in found) == 4
