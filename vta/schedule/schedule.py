"""A schedule: one way to run an operator, as data."""

from __future__ import annotations

from vta.support.dataclass import dataclass

__all__ = ["Schedule"]


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One way to run an operator that multiplies. Sizes of the last tile of a dimension may be smaller."""

    tile_co: int
    """Output channel blocks of a tile."""
    tile_h: int
    tile_w: int
    tile_ci: int
    """Input channel blocks of one reduction step."""
    tile_kh: int
    tile_kw: int
    inp_slots: int
    """Windows of input that are kept on chip."""
    wgt_slots: int
    """Weight steps that are kept on chip."""
    acc_slots: int
    """Output tiles that are in flight: with 2, a tile is stored while the next is computed."""
    weights_outer: bool
    """Visit all positions of a channel tile before the next channel tile; otherwise all channels of a position."""
    flat: bool = True
    """Where no term looks beyond its own position, rows and columns are one axis of `tile_w`."""
    skip_padding: bool = False
    """Leave out the products with zero padding: fewer products, in more instructions, where a tile lies at an edge."""
    turns: int = 0
    """Above 0: tiles of the next operator of the region run between those of this one. Each follows so many tiles after the last
    one that it reads of. That is so with the requantize unit, where both operators fit on chip together."""

    @classmethod
    def smallest(cls) -> Schedule:
        """The one that takes the least room of all: if it does not fit, none does."""
        return cls(
            tile_co=1,
            tile_h=1,
            tile_w=1,
            tile_ci=1,
            tile_kh=1,
            tile_kw=1,
            inp_slots=1,
            wgt_slots=1,
            acc_slots=1,
            weights_outer=True,
        )
