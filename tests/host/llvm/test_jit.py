"""Compiled programs give what the interpreter of loop nests gives."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.host.computes import convolution, random_arrays, relu_of, schedules
from vta.host.llvm import jit
from vta.host.llvm.jit import compile_object, compile_program
from vta.host.llvm.target import host_target
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Kernel, Stage, axes_of
from vta.host.loop.errors import LoopError
from vta.host.loop.expression import Load, binary, cast, const, index, load, map_expression, select, unary
from vta.host.loop.interpret import evaluate_kernel
from vta.host.loop.lower import lower
from vta.host.loop.schedule import scheduled
from vta.host.loop.steps import Bind, ComputeAt, Dot, Fuse, Reorder, Split, Transpose, Vectorize
from vta.host.processors import CpuTarget

INTEGERS = ("int8", "uint8", "int16", "int32", "int64")


@pytest.fixture(scope="module", params=[0, 1 << 30], ids=["all passes", "few passes"])
def passes(request):
    """Compile with all passes that kernels with much to do get, and with those of kernels that are mostly code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit, "_RUNS_OF_CODE", request.param)
        yield


def run(kernel, steps=(), arrays=None, seed=0):
    arrays = random_arrays(kernel, seed) if arrays is None else arrays
    got = compile_program(lower(scheduled(kernel, steps))).run(arrays)
    return got, evaluate_kernel(kernel, arrays)


@given(st.data(), st.booleans())
@settings(max_examples=15, deadline=None)
def test_any_schedule_compiles_to_the_same_integers(data, with_relu):
    kernel = convolution(
        rows=data.draw(st.integers(1, 3)), columns=data.draw(st.integers(1, 9)), outputs=data.draw(st.integers(1, 5))
    )
    kernel = relu_of(kernel) if with_relu else kernel
    got, want = run(kernel, data.draw(schedules(kernel)))
    np.testing.assert_array_equal(got, want)


def elementwise(inputs, value, size=37):
    """A kernel of one loop over `size`: what `value` makes of the inputs' elements."""
    buffers = tuple(Buffer(f"x{at}", (size,), dtype) for at, dtype in enumerate(inputs))
    axes = axes_of({"i": size})
    expression = value(*(load(buffer, [axes[0].var]) for buffer in buffers))
    return Kernel("one", buffers, (Stage(Buffer("y", (size,), expression.dtype), axes, expression),))


VECTORS = (Split("y", "i", 8, "io", "ii"), Vectorize("y", "ii"))


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("steps", [(), VECTORS], ids=["scalar", "vector"])
@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64"])
@pytest.mark.parametrize("operation", ["add", "sub", "mul", "min", "max"])
def test_arithmetic(operation, dtype, steps):
    got, want = run(elementwise([dtype, dtype], lambda a, b: binary(operation, a, b)), steps)
    np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("steps", [(), VECTORS], ids=["scalar", "vector"])
@pytest.mark.parametrize("operation", ["min", "max"])
def test_extremes_keep_nan(operation, steps):
    values = np.float32([np.nan, 1, -1, np.inf, -np.inf, np.nan, 0, 3] * 5)[:37]
    kernel = elementwise(["float32", "float32"], lambda a, b: binary(operation, a, b))
    got, want = run(kernel, steps, [values, values[::-1].copy()])
    np.testing.assert_array_equal(got, want)
    with_zero = elementwise(["float32"], lambda a: binary(operation, a, const(0, "float32")))
    got, want = run(with_zero, steps, [values])
    np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("steps", [(), VECTORS], ids=["scalar", "vector"])
@pytest.mark.parametrize("wanted", [*INTEGERS, "float32", "float64"])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_conversions(dtype, wanted, steps):
    got, want = run(elementwise([dtype], lambda a: cast(a, wanted)), steps)
    np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("steps", [(), VECTORS], ids=["scalar", "vector"])
@pytest.mark.parametrize("operation", ["neg", "abs", "sqrt", "floor", "ceil", "round_even", "trunc"])
def test_functions_that_are_rounded_right(operation, steps):
    kernel = elementwise(["float32"], lambda a: unary(operation, unary("abs", a) if operation == "sqrt" else a))
    values = np.float32([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0, -0.0, 7e9, -7e9, 0.49999997, 3] * 4)[:37]
    got, want = run(kernel, steps, [values])
    np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("steps", [(), VECTORS], ids=["scalar", "vector"])
