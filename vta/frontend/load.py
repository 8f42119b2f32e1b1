"""One way in: a model file or a built-in name becomes a graph."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from operator import index
from os import PathLike, fspath
from pathlib import Path
from typing import SupportsIndex

from numpy.typing import ArrayLike

from vta.errors import GraphError, ImportModelError, UsageError
from vta.frontend.suffixes import PICKLED_SUFFIXES, SYMBOL_SUFFIX
from vta.ir.graph import Graph
from vta.ir.state import with_states
from vta.ir.transforms.batch import with_batch
from vta.support.shorten import shown

__all__ = ["load_model"]

_IMPORTABLE = "NAME.onnx, NAME.tflite, NAME.pt2, and NAME-symbol.json with NAME-0000.params or NAME.params beside it"


def load_model(
    model: str | PathLike[str],
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    *,
    params: str | PathLike[str] | None = None,
    random_weights: int | None = None,
    batch: int | None = None,
    states: Mapping[str, str] | None = None,
    input_values: Mapping[str, ArrayLike] | None = None,
    static_ranges: bool = False,
) -> Graph:
    """Return the graph of a model file or of a built-in network (see `built_in_names`).

    `shapes` gives the shapes of inputs by name, where the file does not or leaves dimensions open (an open batch is 1 without).
    `batch` is the number of samples that the network takes at once, whatever the file says.
    For MXNet, `params` is the parameter file if it is not beside the symbol, and `random_weights` a seed to use in place of
    one; it also seeds built-in networks. Layers keep the names that they have in the model.
    `states` makes a state of an input and the output that is its next value, by their names; it starts as zeros.
    `input_values` makes constants of inputs of ONNX models, by name, where others, or conditions, depend on their values.
    `static_ranges` takes layers of ONNX models that find the range of their data at run time (dynamic quantisation) as the float
    layers that they were made from, which are quantised here as those of any float network.

    Raises `ImportModelError` naming file and cause, with every node that cannot be imported.
    """
    if not isinstance(model, (str, PathLike)):
        raise ImportModelError(f"a model is the path of a file or the name of a built-in network, not {type(model).__name__}")
    for name, given, example in (("shapes", shapes, "{'data': (1, 3, 32, 32)}"), ("states", states, "{'h': 'h_next'}")):
        if given is not None and not isinstance(given, Mapping):
            raise UsageError(f"{name} = {shown(given)}: expected a mapping from the names of inputs, such as {example}")
    sizes = None if shapes is None else {name: _shape(name, shape) for name, shape in shapes.items()}
    graph = _loaded(fspath(model), sizes, params, random_weights, batch, input_values, static_ranges)
    if batch is not None:
        try:
            graph = with_batch(graph, batch)
        except GraphError as error:
            raise ImportModelError(f"{fspath(model)}: a batch of {batch}: {error}") from None
    if not states:
        return graph
    try:
        return with_states(graph, states, [*graph.output_names] or [node.name for node in graph.outputs])
    except GraphError as error:
        raise ImportModelError(f"{fspath(model)}: {error}") from None


def _shape(name: str, given: Iterable[SupportsIndex]) -> tuple[int, ...]:
    try:
        return tuple(index(size) for size in given)
    except TypeError:
        raise UsageError(f"shapes: the shape of input {shown(name)} is {shown(given)}; expected integers") from None


def _loaded(
    name: str,
    shapes: Mapping[str, tuple[int, ...]] | None,
    params: str | PathLike[str] | None,
    random_weights: int | None,
    batch: int | None,
    input_values: Mapping[str, ArrayLike] | None,
    static_ranges: bool,
) -> Graph:
    # What reads one kind of model takes a while to import, and the others are not needed for it.
    path = Path(name)
    if not os.path.isfile(path):
        return _built_in(name, shapes, random_weights)
    if name.endswith(SYMBOL_SUFFIX):
        from vta.frontend.mxnet.files import load_mxnet

        return load_mxnet(path, shapes, None if params is None else Path(params), random_weights)
    if params is not None or random_weights is not None:
        text = f"{name}: params and random_weights are for MXNet's {SYMBOL_SUFFIX} files"
        raise UsageError(text, parameters=("params", "random_weights"))
    if path.suffix == ".onnx":
        from vta.frontend.onnx import load_onnx

        return load_onnx(path, shapes, batch or 1, input_values, static_ranges=static_ranges)
    for option, given in (("input_values", input_values), ("static_ranges", static_ranges)):
        if given:
            raise UsageError(f"{name}: {option} are for .onnx files", parameters=(option,))
    if path.suffix == ".tflite":
        from vta.frontend.tflite import load_tflite

        return load_tflite(path, shapes)
    if path.suffix == ".pt2":
        from vta.frontend.torch import load_pt2

        return load_pt2(path, shapes)
    if path.suffix in PICKLED_SUFFIXES:
        from vta.frontend.torch import refuse_pickled

        raise refuse_pickled(path)
    if path.suffix == ".params":
        raise ImportModelError(f"{name}: these are only parameters; import the {SYMBOL_SUFFIX} file beside them")
    raise ImportModelError(f"{name}: not a known kind of model file; what can be imported: {_IMPORTABLE}")


def _built_in(name: str, shapes: Mapping[str, tuple[int, ...]] | None, seed: int | None) -> Graph:
    from vta.frontend.zoo import built_in, built_in_names, known_name

    if os.path.exists(name):
        there = "it is a directory" if os.path.isdir(name) else "it is no regular file"
        raise ImportModelError(f"{name}: {there}, and no built-in network ({', '.join(built_in_names())})")
    if known_name(name) not in built_in_names():
        raise ImportModelError(f"{name}: no such file, and no built-in network ({', '.join(built_in_names())})")
    return built_in(known_name(name), shapes, seed or 0)
