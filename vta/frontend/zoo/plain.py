"""Networks without residuals: VGG and MobileNet v1, as Gluon builds them."""

from __future__ import annotations

from vta.frontend.mxnet.symbol import VARIABLE, Symbol
from vta.frontend.zoo.builder import CLASSES, Builder, Conv

__all__ = ["mobilenet_symbol", "vgg_symbol"]

_VGG16 = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))
"""Channels and number of the convolutions of each stage."""
_VGG_UNITS = 4096
_MOBILENET_STEM = 32
_MOBILENET = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1),) * 5,
    *((1024, 2), (1024, 1)),
)
"""Output channels, and stride of the depthwise convolution, of each pair."""


def vgg_symbol() -> Symbol:
    """Return VGG with 16 layers, without batch norm (Simonyan and Zisserman, 2014, configuration D)."""
    net = Builder("vgg0")
    value = net.add(VARIABLE, "data")
    for stage, (channels, count) in enumerate(_VGG16):
        for _ in range(count):
            value = net.conv(net.numbered("conv", ""), value, Conv(channels, 3, bias=True))
            value = net.relu(f"{net.numbered('relu', '')}_fwd", value)
        value = net.pool(f"{net.prefix}_pool{stage}_fwd", value, "max", 2, 2)
    for index in range(2):
        value = net.dense(f"{net.prefix}_dense{index}", value, _VGG_UNITS)
        value = net.relu(f"{net.prefix}_dense{index}_relu_fwd", value)
    return net.symbol(net.dense(f"{net.prefix}_dense2", value, CLASSES))


def mobilenet_symbol(multiplier: float) -> Symbol:
    """Return MobileNet v1 with `multiplier` times the channels (Howard et al., 2017, table 1)."""
    net = Builder("mobilenet0")

    def layer(data: int, conv: Conv) -> int:
        value = net.conv(net.numbered("conv", ""), data, conv)
        value = net.batch_norm(net.numbered("batchnorm", ""), value)
        return net.relu(f"{net.numbered('relu', '')}_fwd", value)

    width = int(_MOBILENET_STEM * multiplier)
    value = layer(net.add(VARIABLE, "data"), Conv(width, 3, 2))
    for full, stride in _MOBILENET:
        value = layer(value, Conv(width, 3, stride, groups=width))
        width = int(full * multiplier)
        value = layer(value, Conv(width, 1))
    value = net.global_pool(f"{net.prefix}_pool0_fwd", value)
    return net.symbol(net.dense(f"{net.prefix}_dense0", value, CLASSES))
