"""ONNX's own backend tests through our importer and reference interpreter: the tables of docs/onnx-node-tests.md.

    python benchmarks/onnx_node_tests.py [--json] [--failures] [--reasons] [NAME...]

The package `onnx` brings the cases: for each operator small models with inputs and expected outputs, layers and functions that
PyTorch exported, and whole networks with constant weights. NAME picks those whose name holds it. Every case is tried in three
forms, because an importer must know at import what a shape depends on: as it is; with all inputs but the first as constants, as
networks have weights, axes and shapes; and with constants only. A case passes if one form computes the expected values and none
computes others; it is skipped if every form is refused, for the first form's reason that is about the operator. The exit status
is 1 if a case fails.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from vta.errors import ImportModelError
from vta.frontend.onnx import import_onnx
from vta.frontend.onnx.converters import CONVERTERS
from vta.ir.interpreter import evaluate

Array = NDArray[Any]
Status = Literal["passed", "skipped", "failed"]

FORMS = ("inputs", "weights", "constants")
"""What stays an input: all, the first, none."""

KINDS = ("node", "pytorch-converted", "pytorch-operator", "simple", "light")

_ROUNDED_BETWEEN = {"several": ("bfloat16", "float16"), "Attention": ("bfloat16",)}
"""Types of outputs whose expected values were rounded to them between operators, or the steps of one."""

_ELEMENT_TYPE = re.compile(r"element type (\w+) cannot be imported")

_FOLDED = "must be known at import"


@dataclass(frozen=True)
class Case:
    """A model with inputs and expected outputs."""

    name: str
    kind: str
    model: onnx.ModelProto
    data_sets: tuple[tuple[tuple[Any, ...], tuple[Any, ...]], ...]
    rtol: float
    atol: float

    @property
    def operator(self) -> str:
        """The operator of a model of one node, with its domain; else ``several``."""
        kinds = {_kind(node) for node in self.model.graph.node}
        return kinds.pop() if len(self.model.graph.node) == 1 else "several"


@dataclass(frozen=True)
class Result:
    """What became of a case."""

    name: str
    kind: str
    operator: str
    status: Status
    form: str = ""
    """The first of `FORMS` that passed."""
    reason: str = ""
    """Why it failed or was skipped, or why it passed with constants only."""


def cases(names: Sequence[str] = ()) -> Iterator[Case]:
    """Yield the cases whose name holds one of `names` (none: all)."""
    yield from (case for case in (*_node_cases(), *_stored_cases()) if not names or any(name in case.name for name in names))


def _node_cases() -> Iterator[Case]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        # Making expected values overflows and divides by zero on purpose.
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    for case in found:
        sets = tuple((tuple(inputs), tuple(outputs)) for inputs, outputs in case.data_sets or ())
        yield Case(case.name, case.kind, case.model, sets, case.rtol, case.atol)


def _stored_cases() -> Iterator[Case]:
    from onnx.backend.test.loader import load_model_tests

    for kind in KINDS[1:-1]:
        for case in load_model_tests(kind=kind):
            folder = Path(case.model_dir)
            model = onnx.load(folder / "model.onnx")
            sets = tuple(_stored_set(path, model) for path in sorted(folder.glob("test_data_set_*")))
            yield Case(case.name, kind, model, sets, case.rtol, case.atol)
    yield from _light_cases()


def _light_cases() -> Iterator[Case]:
    """Whole networks with constant weights; their inputs count up from 0 to 1."""
    folder = Path(onnx.__file__).parent / "backend/test/data/light"
    for path in sorted(folder.glob("*.onnx")):
        model = onnx.load(path)
        given = {tensor.name for tensor in model.graph.initializer}
        inputs = [info for info in model.graph.input if info.name not in given]
        shapes = [tuple(dim.dim_value for dim in info.type.tensor_type.shape.dim) for info in inputs]
        values = tuple((np.arange(np.prod(s), dtype=np.float32) / np.prod(s)).astype(np.float32).reshape(s) for s in shapes)
        outputs = tuple(_tensor(path.with_name(f"{path.stem}_output_{i}.pb")) for i in range(len(model.graph.output)))
        yield Case(path.stem, "light", model, ((values, outputs),), 1e-3, 1e-7)


def _stored_set(folder: Path, model: onnx.ModelProto) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    given = {tensor.name for tensor in model.graph.initializer}
    count = sum(info.name not in given for info in model.graph.input)
    inputs = tuple(_value(folder / f"input_{i}.pb", model.graph.input[i]) for i in range(count))
    return inputs, tuple(_value(folder / f"output_{i}.pb", info) for i, info in enumerate(model.graph.output))


def _value(path: Path, info: onnx.ValueInfoProto) -> Any:
    """A stored tensor; None for a sequence or another kind of value."""
    return _tensor(path) if info.type.HasField("tensor_type") else None


def _tensor(path: Path) -> Array:
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return np.asarray(numpy_helper.to_array(tensor))


def run(case: Case) -> Result:
    """Run one case in all forms."""
    passed, refusals = "", list[str]()
    for form in FORMS:
        try:
            wrong = _differences(case, form)
        except ImportModelError as error:
            refusals.append(_cause(str(error)))
            continue
        if wrong:
            return Result(case.name, case.kind, case.operator, "failed", form, wrong)
        passed = passed or form
    # What must be known at import is known in the other forms: the reason that is left is the operator's.
    reason = next((cause for cause in refusals if _FOLDED not in cause), "")
    if passed:
        refused = passed == "constants" and reason.startswith(f"{case.operator}: ")
        return Result(case.name, case.kind, case.operator, "passed", passed, reason if refused else "")
    return Result(case.name, case.kind, case.operator, "skipped", reason=reason or refusals[0])


def _differences(case: Case, form: str) -> str:
    """What is wrong with the outputs; raises `ImportModelError` if the importer refuses the model."""
    for given, expected in case.data_sets:
        inputs, outputs = (tuple(map(_array, values)) for values in (given, expected))
        if any(value is None for value in (*inputs, *outputs)):
            raise ImportModelError(f"{case.name}: a value that is not a tensor (a sequence, an optional)")
        if any(_beyond_single(value) for value in (*inputs, *outputs)):
            raise ImportModelError(f"{case.name}: a value beyond single precision, which all floats are computed in")
        if any(value.dtype.name in _ROUNDED_BETWEEN.get(case.operator, ()) for value in outputs):
            raise ImportModelError(
                f"{case.name}: rounded to 16 bits between operators, which are computed in single precision here"
            )
        model, feed = _bound(case.model, [np.asarray(value) for value in inputs], form)
        try:
            graph = import_onnx(model, {name: value.shape for name, value in feed.items()})
            held = {name: _held(value) for name, value in feed.items()}
            got = evaluate(graph, held)
        except ImportModelError:
            raise
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        for index, (have, want) in enumerate(zip(got, outputs, strict=True)):
            wrong = _difference(_without_padding(have, np.asarray(want), case), np.asarray(want), case)
            if wrong:
                return f"output {index}: {wrong}"
    return ""


def _without_padding(got: Array, want: Array, case: Case) -> Array:
    """An output without the rows of -1 that fill up what a file leaves open."""
    rows = len(want) if want.ndim else 0
    padded = case.operator == "NonMaxSuppression" and len(got) > rows and bool((got[rows:] == -1).all())
    return got[:rows] if padded else got


def _array(value: Any) -> Any:
    """A value as an array; None if it is not a tensor."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else None


