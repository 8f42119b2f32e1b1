"""From the options of a command to an imported and compiled network."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from vta.cli.options import preprocessing
from vta.errors import GraphError, ImportModelError, OpenShapesError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vta.config.hardware import HardwareConfig
    from vta.ir.graph import Graph
    from vta.quantization import LayerQuality, QuantizeConfig
    from vta.runtime.compiled_module import CompiledModule

    Samples = dict[str, NDArray[Any]]

if TYPE_CHECKING:
    from vta.compiler.options import CompileOptions
    from vta.compiler.pipeline import Pass
    from vta.compiler.profit import HostModel
    from vta.compiler.state import State
    from vta.config.target_list import TargetList
    from vta.schedule.source import ScheduleSource

__all__ = [
    "QuantizedLayers",
    "compile_for_targets",
    "compile_network",
    "compile_options",
    "host_rates",
    "import_network",
    "lower_network",
    "quantize_config",
    "summary",
]

DEFAULT_GLOBAL_SCALE = 8.0

_METHODS = {"min-max": "max"}
"""Methods that the command line calls by a plainer name."""


def import_network(options: argparse.Namespace) -> Graph:
    """Import the model that `options` name."""
    from vta.frontend import load_model

    shapes = _by_name("--input-shape", options.input_shape)
    states = _by_name("--state", options.state)
    values = _by_name("--input-value", options.input_value)
    try:
        return load_model(
            options.model,
            shapes or None,
            params=options.params,
            random_weights=options.random_weights,
            batch=options.batch,
            states=states,
            input_values=values or None,
            static_ranges=options.static_ranges,
        )
    except OpenShapesError as error:
        flags = [f"--input-shape {name}={','.join(map(str, shape or ['...']))}" for name, shape in error.shapes.items()]
        raise ImportModelError(f"{error}, on the command line {' '.join(flags)}") from None


def _by_name(flag: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """What a flag says of each name. Raises `UsageError` if it says two things of one."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise UsageError(f"{flag} {name} is given twice: {found[name]} and {value}")
    return found


def compile_network(
    graph: Graph,
    options: argparse.Namespace,
    progress: Any,
    calibration: Samples | None = None,
    watch: Callable[[Pass, State], None] | None = None,
) -> CompiledModule:
    """Quantise and compile an imported network as `options` say; `calibration` stands in where they name no samples."""
    from vta.compiler.compile import compile_model
    from vta.config.hardware import load_config

    samples = _samples(graph, options) or calibration
    # Handed over, so that a float network can go as soon as it is quantised.
    held = [graph]
    del graph
    return compile_model(
        held.pop(),
        load_config(options.config),
        calibration=samples,
        progress=progress,
        watch=watch,
        options=compile_options(options),
    )


def compile_for_targets(options: argparse.Namespace, targets: TargetList, progress: Any) -> CompiledModule:
    """Import the model that `options` name, and compile it for a list of targets, VTA among them or not."""
    from vta.compiler.compile import compile_model
    from vta.config.hardware import HardwareConfig, load_config

    progress("importing")
    hw = HardwareConfig.named("sim") if options.config is None else load_config(options.config)
    held = [import_network(options)]
    samples = _samples(held[0], options)
    return compile_model(
        held.pop(),
        hw,
        calibration=samples,
        progress=progress,
        start=options.start,
        stop=options.stop,
        quantize=quantize_config(options),
        targets=targets,
    )


def lower_network(
    graph: Graph, hw: HardwareConfig, options: argparse.Namespace, progress: Any
) -> tuple[Graph, frozenset[str] | None]:
    """Quantise and lower an imported network as `options` say: the integer graph, and the layers that may run on VTA."""
    from vta.compiler.compile import lower_model

    return lower_model(
        graph,
        hw,
        calibration=_samples(graph, options),
        progress=progress,
        start=options.start,
        stop=options.stop,
        quantize=quantize_config(options),
    )


def compile_options(options: argparse.Namespace) -> CompileOptions:
    """The options of the compiler that `options` ask for; those that a command has not have their defaults."""
    from vta.compiler.options import CompileOptions
    from vta.config.target_list import DEFAULT_TARGETS

    return CompileOptions(
        quantize=quantize_config(options),
        start=options.start,
        stop=options.stop,
        least_gain=getattr(options, "min_gain", None),
        host=host_rates(options),
        targets=getattr(options, "target", None) or DEFAULT_TARGETS,
        schedules=_schedules(options),
    )


