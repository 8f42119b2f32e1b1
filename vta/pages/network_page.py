"""The page of a compiled network: where each operator runs and why, and, of a run, where the cycles went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vta.codegen.region_program import HOST
from vta.config.hardware import HardwareConfig
from vta.config.technology import Technology
from vta.devices.device import Counters
from vta.explanation.explanation import Explanation
from vta.pages.data.cause_groups import GROUPS, parts_of
from vta.pages.data.network import INPUT, VTA, Group, NetworkGraph, network_graph
from vta.pages.data.occupancy import Occupancy, occupancy
from vta.pages.data.unit_spans import unit_shares, unit_spans
from vta.pages.data.windows import DeviceRun, Window, device_runs, windows
from vta.pages.draw.graph import draw_graph
from vta.pages.draw.layers import LayerBar, draw_layers, draw_units
from vta.pages.draw.occupancy import draw_buffers, draw_dram, draw_traffic
from vta.pages.draw.resources import draw_parts, draw_usage
from vta.pages.draw.roofline import RoofPoint, draw_roofline
from vta.pages.draw.timeline import draw_overview, draw_timeline
from vta.pages.figure import Figure
from vta.pages.page import ABOUT_ADVICE, Fact, GraphPart, Note, Page, Section, TablePart
from vta.report.advice import advice_on
from vta.report.costs.cycles import preset_text, unit_cycles
from vta.report.costs.layer_costs import LayerCost, NetworkCost, network_cost
from vta.report.layers import layer_rows
from vta.report.settings import Say, in_python, with_settings
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.reports import RunReport
from vta.schedule.energy import area_of, energy_of
from vta.support.dataclass import dataclass

__all__ = ["network_page"]

_BINS = 300
_MICRO, _MILLI = 1e-6, 1e-3


@dataclass(frozen=True)
class _Run:
    """A run with what is gathered of it once."""

    report: RunReport
    cost: NetworkCost
    runs: Sequence[DeviceRun]
    windows: Sequence[Window]
    occupancy: Occupancy | None
    explanation: Explanation | None


def network_page(
    module: CompiledModule,
    name: str,
    report: RunReport | None = None,
    say: Say = in_python,
    explanation: Explanation | None = None,
) -> Page:
    """Make the page of a module; `report` is of a run on a device that counts cycles, with its timeline.

    Without it the page shows what is known before any run. `say` puts settings into words for advice;
    `explanation` has the causes of cycles, and what would help.
    """
    graph = network_graph(module)
    run = _gathered(module, report, explanation)
    costs = {} if run is None else {(row.where, row.layer): row for row in run.cost.layers}
    sections = [_graph_section(graph, module, costs, run)]
    if run is not None:
        sections += _run_sections(module, run, say)
    sections.append(Section("resources", "Resources", tuple(_resources(module.hw, run))))
    sections.append(Section("tables", "All operators", (_placement_table(graph, costs),)))
    return Page(name, "network", _about(module, run), tuple(_facts(module, run)), tuple(sections))


def _gathered(module: CompiledModule, report: RunReport | None, explanation: Explanation | None) -> _Run | None:
    if report is None:
        return None
    cost = network_cost(module, report)
    if cost is None:
        return None
    runs = device_runs(report.results)
    return _Run(report, cost, runs, windows(runs), occupancy(runs, module.hw, _BINS), explanation)


def _about(module: CompiledModule, run: _Run | None) -> str:
    text = f"Compiled for {module.hw.model}."
    if run is None:
        return f"{text} It was not run: cycles are not shown."
    presets = sorted({preset_text(run_.result.preset) for run_ in run.runs if run_.result.preset})
    return f"{text} One run on the cycle engine ({'; '.join(presets)})." if presets else text


def _facts(module: CompiledModule, run: _Run | None) -> list[Fact]:
    places = [entry.where for entry in module.placements]
    macs = sum(record.macs for region in module.regions for record in region.operators)
    part = macs / module.total_macs if module.total_macs else 0.0
    facts = [
        Fact("on the accelerator", f"{part:.1%}", f"of {module.total_macs:,} multiply-accumulates"),
        Fact("operators", f"{places.count('vta')} / {places.count('host')}", "of the integer graph, accelerator / host"),
        Fact(
            "regions",
            f"{len(module.regions)}",
            f"{sum(len(region.program.instructions) for region in module.regions):,} instructions",
        ),
    ]
    if run is None:
        return facts
    cycles = sum(row.result.cycles or 0 for row in run.runs)
    frames = run.cost.frames_per_second(cycles)
    done = sum(row.macs for row in run.cost.layers if row.where != HOST)
    head = [
        Fact(
            "cycles", f"{cycles:,}", f"{run.cost.milliseconds(cycles):,.3f} ms at {run.cost.clock_mhz:g} MHz, accelerator alone"
        ),
        Fact("frames a second", "-" if frames is None else f"{frames:,.1f}", "accelerator alone"),
        Fact("multipliers busy", f"{done / max(1, cycles * run.cost.peak_macs):.1%}", f"of {run.cost.peak_macs:,} a cycle"),
    ]
    return [*head, *facts]


def _graph_section(
    graph: NetworkGraph, module: CompiledModule, costs: Mapping[tuple[str, str], LayerCost], run: _Run | None
) -> Section:
    cycles = {key: row.cycles for key, row in costs.items() if key[0] != HOST}
    bytes_of = _bytes(module, run)
    kinds = {record.name: record.kind for region in module.regions for record in region.operators}
    details = tuple(_details(graph, index, costs, bytes_of, kinds) for index in range(len(graph.groups)))
    about = (
        "Operators that run as one are a box. Drag to move, wheel or pinch to come closer; choose a box to see why it runs there"
        + (", and to mark it in the figures below. The bar is its share of the cycles of the longest." if cycles else ".")
    )
    part = GraphPart(draw_graph(graph, cycles), details, tuple(map(_mark, graph.groups)), about)
    return Section("graph", "Graph", (part,))


def _mark(group: Group) -> str:
    """What figures know a group by; those of the host are in none."""
    return group.name if group.where == VTA else ""


def _details(
    graph: NetworkGraph,
    index: int,
    costs: Mapping[tuple[str, str], LayerCost],
    bytes_of: Mapping[str, str],
    kinds: Mapping[str, str],
) -> dict[str, str]:
    group = graph.groups[index]
    if group.where == INPUT:
        return {"input": group.name, "value": group.type}
    row = costs.get((group.where, group.name))
    on_host = group.where == HOST
    return {
        "layer": group.name,
        "runs on": "the host" if on_host else f"the accelerator, in {group.region}",
        "why": "; ".join(group.reasons)
        if on_host
        else f"the template {kinds.get(group.name, '')} computes it, and no rule keeps it on the host",
        "operators": ", ".join(group.ops),
        "layers": ", ".join(group.layers) if len(group.layers) > 1 else "",
        "result": group.type + (", an output of the network" if index in graph.outputs else ""),
        "takes from": ", ".join(graph.groups[source].name for source in group.after),
        "cycles": "" if row is None or on_host else f"{row.cycles:,}; most go to: {row.why}",
        "multiply-accumulates": f"{row.macs:,}" if row is not None and row.macs else "",
        "bytes": "" if on_host else bytes_of.get(group.name, ""),
    }


def _bytes(module: CompiledModule, run: _Run | None) -> dict[str, str]:
    if run is None:
        return {}
    return {
        row.operator: ", ".join(f"{name} {moved:,}" for name, moved in row.counters.dram_bytes.items() if moved)
        for row in layer_rows(module, run.report.operators)
    }


def _run_sections(module: CompiledModule, run: _Run, say: Say) -> list[Section]:
    cycles: list[Figure | Note | TablePart] = [_layers(run), draw_units(_unit_states(run)), _roofline(module, run)]
    advice = tuple(entry.text for entry in advice_on(run.cost, say))
    if run.explanation is not None and run.explanation.suggestions:
        cycles.append(_suggestions(run.explanation, say))
    if advice:
        cycles.append(Note("Advice", advice, ABOUT_ADVICE))
    sections = [Section("cycles", "Cycles", tuple(cycles))]
    time: list[Figure] = [
        draw_overview(unit_shares(run.runs, _BINS)),
        draw_timeline(unit_spans(run.runs), run.windows, run.runs[-1].end),
    ]
    if run.occupancy is not None:
        time += [draw_buffers(run.occupancy), draw_dram(run.occupancy), draw_traffic(run.occupancy)]
    return [*sections, Section("time", "Over time", tuple(time))]


def _layers(run: _Run) -> Figure:
    """With causes, if they are known of this very run; how long each layer took, otherwise."""
    told = run.explanation
    if told is None or told.total != run.report.cycles:
        bars = [LayerBar(row.operator, row.region, [("cycles", "cycles", row.end - row.start)]) for row in run.windows]
        about = "From the completion of the layers before to that of this one; together all cycles of the accelerator."
        return draw_layers(bars, ("cycles",), about)
    bars = [LayerBar(layer.layer, layer.region, parts_of(layer)) for layer in told.layers]
    about = (
        f"What the compute unit did for each layer, or waited for: the parts add up to all {told.total:,} cycles, of which "
        f"{told.bound:,} are full products. Choose a cause in the legend, or a bar to mark its layer everywhere."
    )
    return draw_layers(bars, tuple(GROUPS), about)


def _suggestions(told: Explanation, say: Say) -> TablePart:
    rows = tuple(
        (
            found.change_text,
            found.predicted_cycles,
            100 * found.gain_cycles / told.total,
            found.estimate.value,
            with_settings(found.how, say),
        )
        for found in told.suggestions
    )
    headers = ("change", "predicted cycles", "gain, %", "estimate", "how")
    return TablePart(
        "suggestions", "What would help", headers, rows, about="What a run is expected to take after each change alone."
    )


def _unit_states(run: _Run) -> dict[str, dict[str, int]]:
    return {
        name: {"busy": unit.busy, "token": unit.token, "memory": unit.memory, "idle": unit.idle}
        for name, unit in unit_cycles(run.report.results).items()
    }


def _roofline(module: CompiledModule, run: _Run) -> Figure:
    moved = {row.operator: row.counters for row in layer_rows(module, run.report.operators)}
    points = [
        RoofPoint(row.layer, row.macs, row.cycles, _busier(moved[row.layer]), row.rule, row.why)
        for row in run.cost.layers
        if row.where != HOST and row.layer in moved
    ]
    return draw_roofline(points, run.cost.peak_macs, module.hw.platform.bus_bytes)


def _busier(counters: Counters) -> int:
    """Bytes in the direction of the bus that moves more."""
    loaded = sum(moved for name, moved in counters.dram_bytes.items() if name != "out")
    return max(loaded, counters.out_bytes)


def _resources(hw: HardwareConfig, run: _Run | None) -> list[Figure]:
    technology = Technology()
    area = {name: value * _MICRO for name, value in area_of(hw, technology).items()}
    about = f"Arithmetic and memories by the figures of a technology: {technology.name}."
    figures = [draw_parts("area", "Area", about, area, "mm2")]
    if run is None:
        return figures
    energy = {name: value * _MICRO for name, value in energy_of(run.report.counters, hw, technology).items()}
    figures.append(
        draw_parts("energy", "Energy of one run", f"{sum(energy.values()) / 2:,.1f} uJ by the same figures.", energy, "uJ")
    )
    if run.occupancy is not None:
        usage = [(buffer.name, buffer.capacity_bytes, buffer.peak) for buffer in run.occupancy.buffers]
        figures.insert(0, draw_usage(usage))
    return figures


def _placement_table(graph: NetworkGraph, costs: Mapping[tuple[str, str], LayerCost]) -> TablePart:
    rows = []
    groups = [group for group in graph.groups if group.where != INPUT]
    for group in groups:
        row = costs.get((group.where, group.name))
        on_host = group.where == HOST
        rows.append(
            (
                group.name,
                "host" if on_host else "accelerator",
                group.region,
                ", ".join(dict.fromkeys(group.ops)),
                0 if row is None or on_host else row.cycles,
                0 if row is None else row.macs,
                "; ".join(group.reasons) if on_host else ("" if row is None else row.why),
            )
        )
    headers = ("layer", "where", "region", "operators", "cycles", "MACs", "why")
    about = "Why it runs on the host, or what most cycles on the accelerator go to. Choose a header to sort."
    return TablePart("operators", "Operators", headers, tuple(rows), tuple(_mark(group) or None for group in groups), about)
