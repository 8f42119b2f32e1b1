"""The HTML of a page, with all that it needs in one text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template

from vta.pages.figure import Figure
from vta.pages.page import Fact, GraphPart, Note, Page, Part, Section, TablePart
from vta.pages.palette import PLACE_COLORS, THEMES, figure_config
from vta.pages.vega import scripts

__all__ = ["html_of"]

_MOVES = (
    ("left", "◀", "earlier"),
    ("right", "▶", "later"),
    ("in", "+", "closer"),
    ("out", "&minus;", "farther"),
    ("all", "all", "the whole run"),
)
_ZOOMS = (("in", "+", "closer"), ("out", "&minus;", "farther"), ("fit", "fit", "the whole graph"))
_CODE = re.compile("`([^`]+)`")
_LARGE = 10
_KEYS = (("vta", "accelerator"), ("host", "host"), ("input", "input"))


def html_of(page: Page) -> str:
    """The page as one HTML text that needs nothing beside it."""
    return Template(_asset("page.html")).substitute(
        title=escape(page.title),
        kind=escape(page.kind),
        about=escape(page.about),
        made_by=escape(page.made_by),
        style=_style(),
        facts="".join(map(_fact, page.facts)),
        links="".join(f'<a href="#{section.name}">{escape(section.title)}</a>' for section in page.sections),
        sections="".join(map(_section, page.sections)),
        data=_json(_data(page)),
        vega=scripts(),
        script="\n".join(_asset(name) for name in ("tables.js", "graph.js", "figures.js")),
    )


def _asset(name: str) -> str:
    return files("vta.pages").joinpath("assets", name).read_text(encoding="utf-8")


def _style() -> str:
    """The style sheet, with the colours of both themes as its variables."""
    themes = {name: "".join(f"--{key}:{color};" for key, color in colors.items()) for name, colors in THEMES.items()}
    places = "".join(f"--{place}:{color};" for place, color in PLACE_COLORS.items())
    return Template(_asset("page.css")).substitute(light=themes["light"], dark=themes["dark"], places=places)


def _data(page: Page) -> dict[str, object]:
    figures = {
        figure.name: {"spec": figure.spec, "tables": figure.tables, "beside": figure.beside, "least": figure.least}
        for figure in page.figures
    }
    graphs = [{"details": graph.details, "layers": graph.layers} for graph in page.graphs]
    return {"figures": figures, "configs": {theme: figure_config(theme) for theme in THEMES}, "graphs": graphs}


def _json(values: object) -> str:
    """JSON that ends no script."""
    return (
        json.dumps(values, separators=(",", ":"))
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def _fact(fact: Fact) -> str:
    about = f'<span class="fact-about">{escape(fact.about)}</span>' if fact.about else ""
    return f'<div class="fact"><span class="fact-name">{escape(fact.name)}</span><b>{escape(fact.value)}</b>{about}</div>'


def _section(section: Section) -> str:
    parts = "".join(map(_part, section.parts))
    return f'<section id="{section.name}"><h2>{escape(section.title)}</h2><div class="parts">{parts}</div></section>'


def _part(part: Part) -> str:
    if isinstance(part, Figure):
        return _figure(part)
    if isinstance(part, GraphPart):
        return _graph(part)
    return _table(part) if isinstance(part, TablePart) else _note(part)


def _figure(figure: Figure) -> str:
    buttons = ""
    if figure.controls == "cycles":
        buttons = f'<div class="buttons">{_buttons("move", _MOVES)}</div>'
    elif figure.controls == "brush":
        buttons = '<div class="buttons"><span class="picked"></span><button type="button" data-clear="1">clear</button></div>'
    return (
        f'<figure class="card of-{figure.columns}" id="figure-{figure.name}">'
        f'<div class="card-head"><h3>{escape(figure.title)}</h3>{buttons}</div><p>{escape(figure.about)}</p>'
        f'<div class="scroll"><div class="plot" data-figure="{figure.name}"></div></div></figure>'
    )


def _buttons(action: str, named: Sequence[tuple[str, str, str]]) -> str:
    return "".join(
        f'<button type="button" data-{action}="{key}" title="{title}" aria-label="{title}">{text}</button>'
        for key, text, title in named
    )


def _search(kind: str, hint: str) -> str:
    return f'<input type="search" class="{kind}-search" placeholder="{hint}" aria-label="{hint}">'


def _graph(graph: GraphPart) -> str:
    keys = "".join(f'<span class="key {place}">{name}</span>' for place, name in _KEYS)
    return (
        '<div class="card graph-card"><div class="card-head"><h3>Where each operator runs</h3>'
        f'<div class="buttons">{_search("graph", "search layers, operators, reasons")}<span class="found"></span>'
        f'{_buttons("zoom", _ZOOMS)}</div></div><p>{escape(graph.about)}</p><div class="keys">{keys}</div>'
        f'<div class="graph-area">{graph.drawing}</div><dl class="graph-details" aria-live="polite"></dl></div>'
    )


def _table(table: TablePart) -> str:
    numeric = [all(isinstance(row[place], int | float) for row in table.rows) for place in range(len(table.headers))]
    heads = "".join(
        f'<th scope="col" class="{"number" if right else ""}"><button type="button">{_breakable(head)}</button></th>'
        for head, right in zip(table.headers, numeric, strict=True)
    )
    keys = table.keys or (None,) * len(table.rows)
    rows = "".join(_row(row, numeric, key) for row, key in zip(table.rows, keys, strict=True))
    about = f"<p>{escape(table.about)}</p>" if table.about else ""
    return (
        f'<div class="card" id="table-{table.name}"><div class="card-head"><h3>{escape(table.title)}</h3>'
        f'<div class="buttons">{_search("table", "filter rows")}</div></div>{about}'
        f'<div class="scroll tall"><table data-table="{table.name}">'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div></div>"
    )


def _row(row: Sequence[object], numeric: Sequence[bool], key: object) -> str:
    cells = "".join(
        f'<td class="number" data-value="{value}">{_number(value)}</td>' if right else f"<td>{_text(str(value))}</td>"
        for value, right in zip(row, numeric, strict=True)
    )
    named = "" if key is None else f' data-key="{escape(str(key))}"'
    return f"<tr{named}>{cells}</tr>"


def _number(value: object) -> str:
    """Whole numbers as they are, others to three digits behind the point, fewer where they are large."""
    if isinstance(value, float):
        return f"{value:,.{3 if abs(value) < _LARGE else 1}f}"
    return f"{value:,}"


def _breakable(text: str) -> str:
    """A name that may be broken behind its underscores."""
    return escape(text).replace("_", "_<wbr>")


def _text(text: str) -> str:
    """A text, with what stands in backquotes as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _note(note: Note) -> str:
    lines = "".join(f"<li>{_text(line)}</li>" for line in note.lines)
    about = f"<p>{_text(note.about)}</p>" if note.about else ""
    return f'<div class="card"><h3>{escape(note.title)}</h3>{about}<ul class="notes">{lines}</ul></div>'
