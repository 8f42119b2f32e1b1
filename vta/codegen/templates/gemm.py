"""The template of operators that multiply: convolution, dense, sum pooling, copies and element-wise steps. The core has it."""

from __future__ import annotations

from collections.abc import Mapping

from vta.codegen.gemm_description import FROM_BOTTOM, GemmDescription, Placement, emit_gemm
from vta.codegen.stream import Stream
from vta.codegen.templates.emission import emit_operator
from vta.schedule.schedule import Schedule
from vta.tile.gemm_operator import GemmOperator

__all__: list[str] = []


@emit_operator.register
def _(
    operator: GemmOperator,
    stream: Stream,
    addresses: Mapping[str, int],
    schedule: Schedule | None,
    placement: Placement = FROM_BOTTOM,
) -> None:
    assert schedule is not None, "every operator of products has a schedule"
    emit_gemm(stream, GemmDescription(operator.laid_out(schedule), addresses), schedule, placement)
