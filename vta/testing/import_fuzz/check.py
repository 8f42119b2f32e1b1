"""One model: what the importer makes of it against the framework's own results, and a device against the interpreter."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from vta.compiler.compile import compile_graph, quantize_model
from vta.config.hardware import HardwareConfig
from vta.devices.sim import SimDevice
from vta.errors import VTAError
from vta.frontend.onnx import import_onnx
from vta.frontend.tflite import import_tflite
from vta.ir.diagnostics import INEXACT, Diagnostics
from vta.ir.graph import Graph
from vta.ir.interpreter import evaluate
from vta.passes.canonicalize import canonicalize
from vta.quantization import is_quantized
from vta.runtime.module import Module
from vta.support.dataclass import dataclass
from vta.testing.import_fuzz.description import Array, Description
from vta.testing.import_fuzz.differences import cut_as_tflite, fault_of
from vta.testing.import_fuzz.onnx_files import onnx_model
from vta.testing.import_fuzz.oracles import OracleError, framework_values
from vta.testing.import_fuzz.tflite_files import tflite_model
from vta.testing.import_fuzz.tolerance import close_to_ties, tolerances

__all__ = ["Outcome", "check", "data_of", "examine"]

_DRAWS = 6
_DEVICE_BYTES = 1 << 26


@dataclass(frozen=True)
class Outcome:
    """What became of a model.

    `status` is ``same``; ``refused`` by an importer or a compiler with a `VTAError`; ``illegal`` where the framework refuses the
    model; ``skipped`` where its results are no measure; or ``failed``. `kind` says in one word what failed.
    """

    status: str
    kind: str = ""
    message: str = ""
    on_device: bool = False
    """Whether a device ran it."""


def data_of(net: Description, seed: int) -> tuple[dict[str, Array], dict[str, Array]] | None:
    """Return data for the inputs and the framework's values for them, away from ties; None if six draws are all close to one.

    Raises `OracleError` if the framework refuses the model.
    """
    for draw in range(_DRAWS):
        feeds = net.feeds(seed * _DRAWS + draw)
        values = {**feeds, **framework_values(net, feeds, every_value=True)}
        if not close_to_ties(net, values):
            return feeds, values
    return None


def check(net: Description, seed: int, hw: HardwareConfig | None = None) -> Outcome:
    """Compare a model with the framework on data of `seed`; with `hw` a simulator with the interpreter, too."""
    try:
        data = data_of(net, seed)
        if data is None:
            return Outcome("skipped", "tie", "values close to a tie that may round before")
        return _measured(net, *data, hw)
    except OracleError as error:
        return Outcome("illegal", "", str(error))


def examine(net: Description, feeds: Mapping[str, Array], hw: HardwareConfig | None = None) -> Outcome:
    """Like `check`, on given data."""
    try:
        values = {**feeds, **framework_values(net, feeds, every_value=True)}
        if close_to_ties(net, values):
            return Outcome("skipped", "tie", "values close to a tie that may round before")
        return _measured(net, feeds, values, hw)
    except OracleError as error:
        return Outcome("illegal", "", str(error))


def _measured(net: Description, feeds: Mapping[str, Array], values: Mapping[str, Array], hw: HardwareConfig | None) -> Outcome:
    # What ONNX infers for windows that hang over an edge is not always what its runtime computes.
    net = net.redeclared(values)
    fault = fault_of(net, values)
    if fault:
        return Outcome("skipped", "framework", fault)
    with _quiet():
        return _compared(net, feeds, values, hw)


@contextmanager
def _quiet() -> Iterator[None]:
    disabled = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)


def _compared(net: Description, feeds: Mapping[str, Array], values: Mapping[str, Array], hw: HardwareConfig | None) -> Outcome:
    try:
        graph = _imported(net)
    except VTAError as error:
        return Outcome("refused", "import", _reason(str(error)))
    except Exception as error:  # whatever is no VTAError is a fault
        return Outcome("failed", "crash", f"import: {type(error).__name__}: {error}")
    try:
        results = evaluate(graph, feeds)
    except Exception as error:
        return Outcome("failed", "crash", f"interpreter: {type(error).__name__}: {error}")
    if graph.output_names != net.outputs:
        return Outcome("failed", "names", f"outputs are called {graph.output_names}, expected {net.outputs}")
    wrong = _difference(net, feeds, values, results)
    if wrong is not None:
        return wrong
    return _on_device(net, graph, feeds, results, hw) if hw is not None else Outcome("same")


def _imported(net: Description) -> Graph:
    return import_tflite(tflite_model(net)) if net.frontend == "tflite" else import_onnx(onnx_model(net))


def _difference(
    net: Description, feeds: Mapping[str, Array], values: Mapping[str, Array], results: Sequence[Array]
) -> Outcome | None:
    if len(results) != len(net.outputs):
        return Outcome("failed", "outputs", f"{len(results)} outputs, expected {len(net.outputs)}")
    allowed: dict[str, float] | None = None
    for name, result in zip(net.outputs, results, strict=True):
        got, want = result, values[name]
        if net.frontend == "tflite":
            got = cut_as_tflite(got)
        if got.dtype != want.dtype:
            return Outcome("failed", "type", f"output {name!r} is {got.dtype}, expected {want.dtype}")
        if got.shape != want.shape:
            return Outcome("failed", "shape", f"output {name!r} has shape {got.shape}, expected {want.shape}")
        if np.array_equal(got, want, equal_nan=want.dtype.kind == "f"):
            continue
        limit = 0.0
        if want.dtype.kind == "f" and not net.values[name].exact:
            allowed = allowed if allowed is not None else tolerances(net, feeds, values)
            limit = allowed[name]
            if not np.isfinite(limit):
                return Outcome("skipped", "unstable", "noise in the last places makes a value that is not finite")
        wrong = _beyond(got, want, limit)
        if wrong:
            return Outcome("failed", "values", f"output {name!r}: {wrong}")
    return None


def _beyond(got: Array, want: Array, limit: float) -> str:
    """How many values differ by more than `limit`; "" if none does."""
    with np.errstate(all="ignore"):
        difference = np.asarray(np.abs(got.astype(np.float64) - want.astype(np.float64)))
    difference[(got == want) | (_is_nan(got) & _is_nan(want))] = 0
    wrong = ~(difference <= limit)
    if not wrong.any():
        return ""
    where = np.unravel_index(int(np.argmax(np.where(wrong, np.nan_to_num(difference, nan=np.inf), -1))), got.shape)
    at = ", ".join(str(int(i)) for i in where)
    allowed = f", {limit:.3g} is allowed" if limit else ""
    return f"{int(wrong.sum())} of {wrong.size} values differ; at [{at}] {got[where]!r}, expected {want[where]!r}{allowed}"


def _is_nan(value: Array) -> Array:
    return np.isnan(value) if value.dtype.kind == "f" else np.zeros(value.shape, bool)


def _on_device(
    net: Description, graph: Graph, feeds: Mapping[str, Array], results: Sequence[Array], hw: HardwareConfig
) -> Outcome:
    """Compile and run; `results` are the interpreter's for `graph`."""
    diagnostics = Diagnostics()
    try:
        integer = quantize_model(canonicalize(graph), hw, diagnostics=diagnostics)
        compiled = compile_graph(integer, hw, diagnostics=diagnostics)
    except VTAError as error:
        return Outcome("refused", "compile", _reason(str(error)))
    except Exception as error:
        return Outcome("failed", "crash", f"compile: {type(error).__name__}: {error}")
    try:
        wanted = evaluate(compiled.graph, feeds)
        with Module(compiled, SimDevice(hw, _DEVICE_BYTES)) as module:
            report = module.check(feeds)
            found = module.run(feeds).outputs
    except Exception as error:
        return Outcome("failed", "crash", f"run: {type(error).__name__}: {error}")
    if not report.bit_exact:
        return Outcome("failed", "device", str(report.mismatch))
    for index, (got, want) in enumerate(zip(found, wanted, strict=True)):
        if not _same_bits(got, want):
            return Outcome("failed", "device", f"output {index} differs from the interpreter's")
    for index, (got, want) in enumerate(zip(wanted, results, strict=True)):
        # Passes fold a batch norm into weights, so a float that is rounded may come out otherwise.
        exact = is_quantized(graph) and not diagnostics.of(INEXACT) and net.values[net.outputs[index]].exact
        if exact and not _same_bits(got, want):
            return Outcome("failed", "lowering", f"output {index} of the integer graph differs from the imported one's")
    return Outcome("same", on_device=True)


def _same_bits(one: Array, other: Array) -> bool:
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


_NAMES = re.compile(r"'[^']*'|\"[^\"]*\"")
_NUMBERS = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def _reason(message: str) -> str:
    """What an error says without names and numbers of one model, so that equal reasons can be counted."""
    lines = message.splitlines()
    if len(lines) > 1 and lines[0].endswith(":"):
        lines = [re.sub(r": \d+ nodes?: .*$", "", lines[1].strip())]
    text = lines[0].removeprefix("model: ")
    return _NUMBERS.sub("#", _NAMES.sub("'...'", text))[:200]
