"""Dependency tokens: faults are named and never hang, and no order that the tokens allow changes a result."""

from dataclasses import replace

import numpy as np
import pytest

from tests.cases._nets import PLACES, assert_all_on_vta, config, crc, int8_data, narrowed, reference_convolution, run_verified
from tests.engines import ENGINES, open_engine
from vta.compiler.compile import compile_graph
from vta.config.targets import MemoryType
from vta.config.timing import TimingParameters
from vta.devices.device import RunOptions, Tokens
from vta.errors import DeviceError, EncodingError
from vta.hardware.verilator.library import Stalls
from vta.ir.graph import Graph, call, constant, graph_input
from vta.isa import Opcode, Program, Unit, blank_instructions, encode, units_of
from vta.isa.findings import FindingKind, Queue
from vta.isa.verify import verify_stream
from vta.schedule.choose import choose_schedule
from vta.schedule.resources import broken_limits
from vta.schedule.source import PerOperator

HW = config("sim")
PAGE = 4096
ONES = (1, 1, 1, 1)


def stream_of(load=None, gemm=None, store=None):
    """Load micro-op, input and weight, reset, GEMM, store, finish; the flags given are those of weight load, GEMM and store."""
    rows = blank_instructions(7)
    rows["opcode"] = [*[Opcode.LOAD] * 3, Opcode.GEMM, Opcode.GEMM, Opcode.STORE, Opcode.FINISH]
    rows["memory_type"][[0, 1, 2, 5]] = [MemoryType.UOP, MemoryType.INP, MemoryType.WGT, MemoryType.OUT]
    for index in (0, 1, 2, 5):
        memory = MemoryType(int(rows["memory_type"][index]))
        rows["dram_base"][index] = PAGE // HW.elem_bytes(memory)
        rows["x_size"][index] = rows["y_size"][index] = rows["x_stride"][index] = 1
    for name in ("uop_end", "iter_out", "iter_in"):
        rows[name][3:5] = 1
    rows["reset"][3] = 1
    for index, flags in ((2, load), (4, gemm), (5, store)):
        for name in flags or ():
            rows[name][index] = 1
    return rows


def run_stream(rows, engine, seed=None):
    device = open_engine(engine, HW, memory_bytes=1 << 20)
    assert device.allocate(PAGE) == PAGE
    return device.run(encode(rows, HW), RunOptions(seed=seed, limit_seconds=5.0))


def findings_of(rows, kind):
    found = verify_stream(rows, HW, {PAGE: np.zeros(PAGE, np.uint8)})
    return [finding for finding in found if finding.kind is kind]


