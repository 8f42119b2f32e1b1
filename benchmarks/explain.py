"""What `vta explain` predicts beside what it measures when its suggestions are followed.

    python -m benchmarks.explain [--config NAME] [--models DIR] [--trials N] [--json] [NET...]

NET is a built-in name, or a model file below DIR. Each network is compiled and explained; then every suggestion is followed: the
network is compiled again with the option, for the config, or by the records of `vta tune`, or runs with the other memory, and
its cycles are counted on the cycle engine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from vta.cli.main import main as vta
from vta.compiler.compile import compile_model
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters, timing_of
from vta.devices.engine.cycle_engine import CycleEngine
from vta.explanation.explain import explain_module
from vta.explanation.explanation import Explanation
from vta.explanation.suggestion import Suggestion
from vta.quantization import QuantizeConfig
from vta.records.sources import schedules
from vta.runtime.compiled_module import CompiledModule
from vta.schedule.source import ScheduleSource

NETWORKS = ("resnet18_v1", "mobilenet/tf2_mobilenet_v2_1.0_224_ptq.tflite", "mlperf_tiny/kws_ref_model.tflite")


@dataclass(frozen=True)
class Followed:
    """A suggestion, and what became of it."""

    name: str
    change: dict[str, int | str]
    estimate: str
    predicted_cycles: int
    measured_cycles: int


@dataclass(frozen=True)
class Row:
    """One network."""

    network: str
    config: str
    total: int
    """As a run on the cycle engine counts it."""
    explained: int
    """The bound and all that was lost."""
    bound: int
    roofline: int
    lost: dict[str, int]
    attribution_seconds: float
    """Of the explanation without suggestions."""
    seconds: float
    """Of all of it."""
    followed: tuple[Followed, ...]


class Network:
    """One network that is compiled in several ways."""

    def __init__(self, model: str | Path, hw: HardwareConfig, trials: int) -> None:
        self.model = model
        self.hw = hw
        self._trials = trials

    def compiled(
        self, hw: HardwareConfig | None = None, requantize: str = "exact", source: ScheduleSource | None = None
    ) -> CompiledModule:
        """Compile it, the first layer too, for `hw`."""
        options = QuantizeConfig(skip_conv_layers=(), requantize=requantize)
        return compile_model(self.model, hw or self.hw, quantize=options, schedules=source or schedules())

    def followed(self, found: Suggestion, module: CompiledModule) -> int:
        """The cycles with a suggestion followed."""
        change = found.change
        if found.name == "bus_bits":
            timing = timing_of(self.hw)
            bits = int(change["bus_bits"])
            return cycles_of(module, replace(timing, bus_bits=bits))
        if found.name == "requantize":
            return cycles_of(self.compiled(requantize=str(change["requantize"])))
        if found.name == "schedules":
            return cycles_of(self.compiled(source=schedules(fastest=True)))
        if found.name == "tune":
            return self._tuned()
        return cycles_of(self.compiled(HardwareConfig.from_json({**self.hw.to_json(), **change})))

    def _tuned(self) -> int:
        with tempfile.TemporaryDirectory() as folder:
            config, log = Path(folder) / "config.json", Path(folder) / "tune.log"
            config.write_text(json.dumps(self.hw.to_json()))
            arguments = ["tune", str(self.model), "--config", str(config), "--records", str(log), "--quantize-first", "--json"]
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
                failed = vta([*arguments, "--tuner", "ga", "--trials", str(self._trials), "--region-seconds", "60"])
            if failed:
                raise SystemExit("tuning failed")
            return cycles_of(self.compiled(source=schedules(log)))


def cycles_of(module: CompiledModule, timing: TimingParameters | None = None) -> int:
    """Clock cycles of all regions."""
    engine = CycleEngine(module.hw, timing)
    return sum(engine.run(region.program.encoded()).cycles or 0 for region in module.regions)


def measure(network: Network, name: str) -> Row:
    """Explain a network, and follow all suggestions."""
    module = network.compiled()
    start = time.perf_counter()
    plain = explain_module(module, suggest=False)
    attribution = time.perf_counter() - start
    start = time.perf_counter()
    told = explain_module(module)
    seconds = time.perf_counter() - start
    lost = {cause.value: cycles for cause, cycles in told.lost.items()}
    followed = tuple(_followed(network, module, told))
    explained = plain.bound + sum(lost.values())
    total = cycles_of(module)
    return Row(name, module.hw.model, total, explained, told.bound, told.roofline, lost, attribution, seconds, followed)


def _followed(network: Network, module: CompiledModule, told: Explanation) -> Iterator[Followed]:
    for found in told.suggestions:
        measured = network.followed(found, module)
        yield Followed(found.name, found.change, found.estimate.value, found.predicted_cycles, measured)


def table(row: Row) -> Iterator[str]:
    """Yield the lines of the tables of docs/explain.md."""
    exact = "equal" if row.total == row.explained else f"NOT EQUAL to {row.explained:,}"
    yield f"{row.network} on {row.config}: {row.total:,} cycles, {exact} to bound {row.bound:,} + lost"
    yield f"explained in {row.attribution_seconds:.2f} s, with suggestions in {row.seconds:.2f} s"
    yield "| change | estimate | predicted | measured | difference |"
    yield "|---|---|---|---|---|"
    for entry in row.followed:
        change = ", ".join(f"{name} = {value}" for name, value in entry.change.items()) or entry.name
        off = entry.predicted_cycles / entry.measured_cycles - 1
        yield f"| {change} | {entry.estimate} | {entry.predicted_cycles:,} | {entry.measured_cycles:,} | {off:+.1%} |"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NET", default=list(NETWORKS), help="networks (default: three)")
    parser.add_argument("--models", type=Path, metavar="DIR", default=Path(), help="where model files are")
    parser.add_argument("--config", default="cycle", help="hardware config (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=64, help="trials a task of tuning (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    hw = HardwareConfig.named(options.config)
    rows = []
    for name in options.names:
        path = options.models / name
        rows.append(measure(Network(path if path.is_file() else name, hw, options.trials), name))
    if options.json:
        print(json.dumps({"networks": [asdict(row) for row in rows]}))
    else:
        print("\n".join(line for row in rows for line in table(row)))
    return 0 if all(row.total == row.explained for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
