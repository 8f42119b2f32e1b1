"""Convolutions of bytes by cuDNN's own library, which PyTorch brings but has no operator for; for `benchmarks/gpu.py`."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["int8_convolution"]

_NHWC, _VECTORS = 1, 2
_INT8, _INT32, _INT8X4, _INT8X32 = 3, 4, 5, 8
_CROSS_CORRELATION = 1
_ALGORITHMS = range(8)
_LAYOUTS = ((_INT8, _NHWC, 4), (_INT8X4, _VECTORS, 4), (_INT8X32, _VECTORS, 32))
"""Types and orders in memory that cuDNN has for bytes, and what the channels must be a multiple of."""


class _Library:
    """Calls of cuDNN; one that fails raises `RuntimeError`."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcudnn.so.9")

    def __call__(self, function: str, *arguments: Any) -> None:
        status = getattr(self._library, function)(*arguments)
        if status:
            raise RuntimeError(f"{function}: {status}")

    def made(self, function: str) -> ctypes.c_void_p:
        """What a function makes."""
        found = ctypes.c_void_p()
        self(function, ctypes.byref(found))
        return found


def int8_convolution(shape: tuple[int, ...], torch: Any, seconds_of: Callable[[Any], float]) -> float | None:
    """The least seconds of all that cuDNN can do for a convolution from bytes to bytes, by `seconds_of` what starts one."""
    channels, outputs, size, kernel, stride = shape
    found: list[float] = []
    try:
        library = _Library()
        handle = library.made("cudnnCreate")
    except (OSError, RuntimeError) as error:
        print(f"cuDNN: {error}", file=sys.stderr)
        return None
    for dtype, layout, multiple in _LAYOUTS:
        if multiple > 4 and (channels % multiple or outputs % multiple):
            continue
        inputs, end = -(-channels // multiple) * multiple, (size + 2 * (kernel // 2) - kernel) // stride + 1
        tensors = [library.made("cudnnCreateTensorDescriptor") for _ in range(2)]
        weights, convolution = (library.made(f"cudnnCreate{what}Descriptor") for what in ("Filter", "Convolution"))
        sizes = ((1, inputs, size, size), (1, outputs, end, end))
        arrays = [torch.zeros(n * c * h * w, dtype=torch.int8, device="cuda") for n, c, h, w in sizes]
        held = torch.ones(outputs * inputs * kernel * kernel, dtype=torch.int8, device="cuda")
        try:
            for tensor, extents in zip(tensors, sizes, strict=True):
                library("cudnnSetTensor4dDescriptor", tensor, layout, dtype, *extents)
            library("cudnnSetFilter4dDescriptor", weights, dtype, layout, outputs, inputs, kernel, kernel)
            pad = kernel // 2
            window = (pad, pad, stride, stride, 1, 1, _CROSS_CORRELATION, _INT32)
            library("cudnnSetConvolution2dDescriptor", convolution, *window)
            library("cudnnSetConvolutionMathType", convolution, 1)
        except RuntimeError as error:
            print(f"cuDNN, type {dtype}: {error}", file=sys.stderr)
            continue
        for algorithm in _ALGORITHMS:
            descriptors = (tensors[0], weights, convolution, tensors[1])
            try:
                found.append(seconds_of(_starter(library, handle, torch, descriptors, algorithm, arrays, held)))
            except RuntimeError:
                continue
    return min(found, default=None)


def _starter(
    library: _Library, handle: Any, torch: Any, descriptors: Any, algorithm: int, arrays: list[Any], held: Any
) -> Callable[[], None]:
    """What starts a convolution by an algorithm; raises `RuntimeError` if cuDNN has none."""
    data, weights, convolution, out = descriptors
    nbytes = ctypes.c_size_t()
    library("cudnnGetConvolutionForwardWorkspaceSize", handle, *descriptors, algorithm, ctypes.byref(nbytes))
    space = torch.empty(max(nbytes.value, 1), dtype=torch.uint8, device="cuda")
    one, zero = ctypes.c_float(1.0), ctypes.c_float(0.0)

    def pointer(array: Any) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.data_ptr())

    def run() -> None:
        library("cudnnSetStream", handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        library(
            "cudnnConvolutionForward", handle, ctypes.byref(one), data, pointer(arrays[0]), weights, pointer(held), convolution,
            algorithm, pointer(space), nbytes, ctypes.byref(zero), out, pointer(arrays[1]),
        )  # fmt: skip

    run()
    torch.cuda.synchronize()
    return run
