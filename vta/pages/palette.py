"""Colours that people who see few colours can tell apart, and what figures look like on a light and a dark page.

The colours are those of Okabe and Ito: https://jfly.uni-koeln.de/color/.
"""

from __future__ import annotations

from typing import Any

__all__ = ["CAUSE_COLORS", "CYCLE", "PLACE_COLORS", "SHORT_NUMBERS", "STATE_COLORS", "THEMES", "VALUE_RANGE", "figure_config"]

BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW, GREY = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#d55e00",
    "#56b4e9",
    "#cc79a7",
    "#f0e442",
    "#9a9a9a",
)
CYCLE = (BLUE, ORANGE, GREEN, RED, SKY, PURPLE, YELLOW, GREY)
CAUSE_COLORS = (BLUE, SKY, GREEN, PURPLE, ORANGE, YELLOW, RED, GREY)
"""One for each group of causes: what is done in cold colours, what is waited for in warm ones."""
STATE_COLORS = (BLUE, ORANGE, RED)
"""Of a unit that works, waits for another unit, and waits for memory."""
PLACE_COLORS = {"vta": BLUE, "host": ORANGE, "input": GREY}
VALUE_RANGE = (BLUE, "#9aa5b1", ORANGE)
"""Of values from small to large, to be seen on light and on dark ground."""

THEMES = {
    "light": {"text": "#1f2430", "muted": "#5b6472", "line": "#d7dbe2", "grid": "#e9ecf1", "ground": "#ffffff"},
    "dark": {"text": "#e6e9ef", "muted": "#a3adbd", "line": "#3b4454", "grid": "#2a3140", "ground": "#171b24"},
}
SHORT_NUMBERS = {"format": "~s", "labelExpr": "datum.value ? datum.label : '0'"}
"""Of an axis: thousands as k, millions as M, and nothing as 0."""
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"


def figure_config(theme: str, font: str = _FONT) -> dict[str, Any]:
    """The `config` of Vega and Vega-Lite for a theme of `THEMES`."""
    colors = THEMES[theme]
    titles = {"titleColor": colors["muted"], "labelColor": colors["text"], "titleFontWeight": 500}
    return {
        "background": "transparent",
        "font": font,
        "padding": 4,
        "view": {"stroke": None, "cursor": "default"},
        "axis": {
            **titles,
            "domainColor": colors["line"],
            "tickColor": colors["line"],
            "gridColor": colors["grid"],
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titlePadding": 8,
        },
        "axisQuantitative": {"labelOverlap": "greedy", "labelSeparation": 8},
        "legend": {
            **titles,
            "orient": "top",
            "direction": "horizontal",
            "labelFontSize": 12,
            "labelLimit": 260,
            "symbolStrokeWidth": 0,
        },
        "header": {**titles, "labelFontSize": 12},
        "title": {"color": colors["text"], "anchor": "start"},
        "text": {"color": colors["text"], "fill": colors["text"]},
        "rule": {"color": colors["muted"], "stroke": colors["muted"]},
        "style": {
            "guide-label": {"fill": colors["text"]},
            "guide-title": {"fill": colors["muted"]},
            "roof": {"stroke": colors["muted"]},
            "halo": {"stroke": colors["ground"], "strokeWidth": 4, "fill": colors["ground"]},
        },
        "range": {"category": list(CYCLE)},
    }
