"""Processors that kernels are compiled for, and whether this machine has one. Needs nothing of LLVM, so that boards can ask."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from vta.errors import CompileError
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

__all__ = ["ARCHITECTURES", "Architecture", "CpuTarget", "architecture_of", "missing_features"]

_V2 = ("sse3", "ssse3", "sse4.1", "sse4.2", "popcnt")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_VNNI = (*_V4, "avx512vnni")
_ICE = (*_VNNI, "avx512vbmi", "avx512vbmi2", "avx512bitalg", "avx512vpopcntdq", "avx512ifma", "gfni")
_DOT = ("crc", "lse", "rdm", "fullfp16", "dotprod")


@dataclass(frozen=True)
class Architecture:
    """An instruction set."""

    name: str
    machine: str
    """What ``uname -m`` says."""
    triple: str
    """As LLVM is told."""
    default: str
    """The processor that is meant if none is named."""
    baseline: tuple[str, ...]
    """Features that every processor is taken to have."""
    processors: Mapping[str, tuple[str, ...]]
    """By LLVM's name, the features beyond the baseline that matter to kernels."""
    features: Mapping[str, str]
    """By LLVM's name, what the kernel calls a feature in /proc/cpuinfo."""


_X86 = Architecture(
    name="x86_64",
    machine="x86_64",
    triple="x86_64-unknown-linux-gnu",
    default="x86-64",
    baseline=(),
    processors={
        "x86-64": (),
        "x86-64-v2": _V2,
        "x86-64-v3": _V3,
        "x86-64-v4": _V4,
        "haswell": _V3,
        "broadwell": _V3,
        "skylake": _V3,
        "znver1": _V3,
        "znver2": _V3,
        "znver3": _V3,
        "skylake-avx512": _V4,
        "cascadelake": _VNNI,
        "icelake-client": _ICE,
        "icelake-server": _ICE,
        "sapphirerapids": _ICE,
        "znver4": _ICE,
    },
    features={
        "sse3": "pni", "ssse3": "ssse3", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "popcnt": "popcnt", "avx": "avx", "avx2": "avx2",
        "bmi": "bmi1", "bmi2": "bmi2", "f16c": "f16c", "fma": "fma", "lzcnt": "abm", "movbe": "movbe", "avx512f": "avx512f",
        "avx512bw": "avx512bw", "avx512cd": "avx512cd", "avx512dq": "avx512dq", "avx512vl": "avx512vl",
        "avx512vnni": "avx512_vnni", "avx512vbmi": "avx512vbmi", "avx512vbmi2": "avx512_vbmi2",
        "avx512bitalg": "avx512_bitalg", "avx512vpopcntdq": "avx512_vpopcntdq", "avx512ifma": "avx512ifma", "gfni": "gfni",
        "avxvnni": "avx_vnni", "avx512bf16": "avx512_bf16", "avx512fp16": "avx512_fp16",
    },
)  # fmt: skip

_AARCH64 = Architecture(
    name="aarch64",
    machine="aarch64",
    triple="aarch64-unknown-linux-gnu",
    default="generic",
    baseline=(),
    processors={
        "generic": (),
        "cortex-a35": (),
        "cortex-a53": (),
        "cortex-a57": (),
        "cortex-a72": (),
        "cortex-a73": (),
        "cortex-a55": _DOT,
        "cortex-a75": _DOT,
        "cortex-a76": _DOT,
        "cortex-a78": _DOT,
        "neoverse-n1": _DOT,
    },
    features={"crc": "crc32", "lse": "atomics", "rdm": "asimdrdm", "fullfp16": "asimdhp", "dotprod": "asimddp"},
)

_ARMV7 = Architecture(
    name="armv7",
    machine="armv7l",
    triple="armv7-unknown-linux-gnueabihf",
    default="generic",
    baseline=("neon",),
    processors={
        "generic": (),
        "cortex-a7": ("vfp4", "hwdiv-arm"),
        "cortex-a8": (),
        "cortex-a9": (),
        "cortex-a15": ("vfp4", "hwdiv-arm"),
        "cortex-a17": ("vfp4", "hwdiv-arm"),
    },
    features={"neon": "neon", "vfp4": "vfpv4", "hwdiv-arm": "idiva"},
)

ARCHITECTURES: Mapping[str, Architecture] = {item.machine: item for item in (_X86, _AARCH64, _ARMV7)}
"""By what ``uname -m`` says."""

_PREFIXES = {"x86_64": _X86, "amd64": _X86, "aarch64": _AARCH64, "arm64": _AARCH64, "armv7": _ARMV7, "arm-": _ARMV7}
_CPUINFO = Path("/proc/cpuinfo")


def architecture_of(triple: str) -> Architecture:
    """The instruction set of a target triple such as ``aarch64-linux-gnu``.

    Raises `CompileError` saying what is not known of it: the processor, another system than Linux, floats not in registers.
    """
    found = next((item for prefix, item in _PREFIXES.items() if triple.startswith(prefix)), None)
    if found is None:
        known = ", ".join(item.triple for item in ARCHITECTURES.values())
        raise CompileError(f"target triple {shown(triple)} is not known; allowed are those like {known}")
    _, *rest = triple.split("-")
    if "linux" not in rest:
        raise CompileError(f"target triple {shown(triple)}: allowed are those of Linux, such as {found.triple}")
    if found is _ARMV7 and not rest[-1].endswith("hf"):
        raise CompileError(f"target triple {shown(triple)}: floats go through registers, as in {found.triple}")
    return found


def missing_features(requires: Sequence[str]) -> tuple[str, ...]:
    """Which of the features, by LLVM's names, this machine lacks. It must be of the kind that they are for."""
    architecture = ARCHITECTURES.get(platform.machine())
    have = _flags()
    return tuple(name for name in requires if architecture is None or architecture.features.get(name) not in have)


def _flags() -> set[str]:
    """What the kernel says of the first processor."""
    try:
        lines = _CPUINFO.read_text(errors="replace").splitlines()
    except OSError:
        return set()
    named = (line.partition(":") for line in lines)
    return next((set(value.split()) for name, _, value in named if name.strip() in ("flags", "Features")), set())


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
    requires: tuple[str, ...] = ()
    """Instructions beyond those of every processor of its kind, by LLVM's names, that code for it may have."""

    @property
    def broadcasts_from_memory(self) -> bool:
        """Whether products take one value for all lanes straight from memory."""
        return self.vector_bytes == _WIDEST_BYTES

    @property
    def scales_vectors(self) -> int:
        """Values of 32 bits that one instruction multiplies by powers of two; 0 where there is none."""
        return self.lanes(4) if self.vector_bytes == _WIDEST_BYTES else 0

    def lanes(self, item_bytes: int) -> int:
        """Values of a size in one register."""
        return self.vector_bytes // item_bytes

    @property
    def architecture(self) -> Architecture:
        """The instruction set."""
        return architecture_of(self.triple)
