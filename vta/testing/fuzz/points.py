"""Where the fuzzer looks: hardware configs and timings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from vta.config.files import config_path
from vta.config.hardware import HardwareConfig, load_config
from vta.config.timing import TimingParameters, load_timing, timing_of
from vta.errors import ConfigError
from vta.support.dataclass import dataclass

__all__ = ["Point", "default_points", "points_of", "random_points", "vary_memory"]


@dataclass(frozen=True)
class Point:
    """A core: what one Verilator build serves."""

    hw: HardwareConfig
    timing: TimingParameters

    @property
    def name(self) -> str:
        """Short name for reports, e.g. ``1x16_i8w8a32_15_15_18_17 bus 64``."""
        return f"{self.hw.bitstream} bus {self.timing.bus_bits}"


# log2 of batch, block, accumulator bits, and of the bytes of the uop, inp, wgt and acc buffers; then the timing.
_CORES: tuple[tuple[tuple[int, ...], dict[str, int]], ...] = (
    ((0, 4, 5, 15, 15, 18, 17), {"bus_bits": 64}),
    ((2, 3, 5, 15, 16, 16, 18), {"bus_bits": 64}),
    ((1, 4, 5, 15, 15, 18, 17), {"bus_bits": 128}),
    ((0, 3, 5, 12, 12, 14, 14), {"bus_bits": 64, "burst_beats": 16, "load_ahead": 3, "store_ahead": 2}),
    ((0, 5, 5, 15, 15, 18, 17), {"bus_bits": 256, "burst_beats": 32}),
    ((0, 4, 5, 13, 13, 16, 15), {"bus_bits": 128, "load_ahead": 2, "store_ahead": 1, "queue_depth": 32}),
    ((0, 2, 4, 6, 6, 8, 7), {"bus_bits": 64, "burst_beats": 4, "load_fifo": 4, "acc_fifo": 4, "fetch_fifo": 4, "queue_depth": 4}),
    (
        (0, 3, 4, 8, 8, 10, 9),
        {"bus_bits": 256, "burst_beats": 8, "load_fifo": 16, "acc_fifo": 8, "fetch_fifo": 8, "queue_depth": 8, "store_ahead": 3},
    ),
    ((1, 3, 5, 10, 10, 12, 12), {"bus_bits": 512, "burst_beats": 64, "load_ahead": 1, "store_ahead": 4}),
)
_LOG_MOST_MACS = 10
"""Of random cores, in log2 a cycle: larger ones take many minutes to compile."""
_LATENCIES = (1, 2, 3, 16, 16, 16, 40, 200)


def default_points() -> list[Point]:
    """Cores of many shapes, among them 1x16, 4x8, 2x16, 1x8 and 1x32, and buses of 64 to 512 bits."""
    return [
        Point(HardwareConfig("rtl", "0.0.2", 3, 3, acc, batch, block, *buffers), TimingParameters(**timing))
        for (batch, block, acc, *buffers), timing in _CORES
    ]


def random_points(count: int, seed: int) -> list[Point]:
    """Cores of up to 1,024 multipliers with small memories, on any bus; the same for the same arguments."""
    rng = Random(f"cores {seed}")
    points: list[Point] = []
    while len(points) < count:
        block, acc = rng.randint(2, 6), rng.randint(4, 5)
        batch = rng.choice((0, 0, 1, 2, 3))
        if batch + 2 * block > _LOG_MOST_MACS:
            continue
        bits = batch + block
        sizes = (2, bits, 2 * block, bits + acc - 3)
        depths = (rng.randint(3, 10), rng.randint(1, 9), rng.randint(1, 7), rng.randint(1, 9))
        buffers = (size + depth for size, depth in zip(sizes, depths, strict=True))
        try:
            hw = HardwareConfig("rtl", "0.0.2", 3, 3, acc, batch, block, *buffers)
        except ConfigError:
            continue  # an element beyond a page, or a micro-op beyond 32 bits
        points.append(Point(hw, _random_timing(rng)))
    return points


def _random_timing(rng: Random) -> TimingParameters:
    bus_bits = rng.choice((64, 64, 128, 256, 512))
    burst = rng.choice([beats for beats in (2, 4, 16, 64) if beats * bus_bits // 8 <= 4096])
    return TimingParameters(
        bus_bits=bus_bits,
        burst_beats=burst,
        queue_depth=rng.choice((2, 5, 16, 512)),
        load_fifo=burst * rng.choice((1, 2, 5)),
        acc_fifo=burst * rng.choice((1, 2, 3)),
        fetch_fifo=burst * rng.choice((1, 2)),
        load_ahead=rng.choice((1, 2, 3, 8)),
        store_ahead=rng.choice((1, 2, 8)),
    )


def points_of(configs: Sequence[str], timings: Sequence[Path]) -> list[Point]:
    """One point for each config, and each timing file if there are any; the target becomes one that implements all."""
    if not configs and not timings:
        return default_points()
    hardware = [replace(load_config(config_path(name)), target="rtl") for name in configs]
    if not hardware:
        hardware = [point.hw for point in default_points()]
    return [Point(hw, load_timing(path, hw)) for hw in hardware for path in timings] or [
        Point(hw, timing_of(hw)) for hw in hardware
    ]


def vary_memory(timing: TimingParameters, rng: Random) -> TimingParameters:
    """The same core with another memory around it, as often as not."""
    if rng.random() < 0.5:
        return timing
    return replace(
        timing,
        read_latency=rng.choice(_LATENCIES),
        write_latency=rng.choice((1, 1, 2, 7, 40, 200)),
        beat_interval=rng.choice((1, 1, 1, 2, 3)),
    )
