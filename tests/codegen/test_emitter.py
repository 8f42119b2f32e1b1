"""The emitter of the core gives, to the bit, what the slow one of the oracles gives."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.codegen._gemm_operators import FEATURES, addresses_of, gemm_operators, schedules
from tests.integer_graphs import (
    BASELINE,
    BATCH_2,
    CONFIGS,
    FEW_UOPS,
    LARGE_INPUT,
    NARROW,
    TINY,
    graphs_with_zeros,
    integer_graphs,
)
from tests.odd_designs import odd_configs
from tests.oracles.emitter.gemm import emit_gemm
from tests.oracles.emitter.stream import OracleStream
from vta.codegen.memory import plan_memory
from vta.codegen.stream import Segment, Stream, UopsOverflow
from vta.codegen.templates import emit_operator
from vta.codegen.tokens import encoded_with_tokens, place_tokens
from vta.compiler.compile import graph_regions
from vta.errors import CompileError, EncodingError
from vta.isa.encoding import encode
from vta.schedule.choose import choose_schedule
from vta.tile.gemm_operator import GemmOperator

PYNQ = replace(BASELINE, target="pynq")
"""Micro-ops must not repeat a dst too soon."""
FOUR_UOPS = replace(BASELINE, log_uop_buff_size=4)
SMALL = st.sampled_from([BASELINE, TINY, BATCH_2, NARROW, LARGE_INPUT, PYNQ, FEW_UOPS, FOUR_UOPS])
MODES = st.sampled_from([{}, {"groups_uops": True}, {"gathers_uops": True}])


def outcome(emit):
    """What emission raises, as text, or None."""
    try:
        emit()
    except (CompileError, UopsOverflow) as error:
        return f"{type(error).__name__}: {error}"
    return None


def emit_all(stream, operators, choice, addresses):
    """Emit operators by schedules into a stream of either kind."""
    for number, (operator, schedule) in enumerate(zip(operators, choice, strict=True)):
        with stream.origin(2 * number, 2 * number + 1):
            if isinstance(stream, OracleStream) and isinstance(operator, GemmOperator):
                emit_gemm(stream, operator, schedule, addresses)
            else:
                emit_operator(operator, stream, addresses, schedule)
    stream.gather_uop_loads()


def require_same(stream, oracle):
    """Instructions with all that belongs to them, micro-ops and constants."""
    np.testing.assert_array_equal(stream.instructions, oracle.instructions)
    np.testing.assert_array_equal(stream.units, [row.unit for row in oracle.rows])
    np.testing.assert_array_equal(stream.segments, [row.segment for row in oracle.rows])
    np.testing.assert_array_equal(stream.operators, [row.operator for row in oracle.rows])
    np.testing.assert_array_equal(stream.tiles, [row.tile for row in oracle.rows])
    np.testing.assert_array_equal(stream.access_counts, [len(row.accesses) for row in oracle.rows])
    np.testing.assert_array_equal(stream.accesses, [access for row in oracle.rows for access in row.accesses])
    np.testing.assert_array_equal(stream.uops, oracle.uops)
    np.testing.assert_array_equal(stream.sequence_sizes, [len(uops) for uops in oracle.store_of_uops.sequences])
    np.testing.assert_array_equal(stream.constant_places, np.reshape(oracle.constant_places, (-1, 3)))
    for data, expected in zip(stream.constants, oracle.constants, strict=True):
        np.testing.assert_array_equal(data, expected)
        assert data.dtype == expected.dtype


def compare(operators, choice, addresses, hw, mode):
    """Emit into streams of both kinds and compare them; returns that of the product, or None if both refuse."""
    stream, oracle = Stream(hw, **mode), OracleStream(hw, **mode)
    expected = outcome(lambda: emit_all(oracle, operators, choice, addresses))
    assert outcome(lambda: emit_all(stream, operators, choice, addresses)) == expected
    if expected is not None:
        return None
    require_same(stream, oracle)
    return stream


@st.composite
def cases(draw, configs=SMALL):
    """Operators of one stream, a schedule for each, and what they are emitted for."""
    hw = draw(configs)
    count = draw(st.sampled_from([1, 1, 2, 3]))
    operators = [draw(gemm_operators(hw, f"op{number}")) for number in range(count)]
    return operators, [draw(schedules()) for _ in operators], hw, draw(MODES)


@given(cases(st.one_of(SMALL, st.sampled_from(CONFIGS), odd_configs())))
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_operators_with_any_features_and_schedules(case):
    operators, choice, hw, mode = case
    addresses, arena = addresses_of(operators)
    stream = compare(operators, choice, addresses, hw, mode)
    if stream is None:
        return
    try:
        planned = place_tokens(stream, arena, base=4096)
        expected = encode(planned.instructions, hw)
    except (CompileError, EncodingError) as error:
        with pytest.raises(type(error)):
            encoded_with_tokens(stream, arena, 4096)
        return
    np.testing.assert_array_equal(encoded_with_tokens(stream, arena, 4096), expected)
    np.testing.assert_array_equal(stream.encoded().view(np.uint8).reshape(-1, 16), encode(stream.instructions, hw))


def streams_features(case):
    """What of streams a case uses."""
    operators, choice, hw, mode = case
    stream = Stream(hw, **mode)
    refused = outcome(lambda: emit_all(stream, operators, choice, addresses_of(operators)[0]))
    loads = stream.segments == Segment.UOPS
    found = {
        "micro-ops that do not fit together": refused is not None and refused.startswith("UopsOverflow"),
        "sequences that come and go": int(loads.sum()) > len(stream.sequence_sizes),
        "sequences that an operator loads at once": "groups_uops" in mode
        and bool((stream.instructions["x_size"][loads] > 1).any()),
        "several operators": len(operators) > 1 and refused is None,
        "a dst that must not repeat": hw is PYNQ and refused is None,
    }
    return {name for name, there in found.items() if there}


STREAM_FEATURES = {
    "micro-ops that do not fit together",
    "sequences that come and go",
    "sequences that an operator loads at once",
    "several operators",
    "a dst that must not repeat",
}


class AllSeenError(Exception):
    """Nothing is left to look for."""


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
def test_every_feature_is_generated():
    seen, wanted = set(), set(FEATURES) | STREAM_FEATURES

    # How many it takes depends on what Hypothesis has seen of other modules: it draws numbers that occur in them.
    @given(cases())
    @settings(max_examples=3000, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    def collect(case):
        operators, choice, *_ = case
        seen.update(streams_features(case))
        for pair in zip(operators, choice, strict=True):
            seen.update(name for name, holds in FEATURES.items() if holds(*pair))
        if seen >= wanted:
            raise AllSeenError

    with suppress(AllSeenError):
        collect()
    assert seen == wanted


def varied(operator, hw, draw):
    """The default schedule of an operator with fewer slots or smaller tiles now and then, whether it fits or not."""
    changes = [{"acc_slots": 1}, {"weights_outer": True}, {"tile_co": 1}, {"inp_slots": 1}, {"tile_h": 1}, {}]
    return replace(choose_schedule(operator, hw), **draw(st.sampled_from(changes)))


@given(st.one_of(integer_graphs(), graphs_with_zeros()), st.sampled_from([*CONFIGS, FEW_UOPS, TINY]), MODES, st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_regions_of_networks(graph, hw, mode, data):
    for region in graph_regions(graph, hw):
        addresses, _ = plan_memory(region.operators, region.inputs, region.outputs, hw)
        scheduled = [operator.scheduled for operator in region.operators]
        choice = [None if operator is None else varied(operator, hw, data.draw) for operator in scheduled]
        compare(region.operators, choice, addresses, hw, mode)
