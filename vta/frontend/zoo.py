"""Networks built in by name, with seeded weights: Gluon's residual networks, `plain_nets`, and a DCGAN generator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vta.errors import UsageError
from vta.frontend.mxnet.attributes import Attributes
from vta.frontend.mxnet.importer import import_symbol
from vta.frontend.mxnet.parameters import SeededParameters
from vta.frontend.mxnet.symbol import VARIABLE, Symbol, SymbolNode
from vta.frontend.plain_nets import PLAIN_NETS
from vta.ir.graph import Graph

__all__ = ["built_in", "built_in_names", "dcgan_symbol", "resnet_symbol"]

_CLASSES = 1000
_STAGES = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}
_BOTTLENECK_FROM = 50
_STEM_CHANNELS = 64
_DCGAN = "dcgan"
_DCGAN_NOISE = (1, 100, 1, 1)
_DCGAN_CHANNELS = (1024, 512, 256, 128)
"""Of the generator's images of 4x4, 8x8, 16x16 and 32x32."""


def built_in_names() -> list[str]:
    """Names that `built_in` knows."""
    return [*(f"resnet{depth}_v{version}" for version in (1, 2) for depth in _STAGES), *PLAIN_NETS, _DCGAN]


def built_in(name: str, shapes: Mapping[str, tuple[int, ...]] | None = None, seed: int = 0) -> Graph:
    """Return the network called `name`; its input `data` has the usual size, one image, unless `shapes` says otherwise.

    Raises `UsageError` listing the names if there is none called that.
    """
    if name not in built_in_names():
        raise UsageError(f"no built-in network is called {name!r}; there are {', '.join(built_in_names())}")
    if name == _DCGAN:
        return import_symbol(dcgan_symbol(), SeededParameters(seed), shapes or {"data": _DCGAN_NOISE}, name, name)
    if name in PLAIN_NETS:
        build, shape = PLAIN_NETS[name]
        unknown = [key for key in shapes or {} if key != "data"]
        if unknown:
            raise UsageError(f"{name} has no input {unknown[0]!r}; its input is 'data'")
        return build(tuple((shapes or {}).get("data", shape)), seed)
    depth, version = name.removeprefix("resnet").split("_v")
    return import_symbol(resnet_symbol(int(depth), int(version)), SeededParameters(seed), shapes, name, name)


@dataclass(frozen=True)
class _Conv:
    """A convolution of a residual block."""

    channels: int
    kernel: int
    stride: int = 1
    bias: bool = False


@dataclass
class _Builder:
    """A symbol under construction; names count up by kind within a stage, as Gluon's do."""

    prefix: str
    nodes: list[SymbolNode] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, op: str, name: str, *inputs: int, **attrs: object) -> int:
        """Append a node and return its index."""
        text = Attributes({key: str(value) for key, value in attrs.items()})
        self.nodes.append(SymbolNode(op, name, tuple((index, 0) for index in inputs), text))
        return len(self.nodes) - 1

    def numbered(self, kind: str, stage: str) -> str:
        """Return the next name of a kind in a stage."""
        key = f"{stage}{kind}"
        self.counts[key] = self.counts.get(key, -1) + 1
        return f"{self.prefix}_{key}{self.counts[key]}"

    def variables(self, name: str, *kinds: str) -> list[int]:
        """Append the parameters of a layer."""
        return [self.add(VARIABLE, f"{name}_{kind}") for kind in kinds]

    def conv(self, name: str, data: int, conv: _Conv) -> int:
        """Append a convolution that keeps the size but for its stride."""
        parameters = self.variables(name, "weight", "bias") if conv.bias else self.variables(name, "weight")
        kernel, pad = conv.kernel, conv.kernel // 2
        return self.add(
            "Convolution",
            f"{name}_fwd",
            data,
            *parameters,
            dilate=(1, 1),
            kernel=(kernel, kernel),
            layout="NCHW",
            no_bias=not conv.bias,
            num_filter=conv.channels,
            num_group=1,
            pad=(pad, pad),
            stride=(conv.stride, conv.stride),
        )

    def deconv(self, name: str, data: int, channels: int, stride: int, pad: int) -> int:
        """Append a transposed convolution with a 4x4 kernel and no bias."""
        attrs = {"kernel": (4, 4), "stride": (stride, stride), "pad": (pad, pad), "num_filter": channels, "no_bias": True}
        return self.add("Deconvolution", name, data, *self.variables(name, "weight"), **attrs)

    def batch_norm(self, name: str, data: int, fix_gamma: bool = False) -> int:
        parameters = self.variables(name, "gamma", "beta", "running_mean", "running_var")
        return self.add(
            "BatchNorm",
            f"{name}_fwd",
            data,
            *parameters,
            axis=1,
            eps=1e-05,
            fix_gamma=fix_gamma,
            momentum=0.9,
            use_global_stats=False,
        )

    def relu(self, name: str, data: int) -> int:
        return self.add("Activation", name, data, act_type="relu")

    def max_pool(self, name: str, data: int) -> int:
        """Append the pooling of the stem: 3x3, stride 2."""
        return self._pool(name, data, pool_type="max", kernel=(3, 3), stride=(2, 2), pad=(1, 1), global_pool=False)

    def global_pool(self, name: str, data: int) -> int:
        return self._pool(name, data, pool_type="avg", kernel=(1, 1), stride=(1, 1), pad=(0, 0), global_pool=True)

    def _pool(self, name: str, data: int, *, global_pool: bool, **attrs: object) -> int:
        convention = "full" if global_pool else "valid"
        return self.add("Pooling", name, data, layout="NCHW", global_pool=global_pool, pooling_convention=convention, **attrs)


