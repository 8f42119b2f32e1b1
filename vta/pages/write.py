"""Pages and their figures as files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vta.files.atomic_file import make_folder, whole_file, write_whole
from vta.pages.draw.graph import graph_picture
from vta.pages.figure import Figure, complete_spec
from vta.pages.markup import html_of
from vta.pages.page import Page
from vta.pages.palette import figure_config
from vta.pages.vega import png_of_svg, svg_of

__all__ = ["write_figures", "write_page"]

_FONT = "Liberation Sans, Arial, sans-serif"
_NARROW = 540
"""Pixels of a figure that is one of several in a row."""


def write_page(page: Page, path: str | Path) -> int:
    """Write a page as one HTML file; return its size in bytes.

    Raises `PageError` without the plotting library, or `WriteError`.
    """
    text = html_of(page)
    write_whole(path, text, "the page")
    return len(text.encode())


def write_figures(page: Page, folder: str | Path) -> list[Path]:
    """Write each figure of a page as ``NAME.svg`` and ``NAME.png``, in the colours of a light page; return the files.

    Raises `PageError` without the plotting library, or `WriteError`.
    """
    make_folder(Path(folder))
    paths = []
    for name, text in _pictures(page):
        svg, png = (Path(folder) / f"{name}.{ending}" for ending in ("svg", "png"))
        write_whole(svg, text, "the figure")
        with whole_file(png, "the figure") as beside:
            beside.write_bytes(png_of_svg(text))
        paths += [svg, png]
    return paths


def _pictures(page: Page) -> Iterator[tuple[str, str]]:
    """Name and SVG of each figure."""
    config = figure_config("light", _FONT) | {"background": "white"}
    for number, graph in enumerate(page.graphs):
        yield f"graph{number or ''}", graph_picture(graph.drawing)
    for figure in page.figures:
        yield figure.name, svg_of(complete_spec(figure, _width(figure)), config)


def _width(figure: Figure) -> int:
    return figure.width if figure.columns == 6 else _NARROW
