"""How full the memories are over time, and how much goes over the bus."""

from __future__ import annotations

from collections.abc import Mapping

from vta.pages.data.occupancy import BUFFERS, Occupancy
from vta.pages.draw.marks import categories, cycle_axis, single, tooltip
from vta.pages.draw.timeline import window_params
from vta.pages.figure import Columns, Figure, Spec, columns_of
from vta.pages.palette import BLUE, GREEN, GREY, ORANGE, PURPLE, SHORT_NUMBERS, SKY

__all__ = ["draw_buffers", "draw_dram", "draw_traffic"]

_BUFFER_COLORS = (SKY, ORANGE, GREEN, PURPLE)


def draw_buffers(found: Occupancy) -> Figure:
    """A line for each buffer on the chip."""
    rows = [
        (start, buffer.name, level, level * buffer.capacity_bytes)
        for buffer in found.buffers
        for start, level in zip(found.edges, (*buffer.level, buffer.level[-1]), strict=True)
    ]
    spec = single(
        "buffers",
        height=200,
        params=[
            *window_params(found.edges[-1]),
            {"name": "buffer", "select": {"type": "point", "fields": ["buffer"]}, "bind": "legend"},
        ],
        mark={"type": "line", "interpolate": "step-after", "clip": True, "strokeWidth": 1.8},
        encoding={
            "x": cycle_axis("start"),
            "y": _amount("level", "part in use", {"format": ".0%"}) | {"scale": {"domain": [0, 1]}},
            "color": categories("buffer", list(BUFFERS.values()), _BUFFER_COLORS, symbol="stroke"),
            "opacity": {"condition": {"param": "buffer", "value": 1}, "value": 0.12},
            "tooltip": tooltip(
                ("buffer", "buffer", ""), ("start", "from cycle", ",.0f"), ("level", "in use", ".1%"), ("bytes", "bytes", ",.0f")
            ),
        },
    )
    sizes = ", ".join(f"{buffer.name} {buffer.capacity_bytes // 1024} KiB (peak {buffer.peak:.0%})" for buffer in found.buffers)
    about = f"A row is in use from its write to its last read. Buffers: {sizes}. Choose one in the legend."
    return Figure(
        "sram",
        "Occupancy of the buffers on the chip",
        about,
        spec,
        {"buffers": columns_of(("start", "buffer", "level", "bytes"), rows)},
    )


def draw_dram(found: Occupancy) -> Figure:
    """Constants, and the tensors that are alive on top of them."""
    kinds = {"micro-ops, weights, biases": found.constant_bytes, "tensors": found.tensor_bytes}
    rows = _stacked(found, kinds)
    spec = _areas("dram", rows, list(kinds), (GREY, BLUE), _amount("value", "bytes", SHORT_NUMBERS), found.edges[-1])
    most = max(found.tensor_bytes, default=0.0)
    about = f"What the image in DRAM holds that is still needed. Tensors take {most / 1024:,.0f} KiB at most."
    return Figure("dram", "Occupancy of DRAM", about, spec, {"dram": rows}, columns=3)


def draw_traffic(found: Occupancy) -> Figure:
    """Bytes a cycle in each direction."""
    kinds = {"read": found.read_per_cycle, "written": found.written_per_cycle}
    rows = _stacked(found, kinds)
    spec = _areas(
        "traffic", rows, list(kinds), (SKY, ORANGE), _amount("value", "bytes a cycle", {"format": ".1f"}), found.edges[-1]
    )
    spec["encoding"]["y"]["stack"] = None
    spec["encoding"]["y"]["scale"] = {"domain": [0, found.bus_bytes]}
    spec["mark"]["opacity"] = 0.6
    about = f"Loads and stores have a bus of {found.bus_bytes} bytes a cycle each: where one is at the top, memory sets the pace."
    return Figure("traffic", "Traffic between DRAM and the chip", about, spec, {"traffic": rows}, columns=3)


def _stacked(found: Occupancy, kinds: dict[str, tuple[float, ...]]) -> Columns:
    """One row for each edge: the last stretch ends where the run does."""
    rows = [
        (start, kind, index, value)
        for index, (kind, values) in enumerate(kinds.items())
        for start, value in zip(found.edges, (*values, values[-1]), strict=True)
    ]
    return columns_of(("start", "kind", "rank", "value"), rows)


def _areas(table: str, rows: object, kinds: list[str], colors: tuple[str, str], amount: Spec, end: float) -> Spec:
    return single(
        table,
        height=180,
        params=window_params(end),
        mark={"type": "area", "interpolate": "step-after", "clip": True, "line": False},
        encoding={
            "x": cycle_axis("start"),
            "y": amount,
            "color": categories("kind", kinds, colors),
            "order": {"field": "rank"},
            "tooltip": tooltip(("kind", "what", ""), ("start", "from cycle", ",.0f"), ("value", "value", ",.1f")),
        },
    )


def _amount(field: str, title: str, form: Mapping[str, str]) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, "axis": {**form, "tickCount": 5}}
