"""The plotting library: Vega, Vega-Lite and what draws them without a browser, from the package vl-convert-python."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.errors import VTAError
from vta.files.cache import remembered

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["PageError", "VEGA_LITE_SCHEMA", "VEGA_SCHEMA", "png_of", "png_of_svg", "scripts", "svg_of"]

VEGA_SCHEMA = "https://vega.github.io/schema/vega/v5.json"
VEGA_LITE_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
"""Names, not addresses: nothing is fetched."""
_PICTURE_SCALE = 2.0


class PageError(VTAError):
    """A page cannot be made: a package is missing, or what it is to show is of no kind that pages know."""


@cache
def scripts() -> str:
    """The JavaScript of Vega, Vega-Lite and Vega-Embed, which sets `vegaEmbed` and `vega` in a page."""
    library = _library()
    # Putting it together takes seconds.
    kept = remembered(
        "pages", f"vega {version('vl-convert-python')}".encode(), lambda: {"scripts": _bytes(library.javascript_bundle())}
    )
    # A page's script ends at the first such letters, wherever they are.
    return kept["scripts"].tobytes().decode().replace("</script", "<\\/script")


def svg_of(spec: dict[str, Any], config: dict[str, Any]) -> str:
    """Draw a specification as SVG."""
    library = _library()
    convert = library.vegalite_to_svg if "vega-lite" in spec["$schema"] else _vega_with_config(library.vega_to_svg)
    text: str = convert(spec, config=config)
    return text


def png_of(spec: dict[str, Any], config: dict[str, Any]) -> bytes:
    """Draw a specification as PNG, two pixels for each of its own."""
    return png_of_svg(svg_of(spec, config))


def png_of_svg(text: str) -> bytes:
    """Turn SVG into PNG."""
    data: bytes = _library().svg_to_png(text, scale=_PICTURE_SCALE)
    return data


def _bytes(text: str) -> NDArray[np.uint8]:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _vega_with_config(convert: Any) -> Any:
    """Vega has its config inside the specification."""

    def converted(spec: dict[str, Any], config: dict[str, Any]) -> Any:
        return convert({**spec, "config": config})

    return converted


def _library() -> ModuleType:
    try:
        import vl_convert
    except ImportError as error:
        raise PageError(f"pages need the package vl-convert-python ({error}): pip install 'vta[report]'") from None
    module: ModuleType = vl_convert
    return module
