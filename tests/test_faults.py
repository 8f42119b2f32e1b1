"""Programs that the compiler makes wrong: it says so, and the host computes what they were for."""

from __future__ import annotations

import subprocess
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest

from tests.integer_graphs import BASELINE, TINY, conv, int8_clip, random_inputs
from vta.compiler.compile import compile_graph
from vta.config.target_list import parse_targets
from vta.devices.sim import SimDevice
from vta.errors import CompileError, CompilerFaultWarning, EncodingError, VerificationError
from vta.ir.graph import Graph, call, constant, graph_input
from vta.runtime import Module
from vta.schedule.choose import choose_schedule
from vta.schedule.resources import MAX_SLOTS
from vta.schedule.schedule import Schedule
from vta.schedule.source import PerOperator


def two_layers():
    rng = np.random.default_rng(0)
    value = x = graph_input("x", (1, 16, 20, 20), "int8")
    for index, kernel in enumerate((1, 20)):
        value = conv(value, rng.integers(-128, 128, (16, 16, kernel, kernel)), f"layer{index}")
        value = int8_clip(call("right_shift", [value, constant(np.int32(11))], f"layer{index}"), f"layer{index}")
    return Graph((x,), (value,))


def too_many_tokens(operator, hw):
    """Fills far more slots than a token queue counts."""
    slots = 400
    many = replace(Schedule.smallest(), inp_slots=slots, wgt_slots=slots, flat=False)
    assert slots > 3 * MAX_SLOTS
    return many if operator.name == "layer1" else choose_schedule(operator, hw)


def too_large(operator, hw):
    """Takes more accumulators than there are."""
    return replace(choose_schedule(operator, hw), tile_h=1, tile_w=400, flat=True)


@pytest.mark.parametrize(
    ("chooser", "hw", "layer"), [(too_many_tokens, BASELINE, "layer1"), (too_large, TINY, "layer0")], ids=["verifier", "emitter"]
)
def test_a_faulty_operator_is_left_to_the_host_with_a_warning(chooser, hw, layer):
    graph = two_layers()
    with pytest.warns(CompilerFaultWarning, match="^fault of the compiler, please report it: in the program of region0: "):
        compiled = compile_graph(graph, hw, schedules=PerOperator(chooser))
    where = {placement.layer: placement for placement in compiled.placements}
    assert where[layer].where == "host"
    assert "fault of the compiler" in where[layer].reason
    with Module(compiled, SimDevice(hw)) as module:
        assert module.check(random_inputs(graph)).bit_exact


def test_operators_without_fault_stay():
    with pytest.warns(CompilerFaultWarning, match="token-overflow.*; on the host instead: layer1$"):
        compiled = compile_graph(two_layers(), BASELINE, schedules=PerOperator(too_many_tokens))
    assert [record.name for region in compiled.regions for record in region.operators] == ["layer0"]


def test_warnings_as_errors_are_strict():
    with warnings.catch_warnings():
        warnings.simplefilter("error", CompilerFaultWarning)
        with pytest.raises(CompilerFaultWarning, match="region0"):
            compile_graph(two_layers(), BASELINE, schedules=PerOperator(too_many_tokens))


def test_strict_compilation_raises():
    with pytest.raises(VerificationError, match="token-overflow"):
        compile_graph(two_layers(), BASELINE, schedules=PerOperator(too_many_tokens), strict=True)
    with pytest.raises(EncodingError, match="allowed: 0 to 63"):
        compile_graph(two_layers(), TINY, schedules=PerOperator(too_large), strict=True)


def test_without_a_host_the_fault_is_named():
    with pytest.warns(CompilerFaultWarning), pytest.raises(CompileError, match=r"layer1 .*: fault of the compiler"):
        compile_graph(two_layers(), BASELINE, schedules=PerOperator(too_many_tokens), targets=parse_targets("vta"))


def test_every_process_that_a_test_starts_is_strict():
    text = "import warnings, vta.errors as e; warnings.warn('fault of the compiler', e.CompilerFaultWarning)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "CompilerFaultWarning: fault of the compiler" in done.stderr
