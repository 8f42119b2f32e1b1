"""Timing of kernels, here or on a server: it is sent there as text, so it needs nothing but NumPy."""

from __future__ import annotations

import ctypes
import json
import math
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["cache_sizes", "describe", "is_right", "keep", "least_seconds", "times"]

Array = NDArray[Any]
Run = Callable[[], Array]

_TOLERANCE = 1e-5
"""Of the largest result: sums are added up in another order."""
_SAMPLE_SECONDS = 5e-5
"""A sample takes so long at least, as asking for the time takes some itself."""
_ALIGNMENT = 64
_CACHES = "/sys/devices/system/cpu/cpu0/cache"
_UNITS = {"K": 1 << 10, "M": 1 << 20}
_KEPT: dict[str, Array] = {}


def least_seconds(runs: Sequence[Run], number: int, seconds: float) -> list[float]:
    """The least of some samples of each run, in turns, of the thread's own time; together `seconds` a run at least."""
    times_each = [max(1, math.ceil(_SAMPLE_SECONDS / max(_sample(run, 1), 1e-9))) for run in runs]
    least = [math.inf] * len(runs)
    spent, samples = 0.0, 0
    while samples < number or spent < seconds * len(runs):
        for at, run in enumerate(runs):
            taken = _sample(run, times_each[at])
            spent += taken
            least[at] = min(least[at], taken / times_each[at])
        samples += 1
    return least


def _sample(run: Run, count: int) -> float:
    start = time.thread_time()
    for _ in range(count):
        run()
    return time.thread_time() - start


def is_right(result: Array, expected: Array) -> bool:
    """Whether integers are the same, and floats are within rounding."""
    if result.dtype.kind != "f":
        return bool(np.array_equal(result, expected))
    known = np.isfinite(expected)
    if not np.array_equal(known, np.isfinite(result)):
        return False
    scale = max(1.0, float(np.abs(expected[known]).max(initial=0.0)))
    return bool(np.abs(result[known] - expected[known]).max(initial=0.0) <= _TOLERANCE * scale)


def cache_sizes(folder: str = _CACHES) -> tuple[int, int]:
    """Bytes of the nearest cache for data and of the next one, as the system describes them; 0 for what it does not."""
    sizes = {level: size for level, size in map(_cache, sorted(Path(folder).glob("index*"))) if size}
    return sizes.get(1, 0), sizes.get(2, 0)


def _cache(folder: Path) -> tuple[int, int]:
    """Level and size of a cache; size 0 where that is not said, or where it is for instructions."""
    try:
        level, kind, size = ((folder / name).read_text().strip() for name in ("level", "type", "size"))
        number = int(size[:-1]) * _UNITS[size[-1]] if size[-1:] in _UNITS else int(size)
        return int(level), 0 if kind == "Instruction" else number
    except (OSError, ValueError):
        return 0, 0


def describe(host: object, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """On a server: the sizes of its caches."""
    return {"caches": np.array(cache_sizes())}


def keep(host: object, inputs: Mapping[str, Array]) -> None:
    """On a server: the inputs of the kernels to come."""
    _KEPT.clear()
    _KEPT.update({name: _aligned(array) for name, array in inputs.items()})


def times(host: object, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """On a server: the least seconds of kernels, and whether the last one gives what the first one does; nothing without inputs.

    ``settings`` is JSON that describes them and says how to time them, ``library0`` and so on are their code.
    """
    settings = json.loads(inputs["settings"].tobytes())
    given = [_KEPT[name] for name in settings["inputs"] if name in _KEPT]
    if len(given) < len(settings["inputs"]):
        return {}
    runs = [_run_of(inputs[f"library{at}"], program, given) for at, program in enumerate(settings["programs"])]
    outputs = [run() for run in runs]
    right = is_right(outputs[-1], outputs[0])
    least = least_seconds(runs, settings["number"], settings["seconds"]) if right else []
    return {"right": np.array(right), "least": np.array(least, np.float64)}


def _run_of(library: Array, program: Mapping[str, Any], given: Sequence[Array]) -> Run:
    """What runs the functions of a program, with memory of its own."""
    handle, path = tempfile.mkstemp(suffix=".so")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(library.tobytes())
        code = ctypes.CDLL(path)
    finally:
        os.unlink(path)
    made = [_aligned(np.zeros(shape, dtype)) for shape, dtype in program["buffers"]]
    arrays = [*given, *made]
    table = (ctypes.c_void_p * len(arrays))(*(array.__array_interface__["data"][0] for array in arrays))
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    calls = [(kind((symbol, code)), extent) for symbol, extent in program["functions"]]

    def run() -> Array:
        for function, extent in calls:
            function(ctypes.addressof(table), 0, extent)
        return arrays[-1]

    return run


def _aligned(array: Array) -> Array:
    """A copy at an address that vectors like."""
    memory = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    start = -memory.__array_interface__["data"][0] % _ALIGNMENT
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
