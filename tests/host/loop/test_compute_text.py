"""What a kernel computes as text, and what tells kernels from each other."""

from dataclasses import replace

from tests.host.computes import convolution, relu_of
from vta.host.loop.compute import Kernel
from vta.host.loop.compute_text import compute_digest, compute_text
from vta.host.loop.expression import binary, const, load


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
