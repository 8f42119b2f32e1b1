"""The files that a model is made of: its own, and what it names beside it."""

from __future__ import annotations

import os
from pathlib import Path

from vta.frontend.suffixes import SYMBOL_SUFFIX

__all__ = ["files_of_model"]


def files_of_model(model: Path, random_weights: int | None = None) -> tuple[Path, ...]:
    """The model's file, and those of its weights that lie in files of their own; none for a built-in network.

    With `random_weights` an MXNet model needs no parameters. Raises `ImportModelError` where they are missing.
    """
    if not os.path.isfile(model):
        return ()
    if model.name.endswith(SYMBOL_SUFFIX) and random_weights is None:
        from vta.frontend.mxnet.files import find_params

        return model, find_params(model)
    if model.suffix == ".onnx":
        return model, *_external_data(model)
    return (model,)


def _external_data(model: Path) -> tuple[Path, ...]:
    # Most have none, and need not be taken apart to know it: a file is named by its "location".
    if b"location" not in model.read_bytes():
        return ()
    import onnx
    from google.protobuf.message import DecodeError

    try:
        tensors = onnx.load(str(model), load_external_data=False).graph.initializer
    except DecodeError:
        # Who imports it says so.
        return ()
    named = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    folder = model.parent.resolve()
    inside = (model.parent / name for name in sorted(named) if (folder / name).resolve().is_relative_to(folder))
    return tuple(path for path in inside if path.is_file())
