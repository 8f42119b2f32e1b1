"""Where the time of a network goes: every layer, on the accelerator and on the host, in cycles of one clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from vta.codegen.region_program import HOST, VTA, Placement, RegionProgram
from vta.compiler.profit import host_cycles
from vta.devices.device import Counters, RunResult
from vta.devices.engine.cycle_engine import CycleEngine, Preset
from vta.errors import GraphError
from vta.ir.graph import Node
from vta.ir.macs import macs_of
from vta.ir.transforms.batch import batch_size
from vta.report.costs.bottlenecks import bottleneck
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.operator_cycles import OperatorCycles, operator_cycles
from vta.runtime.reports import RunReport
from vta.support.dataclass import dataclass
from vta.support.table import Table, make_table

__all__ = ["LayerCost", "NetworkCost", "cost_table", "costs_json", "network_cost", "with_faster_steps"]

_SHOWN = 20
_JSON_KEYS = (
    "layers",
    "clock_mhz",
    "network_cycles",
    "host_cycles",
    "host_model_cycles",
    "milliseconds",
    "frames_per_second",
)
_TITLE = "Layers by cost, in cycles of the accelerator's clock"


@dataclass(frozen=True)
class LayerCost:
    """What one layer cost in one place; cycles are those of the accelerator's clock."""

    layer: str
    where: str
    """`VTA` or `HOST`."""
    region: str | None
    """Of the accelerator, for what runs there."""
    operators: tuple[str, ...]
    """Of the graph; () where they are not known one by one."""
    cycles: int
    """On the accelerator from the end of what was done before to its own end; on the host wall time, converted."""
    macs: int
    """That the network needs, without padding to blocks."""
    utilization: float | None
    """Part of the multiplications that the matrix unit could do in these cycles; None on the host."""
    rule: str
    """What keeps it on the host (`remedies.Remedy`), or takes most of its time on the accelerator (`bottlenecks`)."""
    why: str
    """The same in words."""


@dataclass(frozen=True)
class NetworkCost:
    """What a run of a network cost, layer by layer."""

    layers: tuple[LayerCost, ...]
    """Most cycles first."""
    clock_mhz: float
    """Of the accelerator."""
    samples: int | None
    """Of one run; None if inputs and outputs do not share a number of them."""
    peak_macs: int
    """Of one cycle."""
    model_cycles: int
    """What the host part takes by `HostModel`, whatever it took here."""

    def cycles(self, where: str = "") -> int:
        """Of all layers, or of those on the accelerator or on the host."""
        return sum(row.cycles for row in self.layers if where in ("", row.where))

    def milliseconds(self, cycles: int) -> float:
        """How long `cycles` take."""
        return cycles / self.clock_mhz / 1000

    def frames_per_second(self, cycles: int) -> float | None:
        """Samples a second, if a run takes `cycles` and one follows the other."""
        return None if self.samples is None or not cycles else self.samples * self.clock_mhz * 1e6 / cycles

    def share(self, cycles: int) -> float:
        """Of the whole run."""
        return cycles / max(1, self.cycles())


def network_cost(module: CompiledModule, report: RunReport) -> NetworkCost | None:
    """Sort the layers of a run by what they cost; None if the device does not count cycles.

    A layer on the accelerator costs what passes from the completion of the layers before it to its own, so that the layers of a
    region add up to it, although they overlap. A layer on the host costs the wall time of this run, in cycles of the
    accelerator's clock.
    """
    if report.cycles is None:
        return None
    hw = module.hw
    clock = float(hw.platform.fabric_mhz)
    peak = hw.batch * hw.block * hw.block
    rows = [row for region, result in report.results for row in _device_rows(module, region, result, peak)]
    rows += _host_rows(module, report, clock)
    return NetworkCost(tuple(sorted(rows, key=lambda row: -row.cycles)), clock, _samples(module), peak, _model_cycles(module))


def with_faster_steps(report: RunReport, again: RunReport) -> RunReport:
    """The first of two runs of a module, each step with the shorter of its two times."""
    steps = (min(pair, key=lambda step: step.seconds) for pair in zip(report.steps, again.steps, strict=True))
    return replace(report, steps=tuple(steps))


def cost_table(cost: NetworkCost) -> Table:
    """Show the layers that cost most, what is left of them, and the total."""
    headers = ("layer", "where", "cycles", "share", "ms", "MACs", "MACs busy", "why")
    rows = [_line(cost, row) for row in cost.layers[:_SHOWN]]
    rest = cost.layers[_SHOWN:]
    if rest:
        rows.append(_sum_line(cost, f"{len(rest)} more", rest))
    return make_table(headers, [*rows, _sum_line(cost, "total", cost.layers)], _TITLE)


def costs_json(cost: NetworkCost | None) -> dict[str, Any]:
    """The same under names for scripts; null where the device does not count cycles."""
    if cost is None:
        return dict.fromkeys(_JSON_KEYS)
    cycles = cost.cycles()
    return {
        "layers": [
            {
                "layer": row.layer,
                "where": row.where,
                "region": row.region,
                "operators": list(row.operators),
                "cycles": row.cycles,
                "share": cost.share(row.cycles),
                "milliseconds": cost.milliseconds(row.cycles),
                "macs": row.macs,
                "mac_utilisation": row.utilization,
                "rule": row.rule,
                "why": row.why,
            }
            for row in cost.layers
        ],
        "clock_mhz": cost.clock_mhz,
        "network_cycles": cycles,
        "host_cycles": cost.cycles(HOST),
        "host_model_cycles": cost.model_cycles,
        "milliseconds": cost.milliseconds(cycles),
        "frames_per_second": cost.frames_per_second(cycles),
    }


