"""Sanity of cycle counts and traffic with tuned schedules, as `test_sane_figures` asks of the default ones.

Schedules are the best of a few trials, among those that do all products; see `vta tune --keep-padding`.
"""

from dataclasses import replace
from functools import cache

import pytest

from tests.cases._nets import WEIGHT_SEED, config, int8_data, narrowed
from tests.cases.test_sane_figures import (
    BUS_BYTES,
    HW,
    LARGE,
    LARGE_MACS,
    MACS_PER_CYCLE,
    NONE,
    SHAPES,
    SMALL,
    SMALL_MACS,
    WEIGHTS,
    data_bytes,
    network_of,
    run,
)
from vta.autotune.measure.in_process import in_process
from vta.autotune.session import TuneOptions, tune
from vta.autotune.task import extract_tasks
from vta.ir.graph import Graph, call, constant, graph_input
from vta.schedule.choose import choose_schedule

TRIALS = 24


@cache
def tuned(graph, hw=HW, skip_padding=False):
    """A chooser of the best schedules found for a network."""
    tasks = extract_tasks(graph, hw, skip_padding=skip_padding)
    reports = tune(tasks, in_process(hw), TuneOptions("ga", TRIALS))
    best = [(report.task.operator, report.best) for report in reports]

    def choose(operator, hw):
        for known, schedule in best:
            if (known.output.blocks, known.output.height, known.digits[0].terms[0].weights.shape) == (
                operator.output.blocks,
                operator.output.height,
                operator.digits[0].terms[0].weights.shape,
            ):
                return schedule
        raise AssertionError(operator.name)

    return choose


@cache
def result_of(graph, hw=HW):
    return run(graph, "cycle", hw, tuned(graph, hw))[1]


@pytest.mark.parametrize(("graph", "macs"), [(LARGE, LARGE_MACS), (SMALL, SMALL_MACS)], ids=["large", "small"])
def test_p1_p2_every_cycle_is_one_of_four_kinds_and_no_product_is_left_out(graph, macs):
    result = result_of(graph)
    for unit in result.units.values():
        assert min(unit.busy, unit.token, unit.memory, unit.idle) >= 0
        assert unit.total == result.cycles
    assert result.counters.macs == macs
    assert macs // MACS_PER_CYCLE <= result.counters.gemm_uops <= result.units["compute"].busy <= result.cycles
    assert result.cycles <= run(graph, "cycle")[1].cycles


def test_p2_leaving_out_products_shows_in_the_counters():
    result = run(LARGE, "cycle", HW, lambda operator, hw: replace(choose_schedule(operator, hw), skip_padding=True))[1]
    assert result.counters.macs < LARGE_MACS
    assert result.counters.macs == 440_896 * MACS_PER_CYCLE, "166 x 166 of 168 x 168 products are inside the image"


def test_p3_everything_is_moved_at_least_once():
    result = result_of(LARGE)
    moved = data_bytes(result)
    assert moved["inp"] >= 200704
    assert moved["wgt"] >= 36864
    assert moved["out"] == 200704
    assert sum(moved.values()) >= 438272
    assert result.write_beats * BUS_BYTES == moved["out"]


@pytest.mark.parametrize("buffer", [{"LOG_INP_BUFF_SIZE": 15}, {"LOG_WGT_BUFF_SIZE": 18}, {"LOG_ACC_BUFF_SIZE": 17}])
def test_p3_a_larger_buffer_costs_nothing(buffer):
    """What was found for a smaller buffer does the same in a larger one."""
    ((name, size),) = buffer.items()
    smaller, larger = config("sim", **{name: size - 2}), config("sim", **{name: size})
    chooser = tuned(LARGE, smaller)
    before, after = (run(LARGE, "cycle", hw, chooser)[1] for hw in (smaller, larger))
    assert sum(after.counters.dram_bytes.values()) <= sum(before.counters.dram_bytes.values())
    assert after.cycles <= before.cycles


def test_p4_a_buffer_that_binds_shows():
    scarce = config("sim", LOG_INP_BUFF_SIZE=10)
    ample, short = result_of(SMALL), result_of(SMALL, scarce)
    assert short.cycles > ample.cycles
    assert data_bytes(short) != data_bytes(ample)


def test_p6_a_network_costs_what_its_layers_cost():
    graph = network_of(SHAPES[0], *WEIGHTS)
    chooser = tuned(graph)
    whole = run(graph, "cycle", HW, chooser)[1]
    layers = [run(network_of(shape, size), "cycle", HW, chooser)[1] for shape, size in zip(SHAPES, WEIGHTS, strict=True)]
    for name in ("macs", "gemm_uops", "reset_uops", "alu_uops", "inp_bytes", "wgt_bytes", "out_bytes"):
        assert getattr(whole.counters, name) == sum(getattr(layer.counters, name) for layer in layers), name
    assert whole.cycles < sum(layer.cycles for layer in layers)


def test_p7_strides_down_and_across_differ():
    down, across = (result_of(network_of((1, 64, 56, 28), (64, 64, 3, 3), strides=strides)) for strides in ((2, 1), (1, 2)))
    assert down.counters.macs == across.counters.macs
    assert data_bytes(down) != data_bytes(across)


def test_p8_fill_and_drain_are_part_of_the_count():
    """What follows the last product and comes before the first: a run takes longer than its compute unit is busy."""
    result = result_of(SMALL)
    assert result.cycles > result.units["compute"].busy
    assert result.units["compute"].total - result.units["compute"].busy >= 6, "a micro-op is done six cycles after its issue"


def test_p9_a_dense_layer_costs_what_a_1x1_convolution_costs():
    data = graph_input("x", (1, 512), "int8")
    weights = constant(int8_data((512, 512), WEIGHT_SEED))
    dense = Graph((data,), (narrowed(call("nn.dense", [data, weights], "dense"), 10, "dense"),))
    pointwise = network_of((1, 512, 1, 1), (512, 512, 1, 1), padding=NONE)
    assert result_of(dense).cycles == pytest.approx(result_of(pointwise).cycles, rel=0.1)
