"""The generator of a DCGAN."""

from __future__ import annotations

from vta.frontend.mxnet.symbol import VARIABLE, Symbol
from vta.frontend.zoo.builder import Builder

__all__ = ["DCGAN_NOISE", "dcgan_symbol"]

DCGAN_NOISE = (1, 100, 1, 1)
_CHANNELS = (1024, 512, 256, 128)
"""Of the generator's images of 4x4, 8x8, 16x16 and 32x32."""


def dcgan_symbol() -> Symbol:
    """Return the generator of Radford, Metz and Chintala (2016, arXiv:1511.06434): noise (N, 100, 1, 1) to images of 64x64."""
    net = Builder("dcgan")
    value = net.add(VARIABLE, "data")
    for index, channels in enumerate(_CHANNELS):
        value = net.deconv(net.numbered("deconv", ""), value, channels, *((2, 1) if index else (1, 0)))
        value = net.relu(net.numbered("relu", ""), net.batch_norm(net.numbered("batchnorm", ""), value))
    value = net.deconv(net.numbered("deconv", ""), value, 3, 2, 1)
    return net.symbol(net.add("Activation", net.numbered("tanh", ""), value, act_type="tanh"))