def _beyond_single(value: Array) -> bool:
    if value.dtype != np.float64:
        return False
    with np.errstate(over="ignore"):
        return bool((np.isinf(value.astype(np.float32)) & np.isfinite(value)).any())


def _bound(model: onnx.ModelProto, inputs: list[Array], form: str) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """The model with some inputs made constants, and the values of the others."""
    given = {tensor.name for tensor in model.graph.initializer}
    names = [info.name for info in model.graph.input if info.name not in given]
    kept = {"inputs": len(names), "weights": 1, "constants": 0}[form]
    bound = onnx.ModelProto()
    bound.CopyFrom(model)
    for name, value in list(zip(names, inputs, strict=True))[kept:]:
        bound.graph.initializer.append(numpy_helper.from_array(value, name))
    return bound, dict(zip(names[:kept], inputs, strict=False))


def _held(value: Array) -> Array:
    """An input in the data type that the importer gives it: its own, but that NumPy has no bfloat16."""
    return value.astype(np.float32) if value.dtype.name == "bfloat16" else value


def _difference(got: Array, want: Array, case: Case) -> str:
    """How an output differs from the expected one; "" if it does not."""
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "fV" or want.dtype.name == "bfloat16":
        if got.dtype != (np.float32 if want.dtype.name == "bfloat16" else want.dtype):
            return f"{got.dtype}, expected {want.dtype}"
        # The expected value itself was rounded to 8 bits.
        rtol = 2.0**-8 if want.dtype.name == "bfloat16" else case.rtol
        close = np.isclose(got, want.astype(np.float64), rtol, case.atol, equal_nan=True)
        return "" if close.all() else f"{(~close).sum()} of {close.size} values differ"
    if got.dtype != want.dtype:
        return f"{got.dtype}, expected {want.dtype}"
    return "" if np.array_equal(got, want) else f"{(got != want).sum()} of {got.size} values differ"


