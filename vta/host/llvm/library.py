"""Compiled functions in this process's memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from vta.errors import VTAError
from vta.host.llvm.link import link_library
from vta.host.llvm.opened_library import OpenedLibrary
from vta.host.processors import Architecture

__all__ = ["KernelLibrary"]


class KernelLibrary:
    """Object files linked together. Its functions are there as long as it is.

    By a linker, whose library is kept for the next time; where there is none, by LLVM, which takes longer to load than a linker
    takes.
    """

    def __init__(self, objects: Sequence[bytes], symbols: Iterable[str], architecture: Architecture) -> None:
        names = list(dict.fromkeys(symbols))
        self._library = _opened(objects, names, architecture) or _Jitted(objects, names)
        self.addresses = self._library.addresses
        """Of the functions, by their symbols."""


def _opened(objects: Sequence[bytes], names: Sequence[str], architecture: Architecture) -> OpenedLibrary | None:
    """None where there is no linker, or what it gives cannot be opened here."""
    with suppress(VTAError):
        return OpenedLibrary(link_library(objects, architecture) if objects else b"", names)
    return None


class _Jitted:
    """Functions linked by LLVM."""

    def __init__(self, objects: Sequence[bytes], names: Sequence[str]) -> None:
        from vta.host.llvm.binding import llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._jit = llvm.create_lljit_compiler()
        builder = llvm.JITLibraryBuilder().add_current_process()
        for code in objects:
            builder = builder.add_object_img(code)
        for name in names:
            builder = builder.export_symbol(name)
        digest = hashlib.sha256(b"".join(hashlib.sha256(code).digest() for code in objects)).hexdigest()
        self._library = builder.link(self._jit, f"kernels-{digest[:16]}")
        self.addresses: Mapping[str, int] = {name: self._library[name] for name in names}
