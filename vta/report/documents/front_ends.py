"""Which operators of the graph the converters of each front end make, read from their code."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from vta.ir import names as ops
from vta.ir.operator import operator_names

__all__ = ["FRONT_ENDS", "operators_by_front_end"]

FRONT_ENDS = ("ONNX", "TFLite", "MXNet")

_BY_HAND = {
    ("TFLite", "DEQUANTIZE"): {ops.QNN_DEQUANTIZE},
    ("MXNet", "Pooling"): {ops.AVG_POOL2D, ops.MAX_POOL2D, ops.GLOBAL_AVG_POOL2D, ops.GLOBAL_MAX_POOL2D},
}
"""Converters whose code does not hold the name."""


def operators_by_front_end() -> dict[str, dict[str, set[str]]]:
    """For each front end and each operator of its model files, the operators of the graph that it may become."""
    return {
        front_end: {name: _BY_HAND.get((front_end, name)) or _operators_in(converter) for name, converter in converters.items()}
        for front_end, converters in _converters().items()
    }


def _converters() -> dict[str, Mapping[str, Any]]:
    from vta.frontend.mxnet.converters import CONVERTERS as MXNET
    from vta.frontend.onnx.converters import CONVERTERS as ONNX
    from vta.frontend.tflite.converters import CONVERTERS as TFLITE

    return {"ONNX": ONNX, "TFLite": TFLITE, "MXNet": MXNET}


def _operators_in(converter: Any) -> set[str]:
    """The operators whose names the code of a converter holds, or that of the functions of its front end that it calls.

    Names without a dot (``max``) also are names of attributes; they count where a value is made (``apply("max", ...)``), as an
    argument `op`, and as what a function was made with (``_unary("abs")``).
    """
    known = set(operator_names())
    found: set[str] = set()
    seen: set[FunctionType] = set()
    pending: list[Any] = [converter]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found |= {item} & known
        elif isinstance(item, partial):
            pending += [item.func, *item.args]
        elif isinstance(item, FunctionType) and item not in seen and item.__module__.startswith("vta.frontend"):
            seen.add(item)
            found |= _names_in(item) & known
            pending += [cell.cell_contents for cell in item.__closure__ or ()]
            values = [item.__globals__.get(name) for name in _globals_in(item)]
            pending += [value for value in values if isinstance(value, FunctionType | partial)]
            pending += [part for value in values if isinstance(value, dict) for part in value.values()]
    return found


def _globals_in(function: FunctionType) -> Iterator[str]:
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        yield from code.co_names
        codes += [item for item in code.co_consts if isinstance(item, CodeType)]


def _names_in(function: FunctionType) -> frozenset[str]:
    """Strings in the source of a function that may name an operator."""
    # Many converters call the same functions, and many are made by one.
    if function.__code__ not in _NAMES:
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
        except (OSError, SyntaxError):
            # A lambda in the middle of an expression: it is short, and calls functions that are looked at.
            tree = ast.Module([], [])
        _NAMES[function.__code__] = frozenset(_names_in_tree(tree, function))
    return _NAMES[function.__code__]


_NAMES: dict[CodeType, frozenset[str]] = {}
"""What `_names_in` found, by the code of the function."""


def _names_in_tree(tree: ast.AST, function: FunctionType) -> Iterator[str]:
    for node in ast.walk(tree):
        text = _text(node)
        if text is not None and "." in text:
            yield text
        if isinstance(node, ast.Call):
            for argument in _operator_arguments(node, function):
                yield from filter(None, (_text(part) for part in ast.walk(argument)))


def _text(node: ast.AST) -> str | None:
    """The text that an expression is: a literal, or ``ops.NAME``, as operators are called."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    return getattr(ops, node.attr) if node.value.id == "ops" else None


def _operator_arguments(node: ast.Call, function: FunctionType) -> list[ast.expr]:
    """The arguments of a call that name an operator: the first of ``apply`` and ``call``, and any that is called `op`."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ("apply", "call"):
        return node.args[:1]
    called = function.__globals__.get(name)
    if not isinstance(called, FunctionType):
        return []
    return [
        argument
        for argument, parameter in zip(node.args, inspect.signature(called).parameters, strict=False)
        if parameter == "op"
    ]
