"""The `chisel` and `hls` timing presets against published cycle counts and measured times; nothing in them is fitted to either.

chisel: totals of five runs of the convolution C2 with tiles of size 1, one unit at a time, at four bus widths.
hls: times of convolutions on a Pynq board, from a log of tuning records, each with the schedule of its record.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vta.codegen.region import compile_operators
from vta.config.files import config_path
from vta.config.hardware import HardwareConfig, load_config
from vta.config.timing import TimingParameters
from vta.devices.engine.cycle_engine import CycleEngine, Preset
from vta.isa import AluOp, Program
from vta.schedule.choose import choose_schedule
from vta.schedule.resources import broken_limits
from vta.schedule.schedule import Schedule
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm, RadixDigit
from vta.tile.operator import Tensor
from vta.tile.step import Immediate, PerChannel, Step

PUBLISHED_C2 = {64: 97e6, 128: 58e6, 256: 39e6, 512: 29e6}
"""Cycles by bus width."""
C2_RUNS = 5
BOARD_MHZ = 100
BOARD_MODEL = "-model=pynq_1x16_i8w8a32_15_15_18_17"


@dataclass(frozen=True)
class Conv:
    """A convolution in packed blocks of 1x16."""

    blocks_in: int
    height: int
    width: int
    blocks_out: int
    kernel: int
    padding: int
    stride: int

    def __str__(self) -> str:
        size = f"{16 * self.blocks_in}x{self.height}x{self.width}"
        return f"{size} -> {16 * self.blocks_out}, {self.kernel}x{self.kernel}, stride {self.stride}"


@dataclass(frozen=True)
class BoardRow:
    """One record: what the board took and what the preset predicts."""

    network: str
    conv: str
    schedule: str
    measured_ms: float
    predicted_ms: float


SHIFT_AND_CLIP = (Step(AluOp.SHR, Immediate(8)), Step(AluOp.MAX, Immediate(0)), Step(AluOp.MIN, Immediate(127)))


def with_bias(conv: Conv) -> tuple[Step, ...]:
    """Shift by 8, add the bias, clip to 0..127."""
    bias = np.arange(16 * conv.blocks_out, dtype=np.int64)
    return (*SHIFT_AND_CLIP[:1], Step(AluOp.ADD, PerChannel(bias)), *SHIFT_AND_CLIP[1:])


def operator_of(conv: Conv, steps: tuple[Step, ...]) -> GemmOperator:
    """The convolution, with random weights, and `steps`."""
    size = [(extent + 2 * conv.padding - conv.kernel) // conv.stride + 1 for extent in (conv.height, conv.width)]
    shape = (conv.blocks_out, conv.blocks_in, conv.kernel, conv.kernel, 16, 16)
    weights = np.random.default_rng(0).integers(-128, 128, shape, np.int8)
    source = Tensor("x", 1, conv.blocks_in, conv.height, conv.width)
    term = GemmTerm(source, weights, strides=(conv.stride,) * 2, padding=(conv.padding,) * 2)
    output = Tensor("y", 1, conv.blocks_out, size[0], size[1])
    return GemmOperator(name="conv", kind="conv2d", output=output, digits=(RadixDigit(0, (term,)),), epilogue=steps)


def program_of(
    conv: Conv, steps: tuple[Step, ...], schedule: Schedule | None, hw: HardwareConfig, serial: bool = False
) -> Program:
    """Compile the convolution; `schedule` is used as it is, but for an operator whose rows and columns are one axis.

    Without a schedule the compiler chooses one.
    """
    operator = operator_of(conv, steps)
    if schedule is None:
        schedule = choose_schedule(operator, hw)
    elif operator.output.height == 1 != conv.height:
        schedule = replace(schedule, tile_h=1, tile_w=schedule.tile_h * schedule.tile_w)
    if limits := broken_limits(operator, schedule, hw):
        raise SystemExit(f"{conv}: {schedule} does not fit: {limits[0]}")
    source = operator.digits[0].terms[0].source
    return compile_operators([operator], [source], [operator.output], hw, [schedule], serial).program


@dataclass(frozen=True)
class ChiselRow:
    """Total cycles at one bus width."""

    bus_bits: int
    published: float
    predicted: int
    """Of our program."""
    recorded: int | None
    """Predicted for the program that the published compiler made."""

    def error(self, cycles: int) -> float:
        """Deviation from the published total."""
        return cycles / self.published - 1


def chisel_rows(hw: HardwareConfig, recorded: Path | None = None) -> list[ChiselRow]:
    """Published and predicted totals at each bus width."""
    schedule = replace(Schedule.smallest(), tile_kh=3, tile_kw=3, weights_outer=False)
    conv = Conv(4, 56, 56, 4, 3, 1, 1)
    streams = [program_of(conv, with_bias(conv), schedule, hw, serial=True).encoded()]
    if recorded:
        streams.append(np.load(recorded)["insns"])
    rows = []
    for bus_bits, published in PUBLISHED_C2.items():
        timing = TimingParameters(bus_bits=bus_bits, burst_beats=min(64, 4096 * 8 // bus_bits))
        engine = CycleEngine(hw, timing, Preset.CHISEL)
        totals = [C2_RUNS * (engine.run(stream).cycles or 0) for stream in streams]
        rows.append(ChiselRow(bus_bits, published, totals[0], totals[1] if recorded else None))
    return rows


def records(log: Path) -> Iterator[tuple[str, Conv, dict[str, Any], float]]:
    """Network, convolution, knobs and measured seconds of the records made on the board, but for the network Yolo.

    Yolo's rows repeat the times of other rows.
    """
    network = ""
    for line in log.read_text().splitlines():
        if line.startswith("#"):
            network = line[1:].split()[0]
            continue
        record = json.loads(line)
        target, task, arguments, _ = record["input"]
        if task != "conv2d_packed.vta" or BOARD_MODEL not in target.split() or "yolo" in network.lower():
            continue
        data, kernel, strides, padding = arguments[0][1], arguments[1][1], arguments[2], arguments[3]
        conv = Conv(data[1], data[2], data[3], kernel[0], kernel[2], padding[0], strides[0])
        knobs = {name: value[-1] if kind == "sp" else value for name, kind, value in record["config"]["entity"]}
        yield network, conv, knobs, record["result"][0][0]


def board_rows(log: Path, hw: HardwareConfig) -> list[BoardRow]:
    """Measured and predicted times. Virtual threads become slots: two tiles in flight."""
    engine = CycleEngine(hw, TimingParameters(), Preset.HLS)
    rows = []
    for network, conv, knobs, seconds in records(log):
        slots = max(knobs["oc_nthread"], knobs["h_nthread"])
        sizes = {name: knobs[name] for name in ("tile_co", "tile_h", "tile_w", "tile_ci")}
        schedule = Schedule(
            **sizes,
            tile_kh=conv.kernel,
            tile_kw=conv.kernel,
            inp_slots=slots,
            wgt_slots=slots,
            acc_slots=slots,
            weights_outer=False,
        )
        result = engine.run(program_of(conv, SHIFT_AND_CLIP, schedule, hw).encoded())
        predicted = (result.cycles or 0) / (1000 * BOARD_MHZ)
        knob_text = "co {} h {} w {} ci {}".format(*sizes.values()) + f" threads {slots}"
        rows.append(BoardRow(network, str(conv), knob_text, 1000 * seconds, predicted))
    return rows


def spearman(one: list[float], other: list[float]) -> float:
    """Correlation of ranks; equal values share their mean rank."""

    def ranks(values: list[float]) -> np.ndarray:
        array = np.asarray(values)
        return np.array([(array < value).sum() + ((array == value).sum() - 1) / 2 for value in array])

    return float(np.corrcoef(ranks(one), ranks(other))[0, 1])


def markdown(chisel: list[ChiselRow], board: list[BoardRow]) -> Iterator[str]:
    """The tables of docs/presets.md."""

    def cell(row: ChiselRow, cycles: int | None) -> str:
        return "" if cycles is None else f"{cycles / 1e6:.1f} M ({row.error(cycles):+.1%})"

    yield "| bus bits | published | our program | the published compiler's program |\n|---|---|---|---|"
    for row in chisel:
        ours, recorded = cell(row, row.predicted), cell(row, row.recorded)
        yield f"| {row.bus_bits} | {row.published / 1e6:.0f} M | {ours} | {recorded} |"
    if board:
        yield "\n| network | convolution | schedule | measured ms | predicted ms |\n|---|---|---|---|---|"
    for entry in board:
        times = f"{entry.measured_ms:.2f} | {entry.predicted_ms:.2f}"
        yield f"| {entry.network} | {entry.conv} | {entry.schedule} | {times} |"


def main() -> None:
    """Run both comparisons and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", type=Path, help="tuning records with measured times; without it only chisel is compared")
    parser.add_argument(
        "--recorded", type=Path, help="C2 as the published compiler made it: an .npz file with the stream in 'insns'"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    hw = load_config(config_path("pynq"))
    chisel = chisel_rows(hw, options.recorded)
    board = board_rows(options.log, hw) if options.log else []
    correlation = spearman([row.measured_ms for row in board], [row.predicted_ms for row in board]) if board else None
    if options.json:
        hls = {"spearman": correlation, "rows": [asdict(row) for row in board]}
        print(json.dumps({"approximations": True, "chisel": [asdict(row) for row in chisel], "hls": hls}))
        return
    for line in markdown(chisel, board):
        print(line)
    if correlation is not None:
        print(f"\nSpearman correlation of {len(board)} rows: {correlation:.3f}")


if __name__ == "__main__":
    main()
