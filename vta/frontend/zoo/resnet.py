"""Gluon's residual networks."""

from __future__ import annotations

from vta.frontend.mxnet.symbol import VARIABLE, Symbol
from vta.frontend.zoo.builder import CLASSES, Builder, Conv

__all__ = ["STAGES", "resnet_symbol"]

STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}
_BOTTLENECK_FROM = 50
_STEM_CHANNELS = 64


def resnet_symbol(depth: int, version: int) -> Symbol:
    """Return Gluon's residual network of 18, 34 or 50 layers; version 2 activates before its convolutions."""
    net = Builder(f"resnetv{version}0")
    value = net.add(VARIABLE, "data")
    if version == 2:
        value = net.batch_norm(net.numbered("batchnorm", ""), value, fix_gamma=True)
    value = net.conv(net.numbered("conv", ""), value, Conv(_STEM_CHANNELS, 7, 2))
    value = net.relu(f"{net.numbered('relu', '')}_fwd", net.batch_norm(net.numbered("batchnorm", ""), value))
    value = net.max_pool(f"{net.prefix}_pool0_fwd", value)
    bottleneck = depth >= _BOTTLENECK_FROM
    block = _block_v1 if version == 1 else _block_v2
    for stage, count in enumerate(STAGES[depth]):
        for index in range(count):
            stride = 2 if stage and not index else 1
            convs = _convs(_STEM_CHANNELS << stage, stride, bottleneck, version)
            widened = not index and (stage > 0 or bottleneck)
            value = block(net, f"stage{stage + 1}_", value, convs, stride if widened else 0)
    return _head(net, value, version)


def _convs(width: int, stride: int, bottleneck: bool, version: int) -> tuple[Conv, ...]:
    if not bottleneck:
        return Conv(width, 3, stride), Conv(width, 3)
    if version == 1:
        # Gluon's first version strides in the first 1x1 convolution, and its 1x1 convolutions keep a bias before batch norm.
        return Conv(width, 1, stride, bias=True), Conv(width, 3), Conv(width * 4, 1, bias=True)
    return Conv(width, 1), Conv(width, 3, stride), Conv(width * 4, 1)


def _block_v1(net: Builder, stage: str, data: int, convs: tuple[Conv, ...], shortcut_stride: int) -> int:
    """Convolutions each followed by batch norm, plus the shortcut; a shortcut stride of 0 means no convolution there."""
    names = [(net.numbered("conv", stage), net.numbered("batchnorm", stage)) for _ in convs]
    shortcut = data
    if shortcut_stride:
        conv_name, norm_name = net.numbered("conv", stage), net.numbered("batchnorm", stage)
        shortcut = net.batch_norm(norm_name, net.conv(conv_name, data, Conv(convs[-1].channels, 1, shortcut_stride)))
    value = data
    for conv, (conv_name, norm_name) in zip(convs, names, strict=True):
        value = net.conv(conv_name, value, conv)
        value = net.batch_norm(norm_name, value)
        if conv is not convs[-1]:
            value = net.relu(f"{net.numbered('relu', stage)}_fwd", value)
    total = net.add("elemwise_add", net.numbered("_plus", stage), shortcut, value)
    return net.relu(net.numbered("activation", stage), total)


def _block_v2(net: Builder, stage: str, data: int, convs: tuple[Conv, ...], shortcut_stride: int) -> int:
    """Convolutions each after batch norm and activation, plus the shortcut."""
    value, activated = data, data
    for conv in convs:
        value = net.batch_norm(net.numbered("batchnorm", stage), value)
        value = net.relu(net.numbered("activation", stage), value)
        if conv is convs[0]:
            activated = value
        value = net.conv(net.numbered("conv", stage), value, conv)
    shortcut = data
    if shortcut_stride:
        shortcut = net.conv(net.numbered("conv", stage), activated, Conv(convs[-1].channels, 1, shortcut_stride))
    return net.add("elemwise_add", net.numbered("_plus", stage), value, shortcut)


def _head(net: Builder, value: int, version: int) -> Symbol:
    if version == 2:
        value = net.relu(f"{net.numbered('relu', '')}_fwd", net.batch_norm(net.numbered("batchnorm", ""), value))
    value = net.global_pool(f"{net.prefix}_pool1_fwd", value)
    if version == 2:
        value = net.add("Flatten", f"{net.prefix}_flatten0_flatten0", value)
    return net.symbol(net.dense(f"{net.prefix}_dense0", value, CLASSES))
