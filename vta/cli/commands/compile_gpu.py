"""What `vta compile` says of the GPU that computes the host part."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vta.cli.terminal.output import Output, count

if TYPE_CHECKING:
    from vta.runtime.compiled_module import CompiledModule

__all__ = ["print_gpu", "with_gpu"]


def with_gpu(module: CompiledModule, options: argparse.Namespace, progress: Any) -> tuple[CompiledModule, dict[str, Any] | None]:
    """The module with the tiles of --records where --target names a GPU, and what there is to say of its kernels."""
    if module.gpu is None:
        return module, None
    from vta.records.gpu.schedules import recorded_gpu_schedules
    from vta.records.gpu.tiles import recorded_entities
    from vta.runtime.artifact.gpu_host import GpuScheduleChoice
    from vta.runtime.host_part.gpu_kernels import choices_of, described_kernels

    progress("describing the kernels of the GPU")
    start = time.perf_counter()
    logs = [path for path in options.records if path is not None]
    kind = module.gpu.kind
    schedules = tuple(GpuScheduleChoice(*pair) for pair in recorded_gpu_schedules(logs, kind).items())
    module = replace(module, gpu=replace(module.gpu, tiles=choices_of(recorded_entities(logs, kind)), schedules=schedules))
    kernels, left = described_kernels(module)
    figures = {
        "target": str(options.target.gpu),
        "kernels": kernels,
        "seconds": time.perf_counter() - start,
        "tiles": len(module.gpu.tiles) if module.gpu is not None else 0,
        "schedules": len(schedules),
        "without_kernel": [{"layer": node.name, "op": node.op} for node in left],
    }
    return module, figures


def print_gpu(figures: dict[str, Any] | None, output: Output) -> None:
    """Print these figures."""
    if figures is None:
        return
    output.line(f"{figures['target']}: {count(figures['kernels'], 'kernel')}, compiled where the file is loaded")
    if figures["without_kernel"]:
        names = ", ".join(f"{item['layer']} ({item['op']})" for item in figures["without_kernel"])
        output.line(f"note: no kernel for {names}: the host computes that")
