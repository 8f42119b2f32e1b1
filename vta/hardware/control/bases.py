"""Where the host put what the units read and write."""

from __future__ import annotations

from amaranth.lib.wiring import Out, Signature

from vta.hardware.geometry import ADDRESS_BITS

__all__ = ["Bases"]


class Bases(Signature):
    """The byte addresses of the instructions and of the first element of each memory."""

    def __init__(self) -> None:
        super().__init__({name: Out(ADDRESS_BITS) for name in ("instruction", "uop", "inp", "wgt", "acc", "out")})
