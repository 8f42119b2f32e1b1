"""Symbols built layer by layer, with names as Gluon gives them."""

from __future__ import annotations

from dataclasses import field

from vta.frontend.mxnet.attributes import Attributes
from vta.frontend.mxnet.symbol import VARIABLE, Symbol, SymbolNode
from vta.support.dataclass import dataclass

__all__ = ["CLASSES", "Builder", "Conv"]

CLASSES = 1000
"""Of ImageNet."""


@dataclass(frozen=True)
class Conv:
    """A convolution."""

    channels: int
    kernel: int | tuple[int, int]
    stride: int = 1
    bias: bool = False
    pad: int | None = None
    """None: as much as keeps the size, but for the stride."""
    groups: int = 1


@dataclass
class Builder:
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

    def conv(self, name: str, data: int, conv: Conv) -> int:
        """Append a convolution."""
        parameters = self.variables(name, "weight", "bias") if conv.bias else self.variables(name, "weight")
        kernel = conv.kernel if isinstance(conv.kernel, tuple) else (conv.kernel, conv.kernel)
        pad = tuple(size // 2 if conv.pad is None else conv.pad for size in kernel)
        return self.add(
            "Convolution",
            f"{name}_fwd",
            data,
            *parameters,
            dilate=(1, 1),
            kernel=kernel,
            layout="NCHW",
            no_bias=not conv.bias,
            num_filter=conv.channels,
            num_group=conv.groups,
            pad=pad,
            stride=(conv.stride, conv.stride),
        )

    def deconv(self, name: str, data: int, channels: int, stride: int, pad: int) -> int:
        """Append a transposed convolution with a 4x4 kernel and no bias."""
        attrs = {"kernel": (4, 4), "stride": (stride, stride), "pad": (pad, pad), "num_filter": channels, "no_bias": True}
        return self.add("Deconvolution", name, data, *self.variables(name, "weight"), **attrs)

    def batch_norm(self, name: str, data: int, fix_gamma: bool = False) -> int:
        """Append a batch normalisation of channels."""
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
        """Append a rectifier."""
        return self.add("Activation", name, data, act_type="relu")

    def pool(self, name: str, data: int, kind: str, kernel: int, stride: int, pad: int = 0, full: bool = False) -> int:
        """Append a pooling, `kind` max or avg; with `full` the last window may reach over the edge."""
        sizes = {"kernel": (kernel, kernel), "stride": (stride, stride), "pad": (pad, pad)}
        convention = "full" if full else "valid"
        return self._pool(name, data, pool_type=kind, **sizes, global_pool=False, pooling_convention=convention)

    def max_pool(self, name: str, data: int) -> int:
        """Append the pooling of a residual network's stem: 3x3, stride 2."""
        return self.pool(name, data, "max", 3, 2, 1)

    def global_pool(self, name: str, data: int) -> int:
        """Append the average of each channel."""
        sizes = {"kernel": (1, 1), "stride": (1, 1), "pad": (0, 0)}
        return self._pool(name, data, pool_type="avg", **sizes, global_pool=True, pooling_convention="full")

    def concat(self, name: str, *parts: int) -> int:
        """Append parts one after the other along the channels."""
        return self.add("Concat", name, *parts, dim=1, num_args=len(parts))

    def dense(self, name: str, data: int, units: int) -> int:
        """Append a dense layer with bias."""
        parameters = self.variables(name, "weight", "bias")
        return self.add("FullyConnected", f"{name}_fwd", data, *parameters, flatten=True, no_bias=False, num_hidden=units)

    def symbol(self, value: int) -> Symbol:
        """The network that gives `value`."""
        return Symbol(tuple(self.nodes), ((value, 0),))

    def _pool(self, name: str, data: int, **attrs: object) -> int:
        return self.add("Pooling", name, data, layout="NCHW", **attrs)
