"""ResNet-8 of the MLPerf Tiny benchmark, for images of 32 x 32."""

from __future__ import annotations

from vta.frontend.mxnet.symbol import VARIABLE, Symbol
from vta.frontend.zoo.builder import Builder, Conv

__all__ = ["resnet8_symbol"]

_WIDTHS = (16, 32, 64)
_CLASSES = 10


def resnet8_symbol() -> Symbol:
    """Return the image classifier of MLPerf Tiny (Banbury et al., 2021): three residual blocks, batch norm folded.

    As in its source, a convolution of stride 2 has its padding below and to the right.
    """
    net = Builder("resnet8")

    def conv(data: int, width: int, kernel: int, stride: int = 1) -> int:
        pad = None
        if stride == 2 and kernel == 3:
            widths = (0, 0, 0, 0, 0, 1, 0, 1)
            data, pad = net.add("Pad", net.numbered("pad", ""), data, mode="constant", pad_width=widths), 0
        return net.conv(net.numbered("conv", ""), data, Conv(width, kernel, stride, bias=True, pad=pad))

    def relu(data: int) -> int:
        return net.relu(f"{net.numbered('relu', '')}_fwd", data)

    value = relu(conv(net.add(VARIABLE, "data"), _WIDTHS[0], 3))
    for width in _WIDTHS:
        stride = 1 if width == _WIDTHS[0] else 2
        shortcut = value if stride == 1 else conv(value, width, 1, stride)
        value = conv(relu(conv(value, width, 3, stride)), width, 3)
        value = relu(net.add("elemwise_add", net.numbered("_plus", ""), shortcut, value))
    value = net.global_pool(f"{net.prefix}_pool0_fwd", value)
    return net.symbol(net.dense(f"{net.prefix}_dense0", value, _CLASSES))