def host_rates(options: argparse.Namespace) -> HostModel:
    """How fast the host is that decides what pays; by default the core of a board."""
    from vta.compiler.profit import HostModel

    named = getattr(options, "host_rates", None)
    if named is None:
        return HostModel()
    from vta.compiler.host_rates import host_model

    return host_model(named)


def _schedules(options: argparse.Namespace) -> ScheduleSource:
    """Where the schedules come from."""
    from vta.records import schedules

    records = getattr(options, "records", [])
    logs = [log for log in records if log is not None]
    return schedules(
        *logs,
        fastest=getattr(options, "fastest", False),
        shipped=None not in records,
        objective=getattr(options, "objective", "cycles"),
        technology=getattr(options, "technology", None),
    )


class QuantizedLayers:
    """Keeps a float network as it was before it was quantised, and after, for `compile_network` to call after each pass."""

    def __init__(self) -> None:
        self._before: Graph | None = None
        self._after: Graph | None = None
        self._equalized = True

    def __call__(self, step: Pass, state: State) -> None:
        """Look at what a pass gave."""
        if step.name == "canonicalize":
            self._before = state.graph
        elif step.name == "quantize":
            self._after = state.quantized
            from vta.ir.diagnostics import NOT_EQUALIZED

            self._equalized = not state.diagnostics.of(NOT_EQUALIZED)

    def report(self, options: argparse.Namespace, calibration: Samples | None, batch: Samples) -> list[LayerQuality]:
        """Say what each quantised layer costs on `batch`; `calibration` is as for `compile_network`.

        Raises `UsageError` if the network came quantised.
        """
        from vta.ir.transforms.batch import batch_size, with_batch
        from vta.quantization import equalized, signal_to_noise

        if self._before is None or self._after is None:
            raise UsageError(f"{options.model} came quantised: there is no float network to compare its layers with")
        before, config = self._before, quantize_config(options)
        data = _samples(before, options) or calibration
        if data is not None and config.equalize != "none" and self._equalized:
            before = equalized(before, data, config)
        samples = len(next(iter(batch.values())))
        try:
            graphs = with_batch(before, samples), with_batch(self._after, samples)
        except GraphError:
            # They may mix samples, or say how many these are where nothing can be changed: then one run has to do.
            graphs, samples = (before, self._after), batch_size(before)
        return signal_to_noise(*graphs, {name: values[:samples] for name, values in batch.items()})


def _samples(graph: Graph, options: argparse.Namespace) -> Samples | None:
    if options.calibration is None:
        return None
    if options.global_scale is not None:
        raise UsageError("--global-scale and --calibration exclude each other")
    from vta.cli.arrays import calibration_samples

    states = [state.name for state in graph.states]
    return calibration_samples(options.calibration, graph.arguments, preprocessing(options), options.calibration_limit, states)


def quantize_config(options: argparse.Namespace) -> QuantizeConfig:
    """Return the quantisation that `options` ask for."""
    from vta.quantization import QuantizeConfig

    skipped = options.skip_layers or ()
    return QuantizeConfig(
        calibration=_METHODS.get(options.calibration_method, options.calibration_method),
        global_scale=options.global_scale or DEFAULT_GLOBAL_SCALE,
        percentile=options.percentile,
        scales=options.scales.replace("-", "_"),
        per_channel=not options.per_tensor,
        multipliers=options.multipliers,
        rounding=options.rounding,
        bias_correction=not options.no_bias_correction,
        equalize=options.equalize,
        zero_points=options.zero_points,
        skip_conv_layers=None if options.skip_layers is None else tuple(layer for layer in skipped if isinstance(layer, int)),
        skip_layers=tuple(layer for layer in skipped if isinstance(layer, str)),
        skip_dense=options.skip_dense,
        requantize=options.requantize,
    )


def summary(module: CompiledModule) -> dict[str, Any]:
    """Return the figures of a compiled network under the names that scripts rely on."""
    programs = [region.program for region in module.regions]
    places = [placement.where for placement in module.placements]
    return {
        "regions": len(module.regions),
        "operators": {"vta": places.count("vta"), "host": places.count("host")},
        "macs": {"vta": sum(record.macs for region in module.regions for record in region.operators), "total": module.total_macs},
        "instructions": sum(len(program.instructions) for program in programs),
        "uops": sum(program.uop_count for program in programs),
        "arena_bytes": sum(program.image_bytes - program.image.nbytes for program in programs),
    }