@pytest.mark.parametrize("operation", ["exp", "log", "tanh"])
def test_functions_within_two_units_of_the_last_place(operation, steps):
    kernel = elementwise(["float32"], lambda a: unary(operation, unary("abs", a)))
    got, want = run(kernel, steps)
    np.testing.assert_array_max_ulp(got, want, 2)


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("steps", [(), VECTORS], ids=["scalar", "vector"])
def test_a_choice_reads_only_what_it_chooses(steps):
    """Padding: elements outside are not read, for lanes that differ as well."""
    data = Buffer("data", (20,), "int32")
    axes = axes_of({"i": 37})
    at = binary("sub", axes[0].var, index(9))
    inside = binary("and", binary("le", index(0), at), binary("lt", at, index(20)))
    stage = Stage(Buffer("y", (37,), "int32"), axes, select(inside, load(data, [at]), const(-1, "int32")))
    got, want = run(Kernel("pad", (data,), (stage,)), steps)
    np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("steps", [(), VECTORS], ids=["scalar", "vector"])
@pytest.mark.parametrize("stride", [0, 2, -1])
def test_lanes_that_are_not_neighbors(stride, steps):
    data = Buffer("data", (80,), "int16")
    axes = axes_of({"i": 37})
    at = binary("add", binary("mul", axes[0].var, index(stride)), index(40 if stride < 0 else 0))
    got, want = run(Kernel("gather", (data,), (Stage(Buffer("y", (37,), "int16"), axes, load(data, [at])),)), steps)
    np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("steps", [(), VECTORS], ids=["scalar", "vector"])
def test_numbers_that_are_known_are_computed(steps):
    """As they are at run time."""
    known = {
        "add": (2**62, 2**61), "sub": (-(2**62), 1), "mul": (2**31, 2**30), "and": (12, 10), "or": (12, 10), "shl": (3, 60),
        "shr": (-9, 2), "min": (-3, 5), "max": (-3, 5),
    }  # fmt: skip
    for operation, (left, right) in known.items():
        number = binary(operation, const(left, "int64"), const(right, "int64"))
        kernel = elementwise(["int64"], lambda a, number=number: binary("xor", a, number))
        np.testing.assert_array_equal(*run(kernel, steps))
    for operation in ("lt", "le", "eq"):
        chosen = select(binary(operation, const(3, "int64"), const(3, "int64")), const(7, "int64"), const(9, "int64"))
        np.testing.assert_array_equal(*run(elementwise(["int64"], lambda a, chosen=chosen: binary("add", a, chosen)), steps))


@pytest.mark.usefixtures("passes")
def test_division_is_towards_minus_infinity():
    data = Buffer("data", (40,), "int32")
    axes = axes_of({"i": 37})
    lower_part = binary("sub", axes[0].var, index(20))
    at = binary("add", binary("floordiv", lower_part, index(7)), binary("mod", lower_part, index(7)))
    stage = Stage(Buffer("y", (37,), "int32"), axes, load(data, [binary("add", at, index(5))]))
    got, want = run(Kernel("divide", (data,), (stage,)))
    np.testing.assert_array_equal(got, want)


def dot_kernel(lanes, depth):
    data = Buffer("data", (3, 4 * depth), "uint8")
    weight = Buffer("weight", (depth, lanes, 4), "int8")
    axes = axes_of({"n": 3, "o": lanes})
    reduce = axes_of({"k": depth, "d": 4})
    (n, o), (k, d) = ([axis.var for axis in group] for group in (axes, reduce))
    position = binary("add", binary("mul", k, index(4)), d)
    product = binary("mul", cast(load(data, [n, position]), "int32"), cast(load(weight, [k, o, d]), "int32"))
    return Kernel(
        "dot", (data, weight), (Stage(Buffer("y", (3, lanes), "int32"), axes, product, reduce, "add", const(0, "int32")),)
    )


DOT = (Reorder("y", ("n", "k", "o", "d")), Vectorize("y", "o"), Dot("y", "d"))


@pytest.mark.parametrize("lanes", [4, 8, 16, 5])
def test_dot_products_of_bytes(lanes):
    got, want = run(dot_kernel(lanes, 5), DOT)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("lanes", "apart"), [(16, 16), (16, 20), (8, 8), (4, 4), (5, 16)])
