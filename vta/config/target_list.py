"""Lists of targets, such as ``vta, llvm -device=arm_cpu -mtriple=aarch64-linux-gnu``: the first takes what it can.

A host target describes the machine beside the accelerator, another one the GPU that computes what is left to the host.
"""

from __future__ import annotations

import re
import shlex

from vta.config.hardware import HardwareConfig
from vta.errors import UsageError
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

__all__ = ["DEFAULT_TARGETS", "GPUS", "TargetEntry", "TargetList", "parse_targets"]

VTA, HOST = "vta", "llvm"
GPUS = ("opencl", "cuda")
_GPU_OPTIONS = ("device", "keys", "libs", "max_num_threads", "model", "ordinal")

_KINDS = {"vta": VTA, "ext_dev": VTA, "llvm": HOST, **{kind: kind for kind in GPUS}}
_OPTIONS = {
    VTA: ("device", "keys", "model"),
    HOST: (
        "device",
        "keys",
        "libs",
        "mabi",
        "mattr",
        "mcpu",
        "mfloat-abi",
        "model",
        "mtriple",
        "num-cores",
        "opt-level",
        "system-lib",
    ),
    "opencl": (*_GPU_OPTIONS, "platform"),
    "cuda": (*_GPU_OPTIONS, "arch"),
}
_FLAGS = ("system-lib",)
"""Options that may stand without a value."""
_SEPARATOR = re.compile(rf",\s+|,(?=(?:{'|'.join(_KINDS)})(?:[\s,]|$))")
"""A comma with a space behind it, or before the name of a target; other commas belong to values, as in ``-mattr=+neon,+crc``."""


@dataclass(frozen=True)
class TargetEntry:
    """One target with its options."""

    kind: str
    """``vta``, ``llvm`` for the host, or one of `GPUS`."""
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str | None:
        """The value of an option; "" for one that stands without, None if it is not given."""
        return dict(self.options).get(name)

    def __str__(self) -> str:
        return " ".join([self.kind, *(f"-{name}={value}" if value else f"-{name}" for name, value in self.options)])


@dataclass(frozen=True)
class TargetList:
    """Targets in the order in which they take what they can; at most one of each kind."""

    entries: tuple[TargetEntry, ...]

    @property
    def vta(self) -> TargetEntry | None:
        """The accelerator, if it is in the list."""
        return next((entry for entry in self.entries if entry.kind == VTA), None)

    @property
    def host(self) -> TargetEntry | None:
        """The host, if it is in the list."""
        return next((entry for entry in self.entries if entry.kind == HOST), None)

    @property
    def gpu(self) -> TargetEntry | None:
        """The GPU, if one is in the list."""
        return next((entry for entry in self.entries if entry.kind in GPUS), None)

    @property
    def host_first(self) -> bool:
        """Whether the host, or a GPU in its place, takes everything: it can run whatever there is."""
        return self.entries[0].kind != VTA

    def check(self, hw: HardwareConfig) -> None:
        """Raise `UsageError` if the list names another accelerator than that of `hw`."""
        model = self.vta.option("model") if self.vta else None
        if model is not None and model not in (hw.model, hw.bitstream):
            raise UsageError(f"target {self.vta}: the hardware config describes {hw.model} ({hw.bitstream}), not {model}")

    def __str__(self) -> str:
        return ", ".join(map(str, self.entries))


def parse_targets(text: str) -> TargetList:
    """Parse targets separated by commas, each a name and options ``-name=value``.

    Raises `UsageError` naming what is unknown, with what is allowed.
    """
    entries = tuple(_entry(part.strip(), text) for part in _SEPARATOR.split(text))
    kinds = [entry.kind for entry in entries]
    for kind in (VTA, HOST, *GPUS):
        if kinds.count(kind) > 1:
            raise UsageError(f"target {shown(text)}: {kind} is there more than once")
    if set(GPUS) <= set(kinds):
        raise UsageError(f"target {shown(text)}: {' and '.join(GPUS)} are both there; one GPU computes what is left to the host")
    return TargetList(entries)


def _entry(text: str, whole: str) -> TargetEntry:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"target {shown(whole)}: {error}") from None
    if not words:
        raise UsageError(f"target {shown(whole)} has an empty entry; targets are separated by commas, such as 'vta, llvm'")
    name, *rest = words
    if name not in _KINDS:
        raise UsageError(f"target {shown(whole)}: {shown(name)} is not a target; allowed: {', '.join(_KINDS)}")
    kind = _KINDS[name]
    options: dict[str, str] = {}
    for word in rest:
        key, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not key:
            raise UsageError(
                f"target {shown(whole)}: {shown(word)} is not an option; "
                "options are of the form -name=value, and a comma separates targets"
            )
        if key not in _OPTIONS[kind]:
            allowed = ", ".join(f"-{option}" for option in _OPTIONS[kind])
            raise UsageError(f"target {shown(whole)}: {name} has no option -{key}; allowed: {allowed}")
        if key in options:
            raise UsageError(f"target {shown(whole)}: -{key} is given twice")
        if not value and (equals or key not in _FLAGS):
            raise UsageError(f"target {shown(whole)}: -{key} needs a value: -{key}=...")
        if key == "ordinal" and not value.isdecimal():
            raise UsageError(f"target {shown(whole)}: -ordinal={shown(value)} is no number of a device; the first one is 0")
        options[key] = value
    return TargetEntry(kind, tuple(options.items()))


DEFAULT_TARGETS = TargetList((TargetEntry(VTA), TargetEntry(HOST)))
