"""Processors to generate code for."""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from vta.support.dataclass import dataclass

__all__ = ["CpuTarget", "host_target"]

_WIDEST_BYTES = 64
"""Vectors of AVX-512."""


@dataclass(frozen=True)
class CpuTarget:
    """A processor, and what of it the schedules depend on."""

    triple: str
    cpu: str
    features: str
    """As LLVM writes them: ``+avx2,-avx512f``."""
    vector_bytes: int
    vector_registers: int
    has_vnni: bool
    """Whether it adds up four products of an unsigned and a signed byte in one instruction."""

    @property
    def broadcasts_from_memory(self) -> bool:
        """Whether products take one value for all lanes straight from memory."""
        return self.vector_bytes == _WIDEST_BYTES

    def lanes(self, item_bytes: int) -> int:
        """Values of a size in one register."""
        return self.vector_bytes // item_bytes


@cache
def host_target() -> CpuTarget:
    """The processor that this runs on."""
    features = llvm.get_host_cpu_features()
    has = {name for name, there in features.items() if there}
    vector_bytes, registers = next(
        (size for name, size in (("avx512f", (64, 32)), ("avx2", (32, 16)), ("neon", (16, 32))) if name in has), (16, 16)
    )
    vnni = {"avx512vnni", "avx512vl"} <= has
    return CpuTarget(llvm.get_default_triple(), llvm.get_host_cpu_name(), features.flatten(), vector_bytes, registers, vnni)
