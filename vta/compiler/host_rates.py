"""How fast a processor's compiled kernels are: measured once, kept in a file, and given to whoever asks whether a region pays.

Nothing of this is measured while a network is compiled: the same network, config and file give the same program everywhere.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from vta.compiler.profit import HostModel
from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, UsageError
from vta.files.json_file import read_object
from vta.ir import names as ops
from vta.ir.graph import Graph, Node, call, constant, graph_input
from vta.ir.macs import macs_of
from vta.runtime.host_part.host_graph import host_graph
from vta.support.shorten import shown
from vta.tile.packing import pack, unpack

__all__ = ["SHIPPED_RATES", "host_model", "measured_rates", "rates_text"]

SHIPPED_RATES = {
    "board": HostModel(),
    "x86-64-vnni": HostModel(mhz=1000.0, macs_per_cycle=250.0, values_per_cycle=12.0, bytes_per_cycle=2.2),
}
"""By name: the small core of a board, which nobody has measured, and a class of processors as `measured_rates` found it."""

_NANOSECONDS_MHZ = 1000.0
"""The clock of measured rates: what is done in a nanosecond."""
_PROCESSOR = "processor"
_SECONDS = 0.2
"""Of each measurement, at least."""
_FEWEST = 5
_LAYERS = ((64, 64, 28, 3), (128, 128, 28, 1), (256, 256, 14, 3), (512, 512, 7, 1))
"""Convolutions of bytes: channels, outputs, size, kernel."""
_IMAGE = (1, 64, 56, 56)


def measured_rates() -> HostModel:
    """The rates of kernels on this processor, one thread, in a nanosecond; it takes a few seconds.

    Raises `DeviceError` if kernels cannot be compiled here.
    """
    return HostModel(
        mhz=_NANOSECONDS_MHZ,
        macs_per_cycle=_rate([(_convolution(*layer), macs_of) for layer in _LAYERS]),
        values_per_cycle=_rate([(_chain(), _values), (_pool(), _window_values)]),
        bytes_per_cycle=_packing_rate(),
    )


def _convolution(channels: int, outputs: int, size: int, kernel: int) -> Graph:
    data = graph_input("data", (1, channels, size, size), "int8")
    weight = constant(_bytes((outputs, channels, kernel, kernel)))
    return Graph((data,), (call(ops.CONV2D, [data, weight], padding=(kernel // 2,) * 4),))


def _chain() -> Graph:
    """A sum, and what brings it back to bytes."""
    data, other = (graph_input(name, _IMAGE, "int32") for name in ("data", "other"))
    shifted = call(ops.RIGHT_SHIFT, [call(ops.ADD, [data, other]), constant(np.int32(3))])
    narrow = call(ops.CAST, [call(ops.CLIP, [shifted], a_min=-128, a_max=127)], dtype="int8")
    return Graph((data, other), (narrow,))


def _pool() -> Graph:
    data = graph_input("data", _IMAGE, "int8")
    return Graph((data,), (call(ops.MAX_POOL2D, [data], pool_size=(3, 3), strides=(2, 2)),))


def _values(node: Node) -> int:
    return prod(node.shape)


def _window_values(node: Node) -> int:
    return 9 * prod(node.shape)


def _bytes(shape: tuple[int, ...], dtype: str = "int8") -> Any:
    return np.random.default_rng(0).integers(-128, 127, shape).astype(dtype)


def _rate(parts: Iterable[tuple[Graph, Callable[[Node], int]]]) -> float:
    """What graphs do in a nanosecond, by what each of their operators counts."""
    work, seconds = 0, 0.0
    for graph, counts in parts:
        compiled = host_graph(graph)
        inputs = {node.name: _bytes(node.shape, node.dtype) for node in graph.inputs}
        work += sum(map(counts, graph.calls()))
        seconds += _least_seconds(partial(compiled.run, inputs))
    return work / seconds * 1e-9


def _packing_rate() -> float:
    """Bytes that go into VTA's layout, and out of it again, in a nanosecond."""
    hw, data = HardwareConfig.named("sim"), _bytes(_IMAGE)
    packed = pack(data, hw)
    seconds = _least_seconds(lambda: pack(data, hw)) + _least_seconds(lambda: unpack(packed, _IMAGE, "int8", hw))
    return 2 * packed.size / seconds * 1e-9


def _least_seconds(run: Callable[[], object]) -> float:
    """Of some runs, of the thread's own time."""
    run()
    times: list[float] = []
    while len(times) < _FEWEST or sum(times) < _SECONDS:
        start = time.thread_time()
        run()
        times.append(time.thread_time() - start)
    return min(times)


def rates_text(model: HostModel, processor: str) -> str:
    """The file that `host_model` reads."""
    return json.dumps({_PROCESSOR: processor, **asdict(model)}, indent=2) + "\n"


def host_model(named: str | Path) -> HostModel:
    """The rates that a file holds, or those that come with the package by that name.

    Raises `ConfigError` naming file, key and what is allowed.
    """
    if str(named) in SHIPPED_RATES:
        return SHIPPED_RATES[str(named)]
    if not Path(named).exists():
        raise ConfigError(f"{named}: no such file, nor one of the shipped rates: {', '.join(SHIPPED_RATES)}")
    values = read_object(Path(named))
    values.pop(_PROCESSOR, None)
    allowed = [field.name for field in fields(HostModel)]
    for key, value in values.items():
        if key not in allowed:
            raise ConfigError(f"{named}: unknown key {shown(key)}; allowed keys: {', '.join((_PROCESSOR, *allowed))}")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ConfigError(f"{named}: {key} = {shown(value)}; allowed: numbers above 0")
    try:
        return HostModel(**values)
    except UsageError as error:
        raise ConfigError(f"{named}: {error}") from None
