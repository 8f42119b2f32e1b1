"""The roofline: how near each layer comes to what multipliers and bus allow."""

from __future__ import annotations

from collections.abc import Sequence

from vta.pages.draw.marks import categories, single, tooltip
from vta.pages.figure import Figure, columns_of
from vta.pages.palette import BLUE, GREEN, ORANGE, PURPLE, RED
from vta.support.dataclass import dataclass

__all__ = ["RoofPoint", "draw_roofline"]

_KINDS = {
    "products": "products",
    "blocks_not_full": "blocks not full",
    "alu_steps": "ALU steps",
    "loads": "loads",
    "stores": "stores",
}
_COLORS = (BLUE, PURPLE, GREEN, RED, ORANGE)


@dataclass(frozen=True)
class RoofPoint:
    """One layer on the accelerator."""

    layer: str
    macs: int
    cycles: int
    bytes_moved: int
    """In the direction of the bus that moves more."""
    bottleneck: str
    """One of `vta.report.costs.bottlenecks.BOTTLENECKS`."""
    why: str


def draw_roofline(points: Sequence[RoofPoint], peak_macs: int, bus_bytes: int) -> Figure:
    """Each layer by multiply-accumulates a byte and a cycle, under the roof of bus and multipliers."""
    rows = [
        (
            point.layer,
            round(point.macs / point.bytes_moved, 4),
            round(point.macs / point.cycles, 4),
            point.cycles,
            _KINDS.get(point.bottleneck, "products"),
            point.why,
            min(peak_macs, point.macs / point.bytes_moved * bus_bytes),
        )
        for point in points
        if point.macs and point.bytes_moved and point.cycles
    ]
    names = ("layer", "intensity", "speed", "cycles", "kind", "why", "roof")
    table = columns_of(names, [(*row[:-1], round(row[2] / row[-1], 4)) for row in rows])
    ridge = peak_macs / bus_bytes
    low = min([ridge / 4, *(row[1] for row in rows)]) / 1.5
    high = max([ridge * 4, *(row[1] for row in rows)]) * 1.5
    bottom = min([peak_macs / 10, *(row[2] for row in rows)]) / 1.5
    # Where the sloping part of the roof comes into view.
    left = max(low, bottom / bus_bytes)
    roof = columns_of(("intensity", "speed"), [(left, left * bus_bytes), (ridge, peak_macs), (high, peak_macs)])
    x = {
        "field": "intensity",
        "type": "quantitative",
        "title": "multiply-accumulates per byte moved",
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {"format": "~g", "tickCount": 6},
    }
    y = {
        "field": "speed",
        "type": "quantitative",
        "title": "multiply-accumulates per cycle",
        "scale": {"type": "log", "domain": [bottom, peak_macs * 1.6], "nice": False},
        "axis": {"format": "~g", "tickCount": 6},
    }
    points_layer = {
        "data": {"name": "points"},
        "params": [{"name": "kind", "select": {"type": "point", "fields": ["kind"]}, "bind": "legend"}],
        "mark": {"type": "point", "filled": True, "opacity": 0.85, "stroke": "white", "strokeWidth": 0.6, "cursor": "pointer"},
        "encoding": {
            "x": x,
            "y": y,
            "size": {"field": "cycles", "type": "quantitative", "scale": {"range": [40, 700], "zero": True}, "legend": None},
            "color": categories("kind", list(_KINDS.values()), _COLORS, "most time goes to"),
            "opacity": {
                "condition": {
                    "test": {"and": [{"param": "kind"}, "chosen_layer == '' || datum.layer == chosen_layer"]},
                    "value": 0.9,
                },
                "value": 0.12,
            },
            "tooltip": tooltip(
                ("layer", "layer", ""),
                ("speed", "MACs a cycle", ",.1f"),
                ("intensity", "MACs a byte", ",.1f"),
                ("roof", "of the roof", ".1%"),
                ("cycles", "cycles", ","),
                ("why", "why", ""),
            ),
        },
    }
    spec = single(
        "roof",
        height=330,
        params=[{"name": "chosen_layer", "value": ""}],
        layer=[
            {"mark": {"type": "line", "strokeWidth": 2, "style": "roof", "clip": True}, "encoding": {"x": x, "y": y}},
            points_layer,
        ],
    )
    about = (
        f"The flat roof is {peak_macs:,} multiply-accumulates a cycle, the slope {bus_bytes} bytes of the bus. "
        "A layer below its roof loses the distance; larger dots take more cycles."
    )
    return Figure("roofline", "Roofline", about, spec, {"roof": roof, "points": table}, columns=3)
