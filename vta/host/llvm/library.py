"""Compiled functions in this process's memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["KernelLibrary"]


class KernelLibrary:
    """Object files linked together. Its functions are there as long as it is."""

    def __init__(self, objects: Sequence[bytes], symbols: Iterable[str]) -> None:
        from vta.host.llvm.binding import llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._jit = llvm.create_lljit_compiler()
        builder = llvm.JITLibraryBuilder().add_current_process()
        names = list(dict.fromkeys(symbols))
        for code in objects:
            builder = builder.add_object_img(code)
        for name in names:
            builder = builder.export_symbol(name)
        digest = hashlib.sha256(b"".join(hashlib.sha256(code).digest() for code in objects)).hexdigest()
        self._library = builder.link(self._jit, f"kernels-{digest[:16]}")
        self.addresses: Mapping[str, int] = {name: self._library[name] for name in names}
        """Of the functions, by their symbols."""
