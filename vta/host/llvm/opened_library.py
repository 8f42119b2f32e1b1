"""A shared library of kernels in this process, opened by the core itself: it is never a file that others could change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vta.errors import ArtifactError
from vta.native import ffi, lib
from vta.support.shorten import shown

__all__ = ["OpenedLibrary"]

_ERROR_BYTES = 1024


class OpenedLibrary:
    """The functions of a library, as long as it is there."""

    def __init__(self, code: bytes, symbols: Iterable[str]) -> None:
        """Raises `ArtifactError` if `code` is no library for this processor, or lacks one of the `symbols`."""
        self._library = _opened(code) if code else ffi.NULL
        self.addresses: Mapping[str, int] = {symbol: self._address(symbol) for symbol in symbols}
        """Of the functions, by their symbols."""

    def _address(self, symbol: str) -> int:
        found = ffi.NULL if self._library == ffi.NULL else lib.vta_library_function(self._library, symbol.encode())
        if found == ffi.NULL:
            raise ArtifactError(f"host library: there is no function {shown(symbol)}")
        return int(ffi.cast("uintptr_t", found))


def _opened(code: bytes) -> Any:
    """A library that goes with the value."""
    error = ffi.new("char[]", _ERROR_BYTES)
    found = lib.vta_library_open(ffi.from_buffer("uint8_t[]", code), len(code), error, _ERROR_BYTES)
    if found == ffi.NULL:
        raise ArtifactError(ffi.string(error).decode(errors="replace"))
    return ffi.gc(found, lib.vta_library_close)
