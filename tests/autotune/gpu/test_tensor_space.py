"""Tiles of matrices of bytes: all that are drawn fit, each has a number, and what the model likes is among them."""

import numpy as np

from vta.autotune.gpu.task import GpuTarget, gpu_task, model_tiles
from vta.host.gpu.tiles import tile_fits
from vta.host.loop.grid import GridLimits
from vta.ir import names as ops
from vta.ir.graph import call, constant, graph_input
from vta.records.measurement import Measurement


def task(channels=64, tensor=True):
    weight = constant(np.ones((64, channels, 3, 3), np.int8))
    node = call(ops.CONV2D, [graph_input("x", (1, channels, 28, 28), "int8"), weight], padding=(1, 1, 1, 1))
    return gpu_task(node, GpuTarget("cuda", "any", GridLimits(tensor=tensor)))


def test_tiles_have_numbers():
    given = task()
    space, rng = given.space, np.random.default_rng(0)
    for number in space.random(rng, 20):
        tile = space.schedule(int(number))
        assert tile.tensor
        assert tile_fits(given.tiled, tile, given.target.limits)
        assert space.find(tile) == number
    assert space.features("itervar", space.random(rng, 3)).shape[0] == 3
    assert {space.schedule(int(number)).parts for number in space.random(rng, 200)} == {1, 2}


def test_what_the_model_likes_is_among_them_and_goes_through_records():
    given = task()
    for tile in model_tiles(given, 6):
        assert given.space.find(tile) is not None
        assert given.schedule_of(given.record(tile, 0, Measurement((1e-6,)), "cuda")) == tile


def test_other_tiles_are_those_of_devices_without():
    other = task(tensor=False)
    assert not other.default().tensor
    assert not task(channels=3).default().tensor
    assert task().space.find(other.default()) is None