@pytest.mark.parametrize(
    ("rows", "waiting"),
    [
        (
            stream_of(gemm=("pop_prev", "push_next"), store=("pop_prev",)),
            "compute unit: instruction 4 waits for a load-to-compute token",
        ),
        (
            stream_of(("pop_next", "push_next"), ("pop_prev", "push_prev", "push_next"), ("pop_prev",)),
            "load unit: instruction 2 waits for a compute-to-load token",
        ),
    ],
    ids=["nothing-pushes", "each-waits-for-the-other"],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_wait_that_cannot_end_is_an_error_that_names_it(rows, waiting, engine):
    for seed in (None, 1) if engine in ("sim", "opencl") else (None,):
        with pytest.raises(DeviceError, match="deadlock") as caught:
            run_stream(rows, engine, seed)
        assert waiting in str(caught.value)
    deadlocks = findings_of(rows, FindingKind.DEADLOCK)
    assert (4, Unit.COMPUTE, Queue.LOAD_TO_COMPUTE) in [(f.instruction, f.unit, f.queue) for f in deadlocks]


@pytest.mark.parametrize("engine", ENGINES)
def test_one_token_too_many_is_reported_at_the_end(engine):
    rows = stream_of(("push_next",), ("pop_prev", "push_prev", "push_next"), ("pop_prev",))
    assert run_stream(rows, engine).tokens == Tokens(compute_to_load=1)
    (finding,) = findings_of(rows, FindingKind.LEFTOVER_TOKEN)
    assert finding.queue is Queue.COMPUTE_TO_LOAD
    assert finding.count == 1


def test_a_stage_that_does_not_exist_is_refused_when_built():
    rows = stream_of(("pop_prev",))
    with pytest.raises(EncodingError, match=r"instruction 2 \(LOAD\): pop_prev names a stage that this unit does not have"):
        Program(HW, rows, np.zeros(0, np.uint8), PAGE, ())


def layer(data, index, x, channels=16):
    """A 3x3 convolution of int8 values, node and value alike."""
    weights, shift = int8_data((channels, x.shape[1], 3, 3), seed=10 + index), 10
    node = call("nn.conv2d", [data, constant(weights)], f"conv{index}", padding=ONES)
    value = np.clip(reference_convolution(x, weights, ONES) >> shift, -128, 127).astype(np.int8)
    return node, value, shift


def three_layers():
    x = int8_data((1, 32, 12, 10), seed=1)
    data = node = graph_input("x", x.shape, "int8")
    value = x
    for index, channels in enumerate((48, 32, 16)):
        node, value, shift = layer(node, index, value, channels)
        node = narrowed(node, shift, f"conv{index}")
    return x, Graph((data,), (node,)), value


def long_residual():
    """Ten layers, around which the input is carried to the end."""
    x = int8_data((1, 16, 9, 7), seed=1)
    data = node = graph_input("x", x.shape, "int8")
    value = x
    for index in range(10):
        node, value, shift = layer(node, index, value)
        if index < 9:
            node = narrowed(node, shift, f"conv{index}")
    narrow = call("right_shift", [node, constant(np.int32(shift))], "sum")
    clipped = call("cast", [call("clip", [narrow], "sum", a_min=-128, a_max=127)], "sum", dtype="int8")
    wide = [call("cast", [source], "residual", dtype="int32") for source in (clipped, data)]
    total = np.clip(value.astype(int) + x, -128, 127).astype(np.int8)
    return x, Graph((data,), (narrowed(call("add", wide, "residual"), 0, "residual"),)), total


NETWORKS = {"three-layers": three_layers(), "long-residual": long_residual()}


def with_slots(count):
    """A chooser of schedules with small tiles and `count` places for each input window, weight step and output tile."""

    def choose(operator, hw):
        best = choose_schedule(operator, hw)
        halved = {name: -(-getattr(best, name) // 2) for name in ("tile_co", "tile_h", "tile_w", "tile_ci")}
        schedule = replace(best, **halved, inp_slots=count, wgt_slots=count, acc_slots=count)
        assert broken_limits(operator, schedule, hw) == []
        return schedule

    return choose


MODES = {
    "chosen": {},
    "serial": {"serial": True},
    "1-slot": {"schedules": PerOperator(with_slots(1))},
    "2-slots": {"schedules": PerOperator(with_slots(2))},
    "2-slots-serial": {"schedules": PerOperator(with_slots(2)), "serial": True},
}


@pytest.mark.parametrize(("engine", "name"), PLACES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("network", NETWORKS)
def test_every_degree_of_overlap_gives_the_same(network, mode, engine, name):
    x, graph, expected = NETWORKS[network]
    compiled = compile_graph(graph, config(name), **MODES[mode])
    assert_all_on_vta(compiled)
    for report in run_verified(compiled, {"x": x}, seeds=(None, 1, 2), device=open_engine(engine, compiled.hw)):
        assert report.device_runs == 1
        assert crc(report.outputs[0]) == crc(expected)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("network", NETWORKS)
def test_50_random_interleavings_give_the_same(network, mode):
    x, graph, expected = NETWORKS[network]
    compiled = compile_graph(graph, HW, **MODES[mode])
    reports = run_verified(compiled, {"x": x}, seeds=range(50))
    assert {crc(report.outputs[0]) for report in reports} == {crc(expected)}


MEMORIES = {
    "cycle": [{"timing": TimingParameters(read_latency=cycles)} for cycles in (1, 40, 400)],
    "rtl": [{"stalls": Stalls(permille=300, seed=seed)} for seed in range(3)],
}
"""Memories that move the units against each other: of other latencies, or that withhold handshakes at random."""


@pytest.mark.parametrize("engine", MEMORIES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("network", NETWORKS)
def test_every_memory_gives_the_same(network, mode, engine):
    x, graph, expected = NETWORKS[network]
    compiled = compile_graph(graph, HW, **MODES[mode])
    for values in MEMORIES[engine]:
        (report,) = run_verified(compiled, {"x": x}, device=open_engine(engine, HW, **values))
        assert crc(report.outputs[0]) == crc(expected)


def test_serial_programs_wait_wherever_the_unit_changes():
    compiled = compile_graph(NETWORKS["three-layers"][1], HW, serial=True)
    (region,) = compiled.regions
    rows = region.program.instructions
    units = units_of(rows)
    changes = np.flatnonzero(units[1:] != units[:-1]) + 1
    assert len(changes) > 10
    towards = np.where(units[changes - 1] < units[changes], "pop_prev", "pop_next")
    assert all(rows[flag][index] for index, flag in zip(changes, towards, strict=True))


def test_with_two_slots_the_load_unit_runs_ahead():
    ahead = []
    for slots in (1, 2):
        (region,) = compile_graph(NETWORKS["three-layers"][1], HW, schedules=PerOperator(with_slots(slots))).regions
        loads = region.program.instructions[units_of(region.program.instructions) == Unit.LOAD]
        ahead.append(int(np.flatnonzero(loads["pop_next"])[0]))
    assert ahead[1] > ahead[0]
