"""MXNet: networks saved as `-symbol.json` and `.params`, read without MXNet; live Gluon blocks where MXNet is installed."""

from __future__ import annotations

from vta.frontend.mxnet.files import find_params, load_mxnet
from vta.frontend.mxnet.gluon import from_gluon
from vta.frontend.mxnet.importer import import_symbol
from vta.frontend.mxnet.parameters import SeededParameters, StoredParameters
from vta.frontend.mxnet.params import decode_params, encode_params, read_params
from vta.frontend.mxnet.symbol import Symbol, SymbolNode, parse_symbol, read_symbol, symbol_json

__all__ = [
    "SeededParameters",
    "StoredParameters",
    "Symbol",
    "SymbolNode",
    "decode_params",
    "encode_params",
    "find_params",
    "from_gluon",
    "import_symbol",
    "load_mxnet",
    "parse_symbol",
    "read_params",
    "read_symbol",
    "symbol_json",
]
