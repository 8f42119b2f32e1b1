"""Inception v3, as Gluon builds it (Szegedy et al., 2015)."""

from __future__ import annotations

from vta.frontend.mxnet.symbol import VARIABLE, Symbol
from vta.frontend.zoo.builder import CLASSES, Builder, Conv

__all__ = ["inception_v3_symbol"]

_ROW, _COLUMN = (1, 7), (7, 1)


def inception_v3_symbol() -> Symbol:
    """Return Inception v3 without its auxiliary classifier, for images of 299 x 299."""
    net = _Inception("inception3")
    value = net.branch(net.add(VARIABLE, "data"), Conv(32, 3, 2, pad=0), Conv(32, 3, pad=0), Conv(64, 3))
    value = net.branch(net.reduced(value), Conv(80, 1), Conv(192, 3, pad=0))
    value = net.reduced(value)
    for channels in (32, 64, 64):
        value = net.block_35(value, channels)
    value = net.to_17(value)
    for channels in (128, 160, 160, 192):
        value = net.block_17(value, channels)
    value = net.to_8(value)
    for _ in range(2):
        value = net.block_8(value)
    value = net.global_pool(f"{net.prefix}_pool_fwd", value)
    return net.symbol(net.dense(f"{net.prefix}_dense0", value, CLASSES))


class _Inception(Builder):
    """Adds the modules of the network; each is named by the size of its images."""

    def branch(self, data: int, *convs: Conv) -> int:
        """Convolutions one after the other, each with batch norm and activation."""
        for conv in convs:
            data = self.conv(self.numbered("conv", ""), data, conv)
            data = self.batch_norm(self.numbered("batchnorm", ""), data)
            data = self.relu(f"{self.numbered('relu', '')}_fwd", data)
        return data

    def reduced(self, data: int) -> int:
        """The maximum over 3 x 3, every other position."""
        return self.pool(f"{self.numbered('pool', '')}_fwd", data, "max", 3, 2)

    def joined(self, *parts: int) -> int:
        """Branches one after the other along the channels."""
        return self.concat(self.numbered("concat", ""), *parts)

    def averaged(self, data: int, channels: int) -> int:
        """The branch that averages before its convolution."""
        value = self.pool(f"{self.numbered('pool', '')}_fwd", data, "avg", 3, 1, 1)
        return self.branch(value, Conv(channels, 1))

    def block_35(self, data: int, pooled: int) -> int:
        """Branches of up to 5 x 5."""
        return self.joined(
            self.branch(data, Conv(64, 1)),
            self.branch(data, Conv(48, 1), Conv(64, 5)),
            self.branch(data, Conv(64, 1), Conv(96, 3), Conv(96, 3)),
            self.averaged(data, pooled),
        )

    def to_17(self, data: int) -> int:
        """From images of 35 x 35 to 17 x 17."""
        return self.joined(
            self.branch(data, Conv(384, 3, 2, pad=0)),
            self.branch(data, Conv(64, 1), Conv(96, 3), Conv(96, 3, 2, pad=0)),
            self.reduced(data),
        )

    def block_17(self, data: int, inner: int) -> int:
        """Branches of 7 x 7, each kernel as a row and a column."""
        double = (Conv(inner, _COLUMN), Conv(inner, _ROW), Conv(inner, _COLUMN), Conv(192, _ROW))
        return self.joined(
            self.branch(data, Conv(192, 1)),
            self.branch(data, Conv(inner, 1), Conv(inner, _ROW), Conv(192, _COLUMN)),
            self.branch(data, Conv(inner, 1), *double),
            self.averaged(data, 192),
        )

    def to_8(self, data: int) -> int:
        """From images of 17 x 17 to 8 x 8."""
        return self.joined(
            self.branch(data, Conv(192, 1), Conv(320, 3, 2, pad=0)),
            self.branch(data, Conv(192, 1), Conv(192, _ROW), Conv(192, _COLUMN), Conv(192, 3, 2, pad=0)),
            self.reduced(data),
        )

    def block_8(self, data: int) -> int:
        """Branches that end in a row and a column side by side."""
        row, column = Conv(384, (1, 3)), Conv(384, (3, 1))
        inner = self.branch(data, Conv(384, 1))
        deeper = self.branch(data, Conv(448, 1), Conv(384, 3))
        sides = [self.branch(value, conv) for value in (inner, deeper) for conv in (row, column)]
        return self.joined(self.branch(data, Conv(320, 1)), *sides, self.averaged(data, 192))
