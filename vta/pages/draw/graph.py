"""The graph as SVG: a box for each group of operators, in the colour of where it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from vta.pages.data.layout import BOX_HEIGHT, BOX_WIDTH, Edge, Layout, lay_out
from vta.pages.data.names import short_names
from vta.pages.data.network import HOST, INPUT, Group, NetworkGraph
from vta.pages.palette import PLACE_COLORS, THEMES

__all__ = ["draw_graph", "graph_picture"]

_MARGIN = 24
_BEND = 9
_TEXT_LENGTH = 34
_NAME_LENGTH = 25


def draw_graph(graph: NetworkGraph, cycles: Mapping[tuple[str, str], int]) -> str:
    """The drawing, without colours, which the page's style has; `cycles` by place and name of the group."""
    layout = lay_out([group.after for group in graph.groups])
    most = max(cycles.values(), default=0)
    short = short_names([group.name for group in graph.groups], _NAME_LENGTH)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" role="img" aria-label="the graph" '
        f'viewBox="{-_MARGIN} {-_MARGIN} {layout.width + 2 * _MARGIN:.0f} {layout.height + 2 * _MARGIN:.0f}">',
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto">'
        '<path class="tip" d="M0,0.5 L7.5,4 L0,7.5 z"/></marker></defs>',
        *(_edge(edge) for edge in layout.edges),
        *(
            _box(index, group, layout, short[group.name], cycles.get((group.where, group.name)), most)
            for index, group in enumerate(graph.groups)
        ),
        "</svg>",
    ]
    return "\n".join(lines)


def graph_picture(drawing: str, theme: str = "light") -> str:
    """The drawing as a picture that stands alone, with its colours in it."""
    colors = THEMES[theme]
    places = "".join(
        f".node.{place} .bar{{fill:{color}}}.node.{place} .side{{fill:{color}}}" for place, color in PLACE_COLORS.items()
    )
    style = (
        f"text{{font-family:Liberation Sans,Arial,sans-serif;fill:{colors['text']}}}.name{{font-size:13px;font-weight:600}}"
        f".kind,.cost{{font-size:11px;fill:{colors['muted']}}}.box{{fill:{colors['ground']};stroke:{colors['line']}}}"
        f".edge{{fill:none;stroke:{colors['muted']};stroke-width:1.4}}.tip{{fill:{colors['muted']}}}.track{{fill:{colors['grid']}}}{places}"
    )
    left, top, width, height = _view(drawing)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
    styled = drawing.replace('<svg xmlns="http://www.w3.org/2000/svg"', head, 1)
    ground = f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="{colors["ground"]}"/>'
    return styled.replace("<defs>", f"<style>{style}</style>{ground}<defs>", 1)


def _view(drawing: str) -> list[str]:
    """Left, top, width and height of what is shown."""
    return drawing.split('viewBox="', 1)[1].split('"', 1)[0].split()


def _edge(edge: Edge) -> str:
    ends = f'data-from="{edge.source}" data-to="{edge.target}"'
    return f'<path class="edge" {ends} marker-end="url(#arrow)" d="{_path(edge.points)}"/>'


def _path(points: Sequence[tuple[float, float]]) -> str:
    """A line through the points with its corners rounded; between two points a curve that leaves and arrives upright."""
    (x0, y0), (x1, y1) = points[0], points[-1]
    if len(points) == 2:
        middle = (y0 + y1) / 2
        return f"M{x0:.0f},{y0:.0f} C{x0:.0f},{middle:.0f} {x1:.0f},{middle:.0f} {x1:.0f},{y1 - 2:.0f}"
    text = f"M{x0:.0f},{y0:.0f}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _towards(corner, before), _towards(corner, after)
        text += f" L{start[0]:.0f},{start[1]:.0f} Q{corner[0]:.0f},{corner[1]:.0f} {end[0]:.0f},{end[1]:.0f}"
    return f"{text} L{x1:.0f},{y1 - 2:.0f}"


def _towards(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    length = abs(other[0] - corner[0]) + abs(other[1] - corner[1])
    part = min(_BEND, length / 2) / length if length else 0
    return corner[0] + (other[0] - corner[0]) * part, corner[1] + (other[1] - corner[1]) * part


def _box(index: int, group: Group, layout: Layout, name: str, cycles: int | None, most: int) -> str:
    x, y = layout.boxes[index]
    ops = ", ".join(dict.fromkeys(op.removeprefix("nn.").removeprefix("qnn.") for op in group.ops))
    kind = {INPUT: "input", HOST: f"host: {ops}"}.get(group.where, ops)
    words = " ".join([group.name, *group.layers, *group.ops, *group.reasons, group.where, group.region])
    title = "; ".join(group.reasons) or group.type
    bar = ""
    if cycles is not None and most:
        track = BOX_WIDTH - 24
        bar = (
            f'<rect class="track" x="14" y="{BOX_HEIGHT - 9}" width="{track}" height="4" rx="2"/>'
            f'<rect class="bar" x="14" y="{BOX_HEIGHT - 9}" width="{max(2, track * cycles / most):.0f}" height="4" rx="2"/>'
        )
    cost = "" if cycles is None else f'<text class="cost" x="{BOX_WIDTH - 10}" y="38" text-anchor="end">{cycles:,}</text>'
    return (
        f'<g class="node {group.where}" data-index="{index}" data-words="{escape(words.lower())}" tabindex="0" role="button" '
        f'transform="translate({x:.0f},{y:.0f})"><title>{escape(f"{group.name}: {title}")}</title>'
        f'<rect class="box" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="7"/>'
        f'<rect class="side" width="5" height="{BOX_HEIGHT}" rx="2.5"/>'
        f'<text class="name" x="14" y="20">{escape(name)}</text>'
        f'<text class="kind" x="14" y="38">{escape(_cut(kind, cycles is not None))}</text>{cost}{bar}</g>'
    )


def _cut(text: str, beside: bool) -> str:
    """As much as fits the box, beside a number where there is one."""
    room = _TEXT_LENGTH - (10 if beside else 0)
    return text if len(text) <= room else f"{text[: room - 1]}…"
