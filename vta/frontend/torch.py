"""PyTorch networks: exported by `torch.export`, converted by `torch.onnx`, imported as ONNX.

PyTorch is optional (the extra `torch`), and only imported here, when it is needed.
"""

from __future__ import annotations

import json
import logging
import os
import re
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vta.errors import ImportModelError, UsageError
from vta.files.user_file import open_regular, size_of
from vta.files.zip_file import check_members
from vta.ir.graph import Graph

__all__ = ["load_pt2", "load_torch", "refuse_pickled"]

_Shapes = Mapping[str, tuple[int, ...]]

_PICKLED_OBJECTS = ("custom_obj_", "opaque_obj_")
_FORCE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
"""With this variable `torch.load` makes nothing but tensors, whatever its caller asks for."""
_EXPRESSION = re.compile(r"[\w\s()+*/,<>=-]*")
"""Of symbolic sizes, which are evaluated: names, numbers and operators; no attribute, no text."""
_SYMBOL = re.compile(r"\bSymbol\('\w+'(, \w+=(True|False))*\)")
"""The one place where an expression has a text: the name of a size that was left open."""
_MAX_JSON_BYTES = 1 << 28
_AVERAGE_ARGUMENTS = ("self", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")
_NOISY_LOGGERS = ("torch.onnx", "torch.export", "torch._export", "onnxscript", "onnx_ir")


def load_torch(network: Any, example_inputs: tuple[Any, ...] | None = None, shapes: _Shapes | None = None) -> Graph:
    """Return the graph of a PyTorch network: a `torch.nn.Module`, or what `torch.export.export` made of one.

    A module is exported in evaluation mode for `example_inputs`, a tuple of tensors, whose shapes the graph's inputs get; they
    are named as the parameters of its `forward`. The module is left in the mode that it was in. `shapes` gives shapes of
    inputs that were exported with open dimensions.

    Raises `UsageError` if PyTorch is not installed or the arguments do not go together, and `ImportModelError` with the cause
    if PyTorch cannot export the network, or naming all nodes that cannot be imported.
    """
    torch = _torch()
    name = type(network).__name__
    if isinstance(network, torch.nn.Module):
        if example_inputs is None:
            raise UsageError(f"{name}: a module needs example_inputs, a tuple of tensors, to be exported with")
        program = _exported(torch, network, example_inputs, name)
    elif isinstance(network, torch.export.ExportedProgram):
        program = network
    else:
        raise UsageError(f"load_torch takes a torch.nn.Module or an exported program, got {name}")
    return _imported(torch, program, shapes, name)


def load_pt2(path: Path, shapes: _Shapes | None = None) -> Graph:
    """Return the graph of a `.pt2` file that `torch.export.save` wrote.

    Files that hold pickled objects, which could run any code, are refused before PyTorch sees them. Raises as `load_torch`.
    """
    _check_archive(path)
    torch = _torch(str(path))
    with _quietly(), _tensors_only():
        try:
            program = torch.export.load(str(path))
        except Exception as error:
            raise ImportModelError(f"{path}: PyTorch {torch.__version__} cannot load it: {_first_line(error)}") from None
    return _imported(torch, program, shapes, str(path))


def refuse_pickled(path: Path) -> ImportModelError:
    """Return the error that says what to do in place of importing a file of `torch.save`."""
    return ImportModelError(
        f"{path}: a file of torch.save is pickled, which could run any code, and mostly holds weights without the network; it is "
        "not read here. Build the module in Python, load its weights with torch.load(..., weights_only=True), and pass it to "
        "vta.frontend.torch.load_torch; or export it: torch.export.save(torch.export.export(module, example_inputs), 'net.pt2')"
    )


def _torch(what: str = "a PyTorch network") -> Any:
    try:
        import onnxscript  # noqa: F401  (torch.onnx needs it)
        import torch
    except ImportError as error:
        missing = getattr(error, "name", None) or "torch"
        raise UsageError(
            f"{what}: importing it needs PyTorch and onnxscript, and {missing} is not installed: pip install 'vta[torch]'"
        ) from None
    return torch


def _exported(torch: Any, module: Any, example_inputs: tuple[Any, ...], name: str) -> Any:
    training = module.training
    module.eval()
    with _quietly():
        try:
            return torch.export.export(module, tuple(example_inputs))
        except Exception as error:
            raise ImportModelError(f"{name}: PyTorch cannot export it: {_first_line(error)}") from None
        finally:
            module.train(training)


def _imported(torch: Any, program: Any, shapes: _Shapes | None, name: str) -> Graph:
    _check_divisors(program, name)
    with _quietly():
        try:
            model = torch.onnx.export(program, dynamo=True, verbose=False).model_proto
        except Exception as error:
            raise ImportModelError(f"{name}: PyTorch cannot convert it to ONNX: {_first_line(error)}") from None
    from vta.frontend.onnx import import_onnx

    return import_onnx(model, shapes, name)


def _check_divisors(program: Any, name: str) -> None:
    """Raise `ImportModelError` naming an average with a divisor of its own: PyTorch's conversion leaves that out."""
    for node in program.graph.nodes:
        if "avg_pool" not in str(node.target):
            continue
        given = dict(zip(_AVERAGE_ARGUMENTS, node.args, strict=False)) | dict(node.kwargs)
        divisor = given.get("divisor_override")
        if divisor is not None:
            raise ImportModelError(
                f"{name}: {node.name}: divisor_override={divisor} of an average cannot be imported; multiply its result instead"
            )


def _first_line(error: BaseException) -> str:
    """The error that was the first one; those that follow from it say what to tell PyTorch's developers."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


@contextmanager
def _quietly() -> Iterator[None]:
    """Without PyTorch's remarks about itself."""
    loggers = [logging.getLogger(name) for name in _NOISY_LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _tensors_only() -> Iterator[None]:
    before = os.environ.get(_FORCE)
    os.environ[_FORCE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_FORCE]
        else:
            os.environ[_FORCE] = before


def _check_archive(path: Path) -> None:
    """Raise `ImportModelError` unless the file holds tensors as plain bytes, and nothing that its loader would run."""
    try:
        with open_regular(path) as stream, zipfile.ZipFile(stream) as archive:
            check_members(archive, size_of(stream))
            names = archive.namelist()
            if not any(name.endswith("archive_format") for name in names):
                raise ImportModelError(f"{path}: not a file of torch.export.save (of PyTorch 2.8 or newer)")
            for name in names:
                if name.endswith(".json"):
                    _check_document(json.loads(_read(archive, name, path)), f"{path}: {name}")
    except OSError as error:
        raise ImportModelError(f"{path}: {error.strerror or error}") from None
    except ImportModelError:
        raise
    except Exception as error:  # A damaged archive raises whatever its reader trips over.
        raise ImportModelError(f"{path}: not a file of torch.export.save, or damaged: {error}") from None


def _read(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    if archive.getinfo(name).file_size > _MAX_JSON_BYTES:
        raise ImportModelError(f"{path}: {name} is larger than {_MAX_JSON_BYTES} bytes")
    return archive.read(name)


def _check_document(value: Any, where: str) -> None:
    if isinstance(value, list):
        for item in value:
            _check_document(item, where)
    if not isinstance(value, dict):
        return
    if value.get("use_pickle") or str(value.get("path_name", "")).startswith(_PICKLED_OBJECTS):
        raise ImportModelError(
            f"{where}: {value.get('path_name')} is a pickled object, which could run any code; only tensors are read"
        )
    expression = value.get("expr_str", "")
    if not isinstance(expression, str) or "__" in expression or not _EXPRESSION.fullmatch(_SYMBOL.sub("size", expression)):
        raise ImportModelError(f"{where}: {expression!r:.60} is no size of a tensor")
    for item in value.values():
        _check_document(item, where)
