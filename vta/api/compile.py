"""From a model to a compiled network, in one step or two."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from vta.api.arguments import check_kind
from vta.api.calibration import Calibration, calibration_arrays
from vta.compiler.compile import compile_model, quantize_model
from vta.config.hardware import AnyConfig, config_of
from vta.config.target_list import DEFAULT_TARGETS, TargetList, parse_targets
from vta.errors import NoCalibrationWarning, UsageError
from vta.frontend import load_model
from vta.ir.graph import Graph
from vta.passes.canonicalize import canonicalize
from vta.quantization import QuantizeConfig, is_quantized
from vta.records.sources import schedules as shipped_schedules
from vta.runtime.compiled_module import CompiledModule
from vta.schedule.source import ScheduleSource
from vta.support.shorten import shown

__all__ = ["compile", "quantize"]


def quantize(
    model: Graph | str | Path,
    hw: AnyConfig,
    *,
    calibration: Calibration | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    config: QuantizeConfig | None = None,
) -> Graph:
    """Quantise a network to the integer operators that `hw` has.

    `model` is a graph, a model file or a built-in name; `shapes` gives the shapes of inputs that the file leaves open. `hw` is a
    config, its name, or a JSON file. `calibration` holds samples along the first axis: a mapping from the names of inputs, an
    array for the only input, or an `.npz` file. Without it every activation gets the same range, and a `NoCalibrationWarning`
    says so. `config` says how to quantise. A network that came quantised keeps its numbers.
    Raises a `VTAError` that names what cannot be imported or quantised.
    """
    check_kind("config", config, (QuantizeConfig,), "a QuantizeConfig")
    target = config_of(hw)
    graph = _imported(model, shapes)
    samples = calibration_arrays(graph, calibration)
    _warn_without_samples(graph, calibration, config)
    return quantize_model(canonicalize(graph), target, calibration=samples, quantize=config)


def compile(
    model: Graph | str | Path,
    hw: AnyConfig,
    *,
    calibration: Calibration | None = None,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    quantize: QuantizeConfig | None = None,
    schedules: ScheduleSource | None = None,
    start: str | None = None,
    stop: str | None = None,
    targets: TargetList | str = DEFAULT_TARGETS,
    least_gain: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> CompiledModule:
    """Compile a network for `hw`; a float network is quantised first.

    `model`, `hw`, `calibration` and `shapes` are as for `quantize`, whose result is a `model`, too; `quantize` says how to
    quantise. `schedules` says where the schedules of operators come from: `vta.schedules`, or the result of `vta.tune`; by
    default the records of the package. `start` and `stop` name the layers between which operators may run on the accelerator. The
    first of `targets` takes what it can. A region whose gain is below `least_gain` stays on the host. `progress` is told each
    stage. Raises a `VTAError` that names what cannot be imported, quantised or compiled.
    """
    check_kind("quantize", quantize, (QuantizeConfig,), "a QuantizeConfig")
    check_kind("start", start, (str,), "the name of an operator or layer")
    check_kind("stop", stop, (str,), "the name of an operator or layer")
    if schedules is not None and not hasattr(schedules, "choose"):
        raise UsageError(f"schedules = {shown(schedules)}: expected what vta.schedules or vta.tune gave")
    if not isinstance(targets, (str, TargetList)):
        raise UsageError(f"targets = {shown(targets)}: expected a text such as 'vta, llvm'")
    if least_gain is not None and not (isinstance(least_gain, (float, int, np.number)) and 0 <= least_gain < np.inf):
        raise UsageError(f"least_gain = {shown(least_gain)}: expected a number, 0 or more")
    target = config_of(hw)
    graph = _imported(model, shapes)
    samples = calibration_arrays(graph, calibration)
    chosen = parse_targets(targets) if isinstance(targets, str) else targets
    if chosen.vta is not None:
        _warn_without_samples(graph, calibration, quantize)
    return compile_model(
        graph,
        target,
        calibration=samples,
        quantize=quantize or QuantizeConfig(),
        start=start,
        stop=stop,
        progress=progress,
        least_gain=least_gain,
        targets=chosen,
        schedules=shipped_schedules() if schedules is None else schedules,
    )


def _imported(model: Graph | str | Path, shapes: Mapping[str, tuple[int, ...]] | None) -> Graph:
    return model if isinstance(model, Graph) else load_model(model, shapes)


def _warn_without_samples(graph: Graph, calibration: Calibration | None, config: QuantizeConfig | None) -> None:
    if calibration is None and not is_quantized(graph) and (config is None or config.calibration != "global_scale"):
        warnings.warn(
            "no calibration data was given: every activation gets the same range, and accuracy may suffer; "
            "give samples of the inputs as calibration",
            NoCalibrationWarning,
            stacklevel=3,
        )
