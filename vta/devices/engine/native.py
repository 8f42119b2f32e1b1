"""What the engines of the native core have in common: how they take streams, geometry and tokens, and give counters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.devices.device import Counters, RunOptions, Tokens
from vta.errors import DeviceError
from vta.isa.instruction import INSTRUCTION_BYTES
from vta.native import ffi
from vta.support.dataclass import dataclass

__all__ = ["NativeStream", "counters_from", "geometry_of", "stream_of", "token_counts"]


@dataclass(frozen=True)
class NativeStream:
    """A checked stream as the core takes it. The C pointers are valid for as long as this lives."""

    code: Any
    """uint8_t[], 16 bytes an instruction."""
    last: int
    operators: Any
    """int32_t * or NULL."""
    operator_count: int
    kept: tuple[Any, ...]
    """The arrays behind the pointers."""


def stream_of(stream: NDArray[np.uint8], options: RunOptions) -> NativeStream:
    """Check a binary stream, shape (n, 16), and what `options` say of it. Raises `DeviceError`."""
    code = np.ascontiguousarray(stream, dtype=np.uint8)
    if code.ndim != 2 or code.shape[1] != INSTRUCTION_BYTES:
        raise DeviceError(f"an instruction stream has shape (n, {INSTRUCTION_BYTES}), got {code.shape}")
    last = len(code) if options.last is None else options.last
    if not 0 <= options.first <= last <= len(code):
        raise DeviceError(f"segment [{options.first}, {last}) is not inside the stream of {len(code)} instructions")
    pointer = ffi.from_buffer("uint8_t[]", code)
    if options.operator_index is None:
        return NativeStream(pointer, last, ffi.NULL, 0, (code,))
    operators = np.ascontiguousarray(options.operator_index, dtype=np.int32)
    if operators.shape != (len(code),):
        raise DeviceError(f"operator_index has shape {operators.shape}; the stream has {len(code)} instructions")
    index = ffi.from_buffer("int32_t[]", operators)
    return NativeStream(pointer, last, index, options.operator_count, (code, operators))


def geometry_of(hw: HardwareConfig) -> Any:
    """The core's description of a config's geometry."""
    geometry = ffi.new("vta_geometry *")
    for name, _ in ffi.typeof("vta_geometry").fields:
        setattr(geometry, name, getattr(hw, name))
    return geometry


def token_counts(tokens: Tokens) -> Any:
    """Tokens as the core takes them. Raises `DeviceError` for negative counts."""
    counts = (tokens.load_to_compute, tokens.compute_to_load, tokens.compute_to_store, tokens.store_to_compute)
    if min(counts) < 0:
        raise DeviceError(f"token counts must not be negative, got {tokens}")
    return ffi.new("uint64_t[4]", counts)


def counters_from(getter: Callable[..., None], engine: Any, operator: int) -> Counters:
    """Counters of one operator, or of the whole run for -1, by the engine's own function."""
    values = ffi.new("vta_functional_counters *")
    getter(engine, operator, values)
    return Counters(**{name: int(getattr(values, name)) for name, _ in ffi.typeof("vta_functional_counters").fields})
