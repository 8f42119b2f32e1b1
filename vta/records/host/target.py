"""How records name the processors that kernels of the host are for."""

from __future__ import annotations

from vta.config.target_list import TargetEntry
from vta.host.processors import CpuTarget

__all__ = ["matches", "target_text"]

_LEVELS = {64: "x86-64-v4", 32: "x86-64-v3", 16: "x86-64-v2"}
"""Of x86-64, by the bytes of a vector register."""


def target_text(target: CpuTarget, entry: TargetEntry | None = None) -> str:
    """A target as records write it: what the user said, with the processor that it stands for."""
    device = entry.option("device") if entry is not None else None
    keys = f"{device},cpu" if device else "cpu"
    said = f" -device={device}" if device else ""
    return f"llvm -keys={keys}{said} -mcpu={target.cpu} -mtriple={target.triple}"


def matches(text: str, target: CpuTarget) -> bool:
    """Whether a record's target is a processor whose kernels `target` can have: the same one, or one of its level."""
    if text.split(maxsplit=1)[:1] != ["llvm"]:
        return False
    options = dict(word[1:].split("=", 1) for word in text.split() if word.startswith("-") and "=" in word)
    names = (target.cpu, _LEVELS[target.vector_bytes] if target.triple.startswith("x86_64") else "generic")
    kind = options.get("mtriple", "").partition("-")[0]
    return options.get("mcpu") in names and kind == target.triple.partition("-")[0]
