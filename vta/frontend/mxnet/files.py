"""The pair of files that MXNet saves a network in."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from vta.errors import ImportModelError
from vta.frontend.mxnet.importer import import_symbol
from vta.frontend.mxnet.parameters import ParameterSource, SeededParameters, StoredParameters
from vta.frontend.mxnet.params import read_params
from vta.frontend.mxnet.symbol import read_symbol
from vta.frontend.suffixes import SYMBOL_SUFFIX
from vta.ir.graph import Graph

__all__ = ["find_params", "load_mxnet"]


def find_params(symbol_path: Path) -> Path:
    """Return the parameters beside ``NAME-symbol.json``: ``NAME-EPOCH.params`` of the last epoch, else ``NAME.params``.

    Raises `ImportModelError` if there is neither.
    """
    stem = symbol_path.name.removesuffix(SYMBOL_SUFFIX)
    pattern = re.compile(re.escape(stem) + r"-(\d{4,})\.params")
    epochs = [(int(match[1]), path) for path in symbol_path.parent.iterdir() if (match := pattern.fullmatch(path.name))]
    if epochs:
        return max(epochs)[1]
    plain = symbol_path.with_name(f"{stem}.params")
    if os.path.exists(plain):
        return plain
    raise ImportModelError(
        f"{symbol_path}: no parameters beside it ({stem}-0000.params or {stem}.params); random_weights=SEED imports it without"
    )


def load_mxnet(
    symbol_path: Path,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    params_path: Path | None = None,
    random_weights: int | None = None,
) -> Graph:
    """Return the graph of a `-symbol.json` file with the parameters beside it, or with seeded ones."""
    symbol = read_symbol(symbol_path)
    parameters: ParameterSource
    if random_weights is None:
        params_path = params_path or find_params(symbol_path)
        parameters = StoredParameters(read_params(params_path), params_path.name)
    else:
        parameters = SeededParameters(random_weights)
    return import_symbol(symbol, parameters, shapes, symbol_path, symbol_path.name.removesuffix(SYMBOL_SUFFIX))
