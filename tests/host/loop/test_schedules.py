"""Any legal schedule computes what the kernel says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.host.computes import convolution, random_arrays, relu_of, schedules
from vta.host.loop.errors import LoopError
from vta.host.loop.interpret import evaluate_kernel, run_program
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Cache, ComputeAt, Dot, Fuse, Inline, Parallel, Part, Reorder, Split, Transpose, Unroll, Vectorize
from vta.host.loop.text import program_text

KERNELS = st.builds(
    convolution,
    rows=st.integers(1, 3),
    columns=st.integers(1, 5),
    channels=st.integers(1, 3),
    outputs=st.integers(1, 4),
    kernel=st.integers(1, 2),
    stride=st.integers(1, 2),
)


@given(st.data(), KERNELS, st.booleans())
@settings(max_examples=60, deadline=None)
def test_any_legal_schedule_gives_the_same_values(data, kernel, with_relu):
    kernel = relu_of(kernel) if with_relu else kernel
    program = lower(scheduled(kernel, data.draw(schedules(kernel))))
    arrays = random_arrays(kernel)
    np.testing.assert_array_equal(run_program(program, arrays), evaluate_kernel(kernel, arrays))


def test_a_tile_in_registers_is_printed_as_it_runs():
    kernel = convolution(rows=2, columns=5, channels=2, outputs=4, kernel=1)
    steps = [
        Cache("sums", "tile"),
        Split("sums", "x", 3, "xo", "xi"),
        ComputeAt("tile", "sums", "xo"),
        Reorder("tile", ("kh", "kw", "c", "y", "x", "o")),
        Unroll("tile", "x"),
        Vectorize("tile", "o"),
    ]
    assert (
        program_text(lower(scheduled(kernel, steps)))
        == """\
program convolution(data: int8[2, 5, 2], weight: int8[1, 1, 2, 4], bias: int32[4]) -> sums: int32[2, 5, 4]
function sums
  local tile: int32[1, 3, 4]
  for sums.y in 2:
    for tile.x in 3:  # unrolled
      for tile.o in 4:  # vectorized
        tile[0, tile.x, tile.o] = bias[tile.o]
    for tile.c in 2:
      for tile.x in 3:  # unrolled
        for tile.o in 4:  # vectorized
          tile[0, tile.x, tile.o] += (int32(data[sums.y, tile.x, tile.c]) * int32(weight[0, 0, tile.c, tile.o]))
    for sums.xi in 3:
      for sums.o in 4:
        sums[sums.y, sums.xi, sums.o] = tile[0, sums.xi, sums.o]
    for tile.x in 2:  # unrolled
      for tile.o in 4:  # vectorized
        tile[0, tile.x, tile.o] = bias[tile.o]
    for tile.c in 2:
      for tile.x in 2:  # unrolled
        for tile.o in 4:  # vectorized
          tile[0, tile.x, tile.o] += (int32(data[sums.y, (tile.x + 3), tile.c]) * int32(weight[0, 0, tile.c, tile.o]))
    for sums.xi in 2:
      for sums.o in 4:
        sums[sums.y, (sums.xi + 3), sums.o] = tile[0, sums.xi, sums.o]
