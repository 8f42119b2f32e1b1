"""What a workload is called beside a figure: its operator and sizes, as people say them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vta.records.workload import Workload

__all__ = ["distinct_names", "workload_label"]

_ENDINGS = ("_packed.vta", ".vta")


def workload_label(workload: Workload) -> str:
    """E.g. ``conv2d 64x56x56 to 128, 3x3, stride 2``; what has other tensors than a known kind has is named by their shapes."""
    name = workload.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    try:
        return f"{name} {_sizes(name, workload)}"
    except (IndexError, ValueError, TypeError):
        return workload.identity


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that were there before."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found


def _sizes(name: str, workload: Workload) -> str:
    tensors = workload.tensors
    if "conv2d" in name:
        data, weights = tensors[:2]
        out, _, height, width, rows, _ = weights
        stride = next((arg for arg in workload.args if isinstance(arg, tuple) and arg[:1] != ("TENSOR",)), (1, 1))
        step = f", stride {stride[0]}" if set(stride) != {1} else ""
        return f"{_logical(data)} to {out * rows}, {height}x{width}{step}"
    if name == "dense":
        data, weights = tensors[:2]
        return f"{data[1] * data[-1]} to {weights[0] * weights[2]}"
    other = f" and {_logical(tensors[1])}" if len(tensors) > 1 and tensors[1] else ""
    return _logical(tensors[0]) + other


def _logical(shape: Sequence[int]) -> str:
    """Channels, height and width of a tensor in blocks."""
    return "x".join(str(size) for size in (shape[1] * shape[-1], *shape[2:-2]))
