"""Processors to generate code for."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import llvmlite
import numpy as np

from vta.config.target_list import TargetEntry
from vta.errors import CompileError
from vta.files.cache import Arrays, code_digest, remembered
from vta.host.processors import ARCHITECTURES, Architecture, CpuTarget, architecture_of
from vta.support.shorten import shown

__all__ = ["cpu_target", "host_target", "target_of"]


_KNOWN = ("triple", "cpu", "features")
_OF_KIND = frozenset(
    (
        *("vendor_id", "cpu family", "model", "model name", "stepping", "flags", "Features"),
        *("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision"),
    )
)
"""Lines of /proc/cpuinfo that say which processor one is."""


@cache
def host_target() -> CpuTarget:
    """The processor that this runs on."""
    key = "\n".join((llvmlite.__version__, *_processor_lines()))
    found = remembered("processors", key.encode() + code_digest(Path(__file__)), _ask_llvm) if _processor_lines() else _ask_llvm()
    triple, cpu, features = (found[name].tobytes().decode() for name in _KNOWN)
    has = {feature[1:] for feature in features.split(",") if feature.startswith("+")}
    known = ARCHITECTURES.get(platform.machine())
    requires = tuple(name for name in known.features if name in has) if known else ()
    return _target(triple, cpu, features, has, requires)


def _ask_llvm() -> Arrays:
    """What LLVM says of this machine, by `_KNOWN`."""
    from vta.host.llvm.binding import llvm

    said = (llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return {name: np.frombuffer(text.encode(), np.uint8) for name, text in zip(_KNOWN, said, strict=True)}


def _processor_lines() -> list[str]:
    """What the kernel says of the kinds of this machine's processors; nothing where it does not."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
    return sorted({line for line in lines if line.partition(":")[0].strip() in _OF_KIND})


def cpu_target(triple: str | None = None, cpu: str | None = None, attributes: str | None = None) -> CpuTarget:
    """The processor that a target triple, LLVM's name of a processor, and features (``+neon,-crc``) describe.

    Without a triple it is of the kind that has such a processor, this machine's first; with neither it is this machine's. Raises
    `CompileError` naming what is unknown, and what is known.
    """
    if triple is None and cpu in (None, "native") and attributes is None:
        return host_target()
    architecture = _architecture(triple, cpu)
    name = cpu or architecture.default
    if name not in architecture.processors:
        known = ", ".join(architecture.processors)
        raise CompileError(f"processor {shown(name)} is not known for {architecture.name}; allowed: {known}")
    has = {*architecture.processors[name], *architecture.baseline}
    for entry in filter(None, (attributes or "").split(",")):
        sign, feature = entry[0], entry[1:]
        if sign not in "+-" or feature not in architecture.features:
            allowed = ", ".join(architecture.features)
            raise CompileError(
                f"feature {shown(entry)} of {architecture.name} is not of the form +name or -name; names: {allowed}"
            )
        has = has | {feature} if sign == "+" else has - {feature}
    requires = tuple(feature for feature in architecture.features if feature in has)
    flags = ",".join(f"{'+' if feature in has else '-'}{feature}" for feature in architecture.features)
    return _target(architecture.triple, name, flags, has, requires)


def _architecture(triple: str | None, cpu: str | None) -> Architecture:
    """That of the triple; without one, this machine's, or the other one that has such a processor."""
    own = architecture_of(triple or host_target().triple)
    if triple is not None or cpu is None or cpu in own.processors:
        return own
    return next((item for item in ARCHITECTURES.values() if cpu in item.processors), own)


def target_of(entry: TargetEntry) -> CpuTarget:
    """The processor that a target of kind ``llvm`` describes. Raises as `cpu_target` does."""
    if entry.option("mfloat-abi") not in (None, "hard"):
        raise CompileError(f"target {entry}: floats go through registers, so that -mfloat-abi is hard")
    return cpu_target(entry.option("mtriple"), entry.option("mcpu"), entry.option("mattr"))


def _target(triple: str, cpu: str, features: str, has: set[str], requires: tuple[str, ...]) -> CpuTarget:
    vector_bytes, registers = next((size for name, size in (("avx512f", (64, 32)), ("avx2", (32, 16))) if name in has), (16, 16))
    if triple.startswith(("aarch64", "arm64")):
        registers = 32
    vnni = {"avx512vnni", "avx512vl"} <= has
    return CpuTarget(triple, cpu, features, vector_bytes, registers, vnni, requires)
