"""Whether a schedule should leave out the products with zero padding."""

from __future__ import annotations

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.schedule.cost import INSTRUCTION_CYCLES
from vta.schedule.cut import step_blocks, step_kernel
from vta.schedule.schedule import Schedule
from vta.tile.access_map import access_maps
from vta.tile.gemm_operator import GemmOperator
from vta.tile.gemm_term import GemmTerm

__all__ = ["pays_to_skip_padding"]


def pays_to_skip_padding(operator: GemmOperator, schedule: Schedule, hw: HardwareConfig) -> bool:
    """Whether the products with padding of the main term take longer than the further instructions that leaving them out takes.

    Without a requantize unit only of a transposed convolution, which looks beyond the edges of its input at every phase. It does
    not pay where computing waits for memory anyway.
    """
    term = operator.main_term
    if term.source_dilation == (1, 1) and not (hw.capabilities.requantize and any(term.padding)):
        return False
    out = operator.output
    pairs = out.batch * out.blocks * (1 if term.diagonal else term.source.blocks)
    steps = out.batch * -(-out.blocks // schedule.tile_co)
    total = min(schedule.tile_co, out.blocks) if term.diagonal else term.source.blocks
    steps *= -(-total // step_blocks(term, schedule))
    products, instructions = _work(operator, term, schedule, skip=False)
    fewer, more = _work(operator, term, schedule, skip=True)
    beat = hw.platform.bus_bytes
    memory = (term.weights.nbytes + term.source.elements * hw.elem_bytes(MemoryType.INP)) // beat
    return (products - fewer) * pairs > (more - instructions) * steps * INSTRUCTION_CYCLES and fewer * pairs > memory


def _work(operator: GemmOperator, term: GemmTerm, schedule: Schedule, skip: bool) -> tuple[int, int]:
    """Products of one pair of channel blocks, and instructions of one channel tile and reduction step."""
    products, instructions = 1, 1
    extents = (operator.output.height, operator.output.width)
    sizes, kernels = (schedule.tile_h, schedule.tile_w), step_kernel(term, schedule)
    for axis, (extent, size, kernel) in enumerate(zip(extents, sizes, kernels, strict=True)):
        found = [
            each
            for first in range(0, extent, size)
            for step in range(0, term.kernel[axis], kernel)
            for each in access_maps(
                term,
                axis,
                outputs=range(first, min(first + size, extent)),
                kernel=range(step, min(step + kernel, term.kernel[axis])),
                skip_padding=skip,
            )
        ]
        products *= sum(each.output_count * each.kernel_count for each in found)
        instructions *= len(found)
    return products, instructions