def test_dot_products_of_vectors_of_bytes_that_lie_apart(lanes, apart):
    data, weight = Buffer("data", (7, apart), "uint8"), Buffer("weight", (2, lanes, 4), "int8")
    axes, reduce = axes_of({"n": 3, "o": lanes}), axes_of({"k": 2, "d": 4})
    (n, o), (k, d) = ([axis.var for axis in group] for group in (axes, reduce))
    row = binary("add", binary("add", n, k), d)
    product = binary("mul", cast(load(data, [row, o]), "int32"), cast(load(weight, [k, o, d]), "int32"))
    stage = Stage(Buffer("y", (3, lanes), "int32"), axes, product, reduce, "add", const(0, "int32"))
    got, want = run(Kernel("dot", (data, weight), (stage,)), DOT)
    np.testing.assert_array_equal(got, want)


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("dtype", ["float32", "int8", "int32"])
@pytest.mark.parametrize("lanes", [2, 5, 16])
def test_every_second_element_of_a_row(dtype, lanes):
    data = Buffer("data", (2 * lanes,), dtype)
    axes = axes_of({"i": lanes})
    stage = Stage(Buffer("y", (lanes,), dtype), axes, load(data, [binary("mul", axes[0].var, index(2))]))
    got, want = run(Kernel("thinned", (data,), (stage,)), (Vectorize("y", "i"),))
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("rows", "columns"), [(1, 2), (2, 3), (3, 4), (4, 1)])
@pytest.mark.parametrize("first", ["x", "y"])
def test_lanes_of_two_loops_that_were_fused(rows, columns, first):
    kernel = relu_of(convolution(rows=rows, columns=columns, outputs=1))
    second = "y" if first == "x" else "x"
    fused = (Fuse("relu", first, second, "fused"), Vectorize("relu", "fused", whole=False))
    got, want = run(kernel, (Reorder("relu", ("o", first, second)), *fused))
    np.testing.assert_array_equal(got, want)


def test_a_dot_product_of_other_types_is_refused():
    kernel = convolution(channels=4, outputs=8)
    steps = (Reorder("sums", ("y", "x", "kh", "kw", "o", "c")), Vectorize("sums", "o"), Dot("sums", "c"))
    with pytest.raises(LoopError, match="four neighbours of a uint8"):
        compile_object(lower(scheduled(kernel, steps)), host_target())


def test_a_processor_has_no_grid_of_threads():
    program = lower(scheduled(convolution(), [Bind("sums", "y", "blockIdx.x")]))
    with pytest.raises(LoopError, match=r"no blockIdx\.x"):
        compile_object(program, host_target())


@pytest.mark.parametrize(
    ("triple", "cpu", "machine"),
    [
        ("x86_64-unknown-linux-gnu", "x86-64", 62),
        ("aarch64-unknown-linux-gnu", "cortex-a53", 183),
        ("armv7-unknown-linux-gnueabihf", "cortex-a9", 40),
    ],
)
def test_objects_for_other_processors(triple, cpu, machine):
    """Bytes 18 and 19 of an ELF file say what it is for."""
    program = lower(scheduled(dot_kernel(4, 5), DOT))
    code = compile_object(program, CpuTarget(triple, cpu, "", 16, 16, False))
    assert code[:4] == b"\x7fELF"
    assert int.from_bytes(code[18:20], "little") == machine


def turned(rows, columns, border=0):
    """A matrix turned, inside a border of zeros."""
    given_rows, given_columns = rows - 2 * border, columns - 2 * border
    data = Buffer("data", (given_columns, given_rows), "float32")
    axes = axes_of({"y": rows, "x": columns})
    y, x = (binary("sub", axis.var, index(border)) for axis in axes)
    value = load(data, [x, y])
    if border:
        limits = [(y, given_rows), (x, given_columns)]
        conditions = [binary("and", binary("le", index(0), at), binary("lt", at, index(size))) for at, size in limits]
        value = select(binary("and", *conditions), value, const(0, "float32"))
    return Kernel("turned", (data,), (Stage(Buffer("y", (rows, columns), "float32"), axes, value),))


@pytest.mark.usefixtures("passes")
@pytest.mark.parametrize("border", [0, 1, 3])
@pytest.mark.parametrize(("rows", "columns"), [(8, 8), (9, 7), (16, 20), (17, 33)])
def test_blocks_are_turned_in_registers(rows, columns, border):
    steps = [
        Split("y", "y", 8, "yo", "yi"),
        Split("y", "x", 8, "xo", "xi"),
        Reorder("y", ("yo", "xo", "yi", "xi")),
        Transpose("y", "yi"),
        Vectorize("y", "xi"),
    ]
    got, want = run(turned(rows, columns, border), steps)
    np.testing.assert_array_equal(got, want)


def test_a_stage_computed_for_one_that_is_inside_itself():
    """Data copied for some rows, sums of a row, both inside the loops of the result."""
    kernel = relu_of(convolution(rows=8, columns=9))
    data, axes = kernel.inputs[0], axes_of(dict(zip("hwc", kernel.inputs[0].shape, strict=True)))
    copied = Buffer("copied", data.shape, data.dtype)
    first = Stage(copied, axes, load(data, [axis.var for axis in axes]))
    sums = kernel.stages[0]
    reads_copy = map_expression(
        sums.value, lambda node: load(copied, node.indices) if isinstance(node, Load) and node.buffer is data else None
    )
    stages = (first, replace(sums, value=reads_copy), *kernel.stages[1:])
    steps = [Split("relu", "y", 4, "yo", "yi"), ComputeAt("sums", "relu", "yi"), ComputeAt("copied", "relu", "yo")]
    got, want = run(Kernel("nested", kernel.inputs, stages), steps)
    np.testing.assert_array_equal(got, want)