def _cause(message: str) -> str:
    """The reason in an error of the importer, without the names of the model."""
    lines = message.splitlines()
    if len(lines) > 1:
        return "; ".join(dict.fromkeys(": ".join(line.strip().split(": ")[:-2]) for line in lines[1:-1]))
    return lines[0].split(": ", 1)[1] if ": " in lines[0] else lines[0]


def _kind(node: onnx.NodeProto) -> str:
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.op_type} ({node.domain})"


def tables(results: Sequence[Result]) -> Iterator[str]:
    """Yield the lines of docs/onnx-node-tests.md."""
    yield "# ONNX's own tests"
    yield ""
    yield from _INTRODUCTION.strip().splitlines()
    yield ""
    yield f"onnx {onnx.__version__}:"
    yield ""
    yield "| cases | passed | skipped | failed |"
    yield "|---|---|---|---|"
    for kind in KINDS:
        yield f"| {kind} | {_counts([result for result in results if result.kind == kind])} |"
    yield ""
    yield "## Operators"
    yield ""
    yield "| operator | passed | skipped | failed | only known at import | why skipped, or only known at import |"
    yield "|---|---|---|---|---|---|"
    groups = defaultdict(list)
    for result in results:
        groups[result.operator].append(result)
    taken = {result.operator for result in results if result.form not in ("", "constants")} | set(CONVERTERS)
    for operator in sorted(set(groups) & taken - {"several"}):
        members = groups[operator]
        why = _reasons([_reason(result) for result in members if result.reason and result.status != "failed"])
        folded = sum(result.form == "constants" for result in members)
        yield f"| {operator} | {_counts(members)} | {folded or ''} | {why} |"
    yield ""
    without = sorted(set(CONVERTERS) - set(groups))
    yield f"Operators that we import and ONNX has no case of one node for: {', '.join(without)}."
    yield ""
    yield "## Operators that are not imported"
    yield ""
    others = sorted(set(groups) - taken - {"several"})
    count = sum(len(groups[name]) for name in others)
    yield f"All {count} cases of these are refused by name, where not all of their inputs are constants: {', '.join(others)}."


_INTRODUCTION = """
The package `onnx` brings tests of every operator, layers that PyTorch exported, and whole networks with constant weights.
All of them go through our importer and the reference interpreter, and none may fail:

    python benchmarks/onnx_node_tests.py

writes this document; `--reasons` says of every skipped case why. A case is tried in three forms: as it is, with all inputs
but the first as constants, and with constants only. It passes if one form computes the expected values and none computes
others. It is skipped if the importer refuses every form by name and reason. *Only known at import* counts what passes with
constants alone: shape arithmetic, and operators that have no counterpart here, for which ONNX's own evaluator is asked.

Floats of all widths are computed in single precision. uint8 is held as int8, less 128, where operators move or order values or
are quantised; else it is computed with as it is. Rows of -1 after the boxes that a NonMaxSuppression keeps are left out
([onnx.md](onnx.md)).
"""


def _reasons(reasons: Sequence[str]) -> str:
    """All reasons with how often each occurs; element types together."""
    kinds = sorted({found[1] for reason in reasons if (found := _ELEMENT_TYPE.search(reason))})
    others = Counter(reason for reason in reasons if not _ELEMENT_TYPE.search(reason))
    count = len(reasons) - sum(others.values())
    parts = [f"{reason} ({count})" for reason, count in others.most_common()]
    return "; ".join([*parts, f"element type {', '.join(kinds)} ({count})"] if count else parts)


def _reason(result: Result) -> str:
    """A reason without the operator's own name, fit for a cell of a table."""
    text = result.reason.removeprefix(f"{result.operator}: ").removeprefix(f"{result.operator} ")
    return text.replace("|", "/")


def _counts(results: Sequence[Result]) -> str:
    found = Counter(result.status for result in results)
    return " | ".join(str(found[status] or "") for status in ("passed", "skipped", "failed"))


def main() -> int:
    """Run and print; the exit status is 1 if a case fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="part of a case's name (default: all cases)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--failures", action="store_true", help="print only the cases that fail")
    parser.add_argument("--reasons", action="store_true", help="print every case that is skipped with its reason")
    options = parser.parse_args()
    results = [run(case) for case in cases(options.names)]
    failed = [result for result in results if result.status == "failed"]
    if options.json:
        print(json.dumps({"onnx": onnx.__version__, "results": [asdict(result) for result in results]}))
    elif options.failures or options.reasons:
        shown = failed if options.failures else [result for result in results if result.status == "skipped"]
        print("\n".join(f"{result.name}: {result.form}: {result.reason}" for result in shown))
    else:
        print("\n".join(tables(results)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
