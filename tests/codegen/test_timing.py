"""Streams for timing: the same to the bit as those of compiled programs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.autotune._tasks import layer, small_task
from tests.integer_graphs import BASELINE, CONFIGS, TINY
from tests.odd_designs import odd_configs
from tests.schedule.test_choose import operators
from vta.autotune.space import Space
from vta.autotune.task import task_of_graph
from vta.codegen.region import compile_operators
from vta.codegen.timing import TimingEmitter
from vta.errors import CompileError, TuningError
from vta.isa.program import PAGE_BYTES
from vta.schedule.choose import choose_schedule
from vta.tile.step import TensorOperand


def completed(operator, hw):
    """The same operator with weights of the config's block, and all tensors of one batch size."""

    def term(old):
        source = replace(old.source, batch=operator.output.batch)
        return replace(old, source=source, weights=np.zeros((*old.weights.shape[:4], hw.block, hw.block), np.int8))

    def digits(old):
        return tuple(replace(digit, terms=tuple(map(term, digit.terms))) for digit in old)

    def step(old):
        return replace(old, operand=TensorOperand(digits(old.operand.digits))) if old.operand.reads_tensors else old

    return replace(operator, digits=digits(operator.digits), epilogue=tuple(map(step, operator.epilogue)))


def compiled(operator, hw, schedule):
    """The stream of the compiled program, at the first page."""
    return compile_operators([operator], operator.sources, [operator.stored], hw, [schedule]).program.encoded(PAGE_BYTES)


@given(operators(), st.one_of(st.sampled_from(CONFIGS), odd_configs()), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_they_have_the_instructions_of_the_compiled_program(operator, hw, seed):
    operator = completed(operator, hw)
    try:
        space = Space([operator], hw)
    except TuningError:
        assume(False)
    emitter = TimingEmitter(operator, hw)
    for number in space.random(np.random.default_rng(seed), 2):
        schedule = space.schedule(int(number))
        assume(schedule.tile_h * schedule.tile_w * schedule.tile_co * 200 > operator.output.elements)
        np.testing.assert_array_equal(emitter.stream(schedule), compiled(operator, hw, schedule))


@pytest.mark.parametrize("flat", [True, False])
def test_rows_and_columns_apart_or_as_one(flat):
    operator = task_of_graph(layer(kernel=1, pad=0), BASELINE).operator
    assert operator.flattened is not operator
    schedule = replace(choose_schedule(operator, BASELINE), tile_h=2, tile_w=3, flat=flat)
    np.testing.assert_array_equal(TimingEmitter(operator, BASELINE).stream(schedule), compiled(operator, BASELINE, schedule))


def test_what_does_not_fit_is_said():
    operator = small_task().operator
    schedule = replace(choose_schedule(operator, BASELINE), tile_co=2, tile_h=6, tile_w=6)
    with pytest.raises(CompileError, match="leaves a memory of 64 rows"):
        TimingEmitter(operator, TINY).stream(schedule)