def dcgan_symbol() -> Symbol:
    """Return the generator of Radford, Metz and Chintala (2016, arXiv:1511.06434): noise (N, 100, 1, 1) to images of 64x64."""
    net = _Builder(_DCGAN)
    value = net.add(VARIABLE, "data")
    for index, channels in enumerate(_DCGAN_CHANNELS):
        value = net.deconv(net.numbered("deconv", ""), value, channels, *((2, 1) if index else (1, 0)))
        value = net.relu(net.numbered("relu", ""), net.batch_norm(net.numbered("batchnorm", ""), value))
    value = net.deconv(net.numbered("deconv", ""), value, 3, 2, 1)
    value = net.add("Activation", net.numbered("tanh", ""), value, act_type="tanh")
    return Symbol(tuple(net.nodes), ((value, 0),))


def resnet_symbol(depth: int, version: int) -> Symbol:
    """Return Gluon's residual network of 18, 34 or 50 layers; version 2 activates before its convolutions."""
    net = _Builder(f"resnetv{version}0")
    value = net.add(VARIABLE, "data")
    if version == 2:
        value = net.batch_norm(net.numbered("batchnorm", ""), value, fix_gamma=True)
    value = net.conv(net.numbered("conv", ""), value, _Conv(_STEM_CHANNELS, 7, 2))
    value = net.relu(f"{net.numbered('relu', '')}_fwd", net.batch_norm(net.numbered("batchnorm", ""), value))
    value = net.max_pool(f"{net.prefix}_pool0_fwd", value)
    bottleneck = depth >= _BOTTLENECK_FROM
    block = _block_v1 if version == 1 else _block_v2
    for stage, count in enumerate(_STAGES[depth]):
        for index in range(count):
            stride = 2 if stage and not index else 1
            convs = _convs(_STEM_CHANNELS << stage, stride, bottleneck, version)
            widened = not index and (stage > 0 or bottleneck)
            value = block(net, f"stage{stage + 1}_", value, convs, stride if widened else 0)
    return _head(net, value, version)


def _convs(width: int, stride: int, bottleneck: bool, version: int) -> tuple[_Conv, ...]:
    if not bottleneck:
        return _Conv(width, 3, stride), _Conv(width, 3)
    if version == 1:
        # Gluon's first version strides in the first 1x1 convolution, and its 1x1 convolutions keep a bias before batch norm.
        return _Conv(width, 1, stride, bias=True), _Conv(width, 3), _Conv(width * 4, 1, bias=True)
    return _Conv(width, 1), _Conv(width, 3, stride), _Conv(width * 4, 1)


def _block_v1(net: _Builder, stage: str, data: int, convs: tuple[_Conv, ...], shortcut_stride: int) -> int:
    """Convolutions each followed by batch norm, plus the shortcut; a shortcut stride of 0 means no convolution there."""
    names = [(net.numbered("conv", stage), net.numbered("batchnorm", stage)) for _ in convs]
    shortcut = data
    if shortcut_stride:
        conv_name, norm_name = net.numbered("conv", stage), net.numbered("batchnorm", stage)
        shortcut = net.batch_norm(norm_name, net.conv(conv_name, data, _Conv(convs[-1].channels, 1, shortcut_stride)))
    value = data
    for conv, (conv_name, norm_name) in zip(convs, names, strict=True):
        value = net.conv(conv_name, value, conv)
        value = net.batch_norm(norm_name, value)
        if conv is not convs[-1]:
            value = net.relu(f"{net.numbered('relu', stage)}_fwd", value)
    total = net.add("elemwise_add", net.numbered("_plus", stage), shortcut, value)
    return net.relu(net.numbered("activation", stage), total)


def _block_v2(net: _Builder, stage: str, data: int, convs: tuple[_Conv, ...], shortcut_stride: int) -> int:
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
        shortcut = net.conv(net.numbered("conv", stage), activated, _Conv(convs[-1].channels, 1, shortcut_stride))
    return net.add("elemwise_add", net.numbered("_plus", stage), value, shortcut)


def _head(net: _Builder, value: int, version: int) -> Symbol:
    if version == 2:
        value = net.relu(f"{net.numbered('relu', '')}_fwd", net.batch_norm(net.numbered("batchnorm", ""), value))
    value = net.global_pool(f"{net.prefix}_pool1_fwd", value)
    if version == 2:
        value = net.add("Flatten", f"{net.prefix}_flatten0_flatten0", value)
    name = f"{net.prefix}_dense0"
    parameters = net.variables(name, "weight", "bias")
    value = net.add("FullyConnected", f"{name}_fwd", value, *parameters, flatten=True, no_bias=False, num_hidden=_CLASSES)
    return Symbol(tuple(net.nodes), ((value, 0),))