def _model_cycles(module: CompiledModule) -> int:
    on_host = {(entry.layer, entry.op) for entry in module.placements if entry.where == HOST}
    return host_cycles([node for node in module.graph.calls() if (node.name, node.op) in on_host], module.hw)


def _samples(module: CompiledModule) -> int | None:
    try:
        return batch_size(module.graph)
    except GraphError:
        return None


def _device_rows(module: CompiledModule, region: RegionProgram, result: RunResult, peak: int) -> Iterator[LayerCost]:
    """One row for each operator of a region, or one for the region where its instructions were not timed one by one."""
    timed = {row.operator: row for row in operator_cycles(region, _with_times(module, region, result))}
    if not timed:
        cycles, macs = result.cycles or 0, sum(record.macs for record in region.operators)
        yield LayerCost(region.name, VTA, region.name, (), cycles, macs, _part(macs, cycles * peak), "", "")
        return
    ops = _operators(module)
    records = {record.name: record for record in region.operators}
    counters = dict(zip(region.program.operators, result.operators, strict=False))
    for name, cycles in _own_cycles(timed, result.cycles or 0).items():
        record = records[name]
        rule, why = bottleneck(timed[name], record.macs, counters.get(name, Counters()), peak)
        operators = ops.get(record.output.node.name, ())
        yield LayerCost(name, VTA, region.name, operators, cycles, record.macs, _part(record.macs, cycles * peak), rule, why)


def _with_times(module: CompiledModule, region: RegionProgram, result: RunResult) -> RunResult:
    """The result with times of its instructions: of hardware that follows the timing contract, the cycle engine tells them."""
    if result.times is not None or result.preset != Preset.RTL.value:
        return result
    again = CycleEngine(module.hw).run(region.program.encoded())
    return replace(result, times=again.times) if again.cycles == result.cycles else result


def _own_cycles(timed: Mapping[str, OperatorCycles], total: int) -> dict[str, int]:
    """Cycles from the last completion before to that of each operator; what follows the last is its own."""
    own: dict[str, int] = {}
    reached = 0
    for name, row in sorted(timed.items(), key=lambda item: item[1].total.last):
        own[name] = row.total.last - reached
        reached = row.total.last
    last = next(reversed(own))
    own[last] += max(0, total - reached)
    return own


def _host_rows(module: CompiledModule, report: RunReport, clock_mhz: float) -> list[LayerCost]:
    """One row for each layer, of all that the host does for it."""
    if not report.steps:
        cycles = round(report.host_seconds * clock_mhz * 1e6)
        return [LayerCost("the host part", HOST, None, (), cycles, 0, None, "", "measured as a whole, where the device is")]
    reasons = {(entry.layer, entry.op): entry for entry in module.placements if entry.where == HOST}
    nodes: dict[str, list[Node]] = defaultdict(list)
    for node in module.graph.calls():
        if (node.name, node.op) in reasons:
            nodes[node.name].append(node)
    steps: dict[str, list[tuple[Node, float]]] = defaultdict(list)
    for step in report.steps:
        if step.node is not None:
            steps[step.node.name].append((step.node, step.seconds))
    return [_host_row(layer, nodes[layer], taken, reasons, clock_mhz) for layer, taken in steps.items()]


def _host_row(
    layer: str,
    nodes: Sequence[Node],
    steps: Sequence[tuple[Node, float]],
    reasons: Mapping[tuple[str, str], Placement],
    clock_mhz: float,
) -> LayerCost:
    """The reason is that of the step that takes longest."""
    longest = max(steps, key=lambda step: step[1])[0]
    cycles = round(sum(seconds for _, seconds in steps) * clock_mhz * 1e6)
    entry = reasons.get((layer, longest.op))
    rule, why = ("", "") if entry is None else (entry.rule, entry.reason)
    operators, macs = tuple(node.op for node in nodes), sum(map(macs_of, nodes))
    return LayerCost(layer, HOST, None, operators, cycles, macs, None, rule, why)


def _operators(module: CompiledModule) -> dict[str, tuple[str, ...]]:
    """Operators of each layer that run on the accelerator."""
    found: dict[str, list[str]] = {}
    for entry in module.placements:
        if entry.where == VTA:
            found.setdefault(entry.layer, []).append(entry.op)
    return {layer: tuple(ops) for layer, ops in found.items()}


def _line(cost: NetworkCost, row: LayerCost) -> tuple[object, ...]:
    busy = "" if row.utilization is None or not row.macs else f"{row.utilization:.1%}"
    return (row.layer, row.where, row.cycles, *_amounts(cost, row.cycles), row.macs or "", busy, row.why)


def _sum_line(cost: NetworkCost, name: str, rows: Sequence[LayerCost]) -> tuple[object, ...]:
    cycles, macs = sum(row.cycles for row in rows), sum(row.macs for row in rows)
    device = [row for row in rows if row.where == VTA]
    done, taken = sum(row.macs for row in device), sum(row.cycles for row in device)
    busy = f"{_part(done, taken * cost.peak_macs):.1%}" if taken else ""
    return (name, "", cycles, *_amounts(cost, cycles), macs, busy, "")


def _amounts(cost: NetworkCost, cycles: int) -> tuple[str, str]:
    return f"{cost.share(cycles):.1%}", f"{cost.milliseconds(cycles):.3f}"


def _part(macs: int, possible: int) -> float:
    return macs / max(1, possible)
