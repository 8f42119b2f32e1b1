"""The passes of the compiler, one function each: from a state to the next."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from vta.codegen.region_program import RegionProgram
from vta.compiler.options import CompileOptions
from vta.compiler.placements import placements_of, require_no_host
from vta.compiler.profit import main_region, reason_against_region
from vta.compiler.programs import region_program
from vta.compiler.schedules import Schedules
from vta.compiler.state import Failure, State
from vta.compiler.veto import Vetoes, host_first
from vta.errors import CompileError, EncodingError
from vta.frontend import load_model
from vta.ir import names as ops
from vta.ir.diagnostics import INEXACT, WRAPS
from vta.ir.graph import Graph, Node
from vta.ir.macs import macs_of
from vta.ir.transforms.functions import inline_functions
from vta.isa.verify import require_verified, verify
from vta.partition import partition as parts
from vta.partition.fused.reason import Reason
from vta.partition.rewrites import im2col as windows
from vta.partition.rewrites.space_to_depth import fold_columns
from vta.partition.rewrites.wide_weights import split_wide_weights
from vta.partition.vta_patterns import TARGET
from vta.passes import canonicalize as canonical
from vta.passes.quantized_states import keep_quantized
from vta.quantization.bounds import overflow_warnings
from vta.quantization.dialect import is_quantized
from vta.quantization.lowering import lower as lowering_pass
from vta.quantization.requantize.channel_pruning import drop_channels
from vta.runtime.compiled_module import CompiledModule
from vta.tile.region_lowering import RegionLowering

if TYPE_CHECKING:
    from vta.runtime.artifact.gpu_host import GpuHost


def import_model(state: State, options: CompileOptions) -> State:
    """Read the model file, unless a graph is given."""
    model = state.model
    if model is None:
        return state
    return replace(state, model=None, imported=model if isinstance(model, Graph) else load_model(model, state.shapes))


def canonicalize(state: State, options: CompileOptions) -> State:
    """Fold constants, batch normalization, padding and arithmetic per channel, until nothing changes."""
    return replace(state, imported=canonical.canonicalize(state.graph))


def select(state: State, options: CompileOptions) -> State:
    """Find the layers between start and stop, which alone may run on VTA."""
    if options.start or options.stop:
        from vta.partition.selection import layers_between

        return replace(state, layers=layers_between(state.graph, options.start, options.stop))
    return state


def quantize(state: State, options: CompileOptions) -> State:
    """Quantize a float network to int8, unless VTA has no part in it; of one that came quantized, drop channels nothing reads."""
    graph, hw, config = state.graph, state.hw, options.quantize
    if not is_quantized(graph):
        if options.targets.vta is None:
            return state
        # Most of the quantisation serves float networks alone.
        from vta.passes.folding.fold_lookups import fold_lookups
        from vta.quantization.float.measured import with_measured_layers
        from vta.quantization.float.quantizer import quantize as quantized
        from vta.quantization.float.skipped import check_skipped

        check_skipped(graph, config)
        config = with_measured_layers(graph, state.calibration, config, hw, state.diagnostics)
        made = quantized(graph, state.calibration, config, hw)
        return replace(state, imported=keep_quantized(fold_lookups(made)), quantized=made)
    graph = keep_quantized(graph)
    graph = drop_channels(graph, hw.block)
    if config.requantize == "shift":
        from vta.quantization.requantize.by_shift import by_shifts

        graph, said = by_shifts(graph, state.calibration, multiplies=hw.capabilities.multiply, rounding=config.rounding)
        state.diagnostics.extend(said)
    return replace(state, imported=graph)


def lower(state: State, options: CompileOptions) -> State:
    """Turn quantized operators into the integer operators that the hardware has."""
    # Where the host requantises there is nothing to be won by a difference.
    close = options.quantize.requantize == "close" and state.hw.capabilities.multiply
    return replace(state, imported=lowering_pass.lower(state.graph, state.hw, state.diagnostics, close=close), quantized=None)


def inline(state: State, options: CompileOptions) -> State:
    """Put inner graphs that are for VTA, or for no target, in the place of their calls."""
    return replace(state, imported=inline_functions(state.graph, lambda attrs: attrs.target in ("", TARGET)))


def check_bounds(state: State, options: CompileOptions) -> State:
    """Warn of layers whose sums may leave the accumulator."""
    found = overflow_warnings(state.graph, state.hw, state.diagnostics.of(WRAPS))
    for warning in found:
        logging.getLogger(__name__).warning("%s", warning)
    state.diagnostics.extend(found)
    return state


def wrap_accumulators(state: State, options: CompileOptions) -> State:
    """State in the graph what accumulators of 16 bits do to its values."""
    if state.hw.acc_bits == 32:
        return state
    from vta.partition.rewrites.wrap_accumulators import wrap_accumulators as wrapped

    return replace(state, imported=wrapped(state.graph, state.hw))


def matrices_to_images(state: State, options: CompileOptions) -> State:
    """Multiply matrices as images, where the network has products of two tensors that VTA can multiply."""
    if not any(node.op in (ops.QNN_MATMUL, ops.QNN_NORMALIZE) for node in state.graph.calls()):
        return state
    from vta.partition.rewrites import matrices_to_images as images

    return replace(state, imported=images.matrices_to_images(state.graph, state.hw))


def space_to_depth(state: State, options: CompileOptions) -> State:
    """Store images of few channels with neighbouring columns as channels, where it pays."""
    return replace(state, imported=fold_columns(state.graph, state.hw))


def im2col(state: State, options: CompileOptions) -> State:
    """Let the host hand windows to a first convolution as channels, where it pays."""
    return replace(state, imported=windows.gather_windows(state.graph, state.hw))


def wide_weights(state: State, options: CompileOptions) -> State:
    """Give channels twice in lanes that are free, where a weight that reads them does not fit 8 bits."""
    return replace(state, imported=split_wide_weights(state.graph, state.hw))


def partition(state: State, options: CompileOptions) -> State:
    """Find the fused operators that VTA can run, and make regions of them: inner graphs, as large as they can be."""
    lowering = state.lowering or RegionLowering(state.graph, state.hw)
    chosen = state.chosen or Schedules(options.schedules, state.hw)
    against_all = host_first(options.targets.entries[0]) if options.targets.host_first else None
    veto = Vetoes(state.hw, lowering, chosen, state.layers, state.vetoed, against_all)
    found = parts.partition(state.graph, state.hw, veto)
    return replace(state, lowering=lowering, chosen=chosen, partition=found, again=None)


def lower_to_tiles(state: State, options: CompileOptions) -> State:
    """Turn fused operators into operators on tiles, and place the tensors of a region in each other."""
    assert state.lowering is not None
    return replace(state, tiles=state.lowering.regions(state.partitioned.regions), schedules=())


def schedule(state: State, options: CompileOptions) -> State:
    """Ask for the schedule of each operator."""
    assert state.chosen is not None
    return replace(state, schedules=tuple(state.chosen.of_region(tile.region) for tile in state.tiles))


def codegen(state: State, options: CompileOptions) -> State:
    """Emit one program for each region."""
    programs = [_program(state, options, index) for index in range(len(state.tiles))]
    return replace(state, programs=tuple(programs))


def check_programs(state: State, options: CompileOptions) -> State:
    """Prove each program right, for every interleaving of the units; what is wrong, or does not pay, is left to the host."""
    vetoed: dict[Node, Reason] = {}
    main = main_region([region for region in state.programs if isinstance(region, RegionProgram)])
    for made, region in zip(state.tiles, state.programs, strict=True):
        if isinstance(region, Failure):
            from vta.compiler.faults import fault_of

            vetoed |= fault_of(made, str(region))
            continue
        findings = verify(region.program)
        if findings and options.strict:
            require_verified(region.program)
        if findings:
            from vta.compiler.faults import fault_of_program

            vetoed |= fault_of_program(made, region.program, findings)
            continue
        reason = reason_against_region(region, state.hw, options.host, options.least_gain, is_main=region is main)
        if reason is not None:
            vetoed.update((fused.result, reason) for fused in made.source.operators)
    return replace(state, vetoed={**state.vetoed, **vetoed}, again="partition") if vetoed else state


def place(state: State, options: CompileOptions) -> State:
    """Say of each operator where it runs and why."""
    graph, found = state.graph, state.partitioned
    unmoved = [fused for tile in state.tiles for fused in tile.unmoved]
    placements = placements_of(graph, found, state.diagnostics.of(INEXACT), unmoved)
    if options.targets.host is None and options.targets.gpu is None:
        require_no_host(placements, options.targets)
    regions = tuple(program for program in state.programs if isinstance(program, RegionProgram))
    macs = sum(macs_of(node) for node in graph.calls())
    module = CompiledModule(
        graph, state.hw, regions, placements, macs, found, state.schedules, tuple(state.diagnostics), gpu=_gpu(options)
    )
    return replace(state, module=module)


def _gpu(options: CompileOptions) -> GpuHost | None:
    """The GPU among the targets."""
    entry = options.targets.gpu
    if entry is None:
        return None
    from vta.runtime.artifact.gpu_host import gpu_host_of

    return gpu_host_of(entry)


def _program(state: State, options: CompileOptions, index: int) -> RegionProgram | Failure:
    """The program of a region, or what went wrong; with ``strict`` that is raised."""
    assert state.lowering is not None
    try:
        return region_program(state.tiles[index], state.schedules[index], state.hw, state.lowering, options.serial)
    except (CompileError, EncodingError) as error:
        if options.strict:
            raise
        return error
