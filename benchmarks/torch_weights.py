"""Weights of files that `torch.save` wrote before PyTorch 1.6, without PyTorch; nothing but tensors is made of them."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

__all__ = ["torch_weights"]

Array = NDArray[Any]

_MAGIC = 0x1950A86A20F9469CFC6C
_TYPES = {"FloatStorage": "<f4", "LongStorage": "<i8"}


class _Storage:
    """The values of a tensor, which follow after the pickled part."""

    def __init__(self, dtype: str) -> None:
        self.values = np.empty(0, dtype)


class _Tensor:
    """A tensor before the values of its storage are read."""

    def __init__(self, storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: object) -> None:
        self._storage, self._offset, self._shape, self._strides = storage, offset, shape, strides

    def array(self) -> Array:
        """The tensor, once its storage has values."""
        values = self._storage.values[self._offset :]
        strides = [stride * values.itemsize for stride in self._strides]
        return np.lib.stride_tricks.as_strided(values, self._shape, strides).copy()


class _Unpickler(pickle.Unpickler):
    """Makes tensors and dictionaries, and nothing else."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file)
        self.storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _Tensor
        if module == "torch" and name in _TYPES:
            return _TYPES[name]
        raise pickle.UnpicklingError(f"{module}.{name} is none of a file of weights")

    def persistent_load(self, pid: Any) -> _Storage:
        _, dtype, key, *_ = pid
        return self.storages.setdefault(key, _Storage(dtype))


def torch_weights(path: Path) -> dict[str, Array]:
    """Return the arrays of a file by their names. Raises `pickle.UnpicklingError` if it is of another kind."""
    with path.open("rb") as file:
        if _Unpickler(file).load() != _MAGIC:
            raise pickle.UnpicklingError(f"{path}: not a file of weights of PyTorch before 1.6")
        for _ in ("version of the format", "sizes of types"):
            _Unpickler(file).load()
        unpickler = _Unpickler(file)
        tensors = unpickler.load()
        for key in _Unpickler(file).load():
            storage = unpickler.storages[key]
            count = int(np.frombuffer(file.read(8), "<i8")[0])
            storage.values = np.frombuffer(file.read(count * storage.values.itemsize), storage.values.dtype)
    return {name: tensor.array() for name, tensor in tensors.items()}