"""
    )


def test_whole_vectors_are_computed_where_parts_are_read():
    kernel = relu_twice()
    outer, last = kernel.stages[-1].axes[:-1], kernel.stages[-1].axes[-1].name
    steps = [
        Split("second", last, 3, "lo", "li"),
        ComputeAt("first", "second", "lo"),
        Vectorize("first", kernel.stages[0].axes[-1].name, whole=True),
    ]
    program = lower(scheduled(kernel, steps))
    (local,) = program.functions[0].local
    assert local.shape == (*(1 for _ in outer), kernel.stages[0].axes[-1].extent)
    arrays = random_arrays(kernel)
    np.testing.assert_array_equal(run_program(program, arrays), evaluate_kernel(kernel, arrays))


ILLEGAL = {
    "an unknown loop": ([Split("sums", "q", 2, "a", "b")], "there is no loop 'q'; there are: y, x, o, kh, kw, c"),
    "an unknown stage": ([Unroll("sum", "y")], "no stage 'sum'; its stages: sums"),
    "a factor of 0": ([Split("sums", "x", 0, "a", "b")], "at least 1"),
    "a name twice": ([Split("sums", "x", 2, "y", "b")], "'y' is taken"),
    "an inner loop before its outer one": (
        [Split("sums", "x", 2, "a", "b"), Reorder("sums", ("b", "a"))],
        "'b' would come before 'a'",
    ),
    "loops apart": ([Fuse("sums", "y", "o", "yo")], "does not follow"),
    "a reduction and another": ([Fuse("sums", "o", "kh", "ok")], "part of a reduction"),
    "a vector that is not innermost": ([Vectorize("sums", "o")], "innermost"),
    "a part that would be whole": (
        [Cache("sums", "t"), Split("t", "o", 2, "oo", "oi"), Vectorize("t", "oi", whole=True)],
        "'oi' is no axis that could be computed whole; there are: y, x, o",
    ),
    "a vector of a reduction": ([Vectorize("sums", "c")], "no reduction"),
    "threads inside": ([Parallel("sums", "x")], "outermost"),
    "a dot product that is not innermost": ([Dot("sums", "kw")], "the innermost loop"),
    "a reduction inlined": ([Inline("sums")], "reduction"),
    "an output inside another": ([Cache("sums", "t"), ComputeAt("sums", "t", "y")], "it is the kernel's output"),
    "a stage that nothing computed inside reads": (
        [Cache("sums", "t"), Cache("t", "u"), ComputeAt("u", "sums", "y")],
        "t, which reads it, is not",
    ),
    "a stage further inside than its reader": (
        [Cache("sums", "t"), Cache("t", "u"), ComputeAt("t", "sums", "y"), ComputeAt("u", "sums", "x")],
        "further inside than t",
    ),
    "a stage inside of a vector": (
        [Cache("sums", "t"), Vectorize("sums", "o"), ComputeAt("t", "sums", "o")],
        "lanes have no copies of it",
    ),
    "a turned loop without a vectorized one": ([Transpose("sums", "o")], "around a vectorized one"),
    "a turned reduction": (
        [Reorder("sums", ("kh", "kw", "c", "y", "x", "o")), Transpose("sums", "x"), Vectorize("sums", "o")],
        "not in a reduction",
    ),
    "cached too late": ([Unroll("sums", "y"), Cache("sums", "t")], "before its loops are changed"),
    "a place that is gone": (
        [Cache("sums", "t"), ComputeAt("t", "sums", "x"), Split("sums", "x", 2, "a", "b")],
        "computed at x, which sums has no more",
    ),
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_illegal_steps_are_refused(case):
    steps, words = ILLEGAL[case]
    with pytest.raises(LoopError, match=words):
        lower(scheduled(convolution(), steps))


def test_a_rest_cannot_be_fused():
    steps = [Split("sums", "x", 3, "xo", "xi"), Fuse("sums", "y", "xo", "yxo")]
    with pytest.raises(LoopError, match="leave a rest"):
        lower(scheduled(convolution(columns=7), steps))
    lower(scheduled(convolution(columns=6), steps))


def test_inlining_computes_a_stage_where_it_is_read():
    kernel = relu_of(relu_twice())
    program = lower(scheduled(kernel, [Inline("first")]))
    assert [function.name for function in program.functions] == ["second", "relu"]
    arrays = random_arrays(kernel)
    np.testing.assert_array_equal(run_program(program, arrays), evaluate_kernel(kernel, arrays))


def relu_twice():
    from vta.host.loop.buffer import Buffer
    from vta.host.loop.compute import Kernel, Stage, axes_of
    from vta.host.loop.expression import binary, const, load

    data = Buffer("data", (6,), "int32")
    axes = axes_of({"i": 6})
    first = Stage(Buffer("first", (6,), "int32"), axes, binary("mul", load(data, [axes[0].var]), const(3, "int32")))
    second = Stage(Buffer("second", (6,), "int32"), axes, binary("add", load(first.output, [axes[0].var]), const(1, "int32")))
    return Kernel("twice", (data,), (first, second))


@pytest.mark.parametrize(("axis", "factor"), [("kh", 1), ("c", 2), ("c", 4)])
def test_parts_of_a_reduction_add_up_to_the_whole(axis, factor):
    kernel = relu_of(convolution(rows=2, columns=3, channels=4, outputs=2, kernel=2))
    steps = [
        Part("sums", axis, factor, "parts"),
        Reorder("sums", ("parts", "y", "x", "o")),
        ComputeAt("parts", "sums", "y"),
        ComputeAt("sums", "relu", "y"),
    ]
    arrays = random_arrays(kernel)
    program = lower(scheduled(kernel, steps))
    np.testing.assert_array_equal(run_program(program, arrays), evaluate_kernel(kernel, arrays))


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([Part("sums", "x", 2, "parts")], "'x' is no axis of its reduction; there are: kh, kw, c"),
        ([Part("sums", "c", 2, "parts")], "3 values of c are not combined 2 at a time"),
        ([Unroll("sums", "c"), Part("sums", "c", 1, "parts")], "parted before its loops are changed"),
    ],
)
def test_parts_that_make_no_sense_are_refused(steps, reason):
    with pytest.raises(LoopError, match=reason):
        scheduled(convolution(), steps)


def test_no_part_of_an_inner_loop_stands_before_one_of_its_outer_loop():
    splits = [Split("sums", "x", 2, "xo", "xi"), Split("sums", "xo", 2, "xa", "xb")]
    scheduled(convolution(columns=8), [*splits, Reorder("sums", ("xa", "y", "xb", "xi"))])
    with pytest.raises(LoopError, match="'xi' would come before 'xo'"):
        scheduled(convolution(columns=8), [*splits, Reorder("sums", ("xa", "xi", "xb"))])
