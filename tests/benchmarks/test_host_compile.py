"""The benchmark of compiling kernels: what it counts is there for each tile."""

import subprocess
import sys

import numpy as np
import pytest

from benchmarks.first_compile import Cost, FirstRow, cost_of, first_row, first_table, networks
from benchmarks.host import Layer, layer_model
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


def test_networks_that_can_be_compiled_are_found(tmp_path):
    names = (
        "mlperf_tiny/a.tflite",
        "mlperf_tiny/b.npy",
        "tflm/keyword_scrambled_8bit.tflite",
        "mxnet/sagemaker_tiny-symbol.json",
    )
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [path.name for path in networks(tmp_path)] == ["a.tflite", "sagemaker_tiny-symbol.json"]


def test_a_network_is_compiled_with_an_empty_cache_and_again(tmp_path):
    path = tmp_path / "layer.onnx"
    path.write_bytes(layer_model(Layer("convolution", 16, 32, 6, 3), np.random.default_rng(1)).SerializeToString())
    row = first_row(path, runs=1)
    assert min(cost.processor_seconds for cost in (row.first, row.again, row.without_kernels)) > 0
    assert row.network in list(first_table([row]))[-1]


def test_ratios():
    row = FirstRow("net", Cost(3.0, 2.0), Cost(2.0, 1.0), Cost(1.0, 1.0))
    assert (row.ratio, row.wall_ratio, row.plain_ratio) == (1.5, 2.0, 3.0)


def test_a_command_that_fails_has_no_cost():
    with pytest.raises(subprocess.CalledProcessError):
        cost_of([sys.executable, "-c", "raise SystemExit(1)"], {})
