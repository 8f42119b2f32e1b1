"""What a config has and uses: buffers, area, energy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.pages.draw.marks import name_axis, single, tooltip
from vta.pages.figure import Figure, columns_of
from vta.pages.palette import BLUE, GREEN, GREY, ORANGE, SHORT_NUMBERS

__all__ = ["PART_NAMES", "draw_parts", "draw_usage"]

PART_NAMES = {
    "mac": "multipliers",
    "alu": "ALU",
    "requantize": "requantize unit",
    "uop": "micro-ops",
    "inp": "inputs",
    "wgt": "weights",
    "acc": "accumulator",
    "out": "outputs",
    "table": "table",
    "dram": "DRAM",
}


def draw_usage(buffers: Sequence[tuple[str, int, float]]) -> Figure:
    """Each buffer with its size in bytes and the part of it that was in use at most."""
    names = [name for name, _, _ in buffers]
    rows = [(name, size, round(size * part), part, f"{part:.0%} of {size // 1024:,} KiB") for name, size, part in buffers]
    x = {"type": "quantitative", "title": "bytes", "axis": {**SHORT_NUMBERS, "tickCount": 5}}
    spec = single(
        "usage",
        height=34 * len(names),
        encoding={
            "y": name_axis("buffer", names),
            "tooltip": tooltip(
                ("buffer", "buffer", ""), ("size", "bytes", ","), ("used", "in use at most", ","), ("part", "part", ".1%")
            ),
        },
        layer=[
            {"mark": {"type": "bar", "color": GREY, "opacity": 0.35}, "encoding": {"x": x | {"field": "size"}}},
            {"mark": {"type": "bar", "color": BLUE, "height": {"band": 0.45}}, "encoding": {"x": x | {"field": "used"}}},
            {
                "mark": {"type": "text", "align": "left", "dx": 6, "fontSize": 11},
                "encoding": {"x": x | {"field": "used"}, "text": {"field": "text"}},
            },
        ],
    )
    about = "The size of each buffer, and how much of it held values at the fullest moment: what stays empty can be made smaller."
    return Figure(
        "buffers",
        "Buffers: size and use",
        about,
        spec,
        {"usage": columns_of(("buffer", "size", "used", "part", "text"), rows)},
        columns=2,
    )


def draw_parts(name: str, title: str, about: str, parts: Mapping[str, float], unit: str) -> Figure:
    """What each part contributes to a sum of `unit`."""
    found = {PART_NAMES.get(part, part): value for part, value in parts.items() if part != "total" and value}
    total = sum(found.values()) or 1.0
    rows = [(part, value, value / total) for part, value in found.items()]
    spec = single(
        "parts",
        height=30 * len(found),
        mark={"type": "bar", "color": GREEN if name == "area" else ORANGE},
        encoding={
            "y": name_axis("part", list(found)),
            "x": {"field": "value", "type": "quantitative", "title": unit, "axis": {**SHORT_NUMBERS, "tickCount": 5}},
            "tooltip": tooltip(("part", "part", ""), ("value", unit, ",.3f"), ("share", "of all", ".1%")),
        },
    )
    return Figure(name, title, about, spec, {"parts": columns_of(("part", "value", "share"), rows)}, columns=2)
