"""The end of a requantization: a byte between two bounds. In modules, as in `shifting`."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value, signed
from amaranth.lib.wiring import Component, In, Out

__all__ = ["Clamp"]

_BYTE = 8
_GROUP = 5
"""Bits that one look-up table of six inputs compares with the sign."""


class Clamp(Component):
    """`narrow` is `total`, not below `low` and then not above `high`, or its low byte if it is `wide`.

    It is `passed` unless `clamps` is 1.
    """

    def __init__(self, *, bits: int) -> None:
        narrow = signed(_BYTE)
        super().__init__(
            {
                "total": In(signed(bits)),
                "low": In(narrow),
                "high": In(narrow),
                "wide": In(1),
                "clamps": In(1),
                "passed": In(_BYTE),
                "narrow": Out(_BYTE),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Compare what is in reach of the bounds; if it is beyond, its sign decides."""
        m = Module()
        byte, negative, upper = self.total[:_BYTE].as_signed(), self.total[-1], self.total[_BYTE - 1 : -1]
        parts = [upper[at : at + _GROUP] for at in range(0, len(upper), _GROUP)]
        differ = [Signal(name=f"differ_{index}") for index in range(len(parts))]
        beyond, takes_low, takes_high, raised = Signal(), Signal(), Signal(), Signal(signed(_BYTE))
        m.submodules.below = below = _Less()
        m.submodules.above = above = _Less()
        m.submodules.choice = choice = _Choice()
        m.d.comb += [
            *(signal.eq((part ^ negative.replicate(len(part))).any()) for signal, part in zip(differ, parts, strict=True)),
            beyond.eq(_any(differ)),
            *(below.a.eq(byte), below.b.eq(self.low), above.a.eq(self.high), above.b.eq(raised)),
            takes_low.eq(~self.wide & Mux(beyond, negative, below.less)),
            raised.eq(Mux(takes_low, self.low, byte)),
            takes_high.eq(~self.wide & ((beyond & ~negative) | above.less)),
            *(choice.high.eq(self.high), choice.raised.eq(raised), choice.passed.eq(self.passed)),
            *(choice.clamps.eq(self.clamps), choice.takes_high.eq(takes_high)),
            self.narrow.eq(choice.narrow),
        ]
        return m


class _Less(Component):
    """`less` is whether `a` is less than `b`."""

    def __init__(self) -> None:
        super().__init__({"a": In(signed(_BYTE)), "b": In(signed(_BYTE)), "less": Out(1)})

    def elaborate(self, platform: object) -> Module:
        """Compare."""
        m = Module()
        m.d.comb += self.less.eq(self.a < self.b)
        return m


class _Choice(Component):
    """`narrow` is `passed`, or if it `clamps`, `raised` or `high`."""

    def __init__(self) -> None:
        scalars = {name: In(_BYTE) for name in ("passed", "raised", "high")}
        super().__init__(scalars | {name: In(1) for name in ("clamps", "takes_high")} | {"narrow": Out(_BYTE)})

    def elaborate(self, platform: object) -> Module:
        """Choose among three."""
        m = Module()
        m.d.comb += self.narrow.eq(Mux(self.clamps, Mux(self.takes_high, self.high, self.raised), self.passed))
        return m


def _any(bits: list[Signal]) -> Value:
    found: Value = bits[0]
    for bit in bits[1:]:
        found = found | bit
    return found
