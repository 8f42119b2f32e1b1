"""What a kernel computes as text, and what tells kernels from each other."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.host.computes import convolution, relu_of
from vta.host.loop.buffer import Buffer
from vta.host.loop.compute import Kernel, Stage, axes_of
from vta.host.loop.compute_text import compute_digest, compute_key, compute_text
from vta.host.loop.expression import Load, binary, cast, const, index, load, map_expression, select, unary


def test_stages_are_printed_one_after_the_other():
    assert (
        compute_text(relu_of(convolution(rows=2, columns=3, channels=1, outputs=4, kernel=1)))
        == """\
input data: int8[2, 3, 1]
input weight: int8[1, 1, 1, 4]
input bias: int32[4]
sums[y < 2, x < 3, o < 4]: int32
  = bias[o]
  over [kh < 1, kw < 1, c < 1]
  += (int32(data[(y + kh), (x + kw), c]) * int32(weight[kh, kw, c, o]))
relu[y < 2, x < 3, o < 4]: int32
  = max(sums[y, x, o], int32(0))
"""
    )


def scaled(factor: int, **sizes) -> Kernel:
    kernel = convolution(**sizes)
    (stage,) = kernel.stages
    last = replace(
        relu_of(kernel).stages[-1], value=binary("mul", load(stage.output, [a.var for a in stage.axes]), const(factor, "int32"))
    )
    return Kernel("kernel", kernel.inputs, (stage, last))


def test_kernels_that_differ_in_numbers_alone_are_one():
    assert compute_digest(scaled(3)) == compute_digest(scaled(4)) != compute_digest(scaled(3, rows=6))
    assert compute_text(scaled(3)) != compute_text(scaled(4))


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))
def test_keys_are_alike_where_texts_are(factor, other, channels, more):
    first, second = scaled(factor, channels=channels), scaled(other, channels=more)
    assert (compute_key(first) == compute_key(second)) == (compute_text(first) == compute_text(second))


def test_keys_tell_types_operations_and_places_from_each_other():
    data, axes = Buffer("data", (4,), "float32"), axes_of({"x": 4})
    x = axes[0].var

    def key(value, name="data"):
        source = Buffer(name, (4,), "float32")
        value = map_expression(value, lambda node: load(source, node.indices) if isinstance(node, Load) else None)
        return compute_key(Kernel("kernel", (source,), (Stage(Buffer("out", (4,), value.dtype), axes, value),)))

    item = load(data, [x])
    values = [
        item,
        load(data, [index(0)]),
        load(data, [index(1)]),
        unary("neg", item),
        unary("abs", item),
        cast(item, "int32"),
        cast(item, "int8"),
        const(1, "float32"),
        const(1, "int32"),
        const(True, "bool"),
        binary("add", item, const(1.5, "float32")),
        binary("sub", item, const(1.5, "float32")),
        binary("sub", const(1.5, "float32"), item),
        select(binary("lt", x, index(2)), item, const(0, "float32")),
        select(binary("lt", x, index(2)), const(0, "float32"), item),
    ]
    assert len({key(value) for value in values}) == len(values)
    assert key(item) != key(item, "other")
    # Whether parts are one object does not count.
    assert key(binary("add", item, item)) == key(binary("add", load(data, [x]), load(data, [axes[0].var])))
