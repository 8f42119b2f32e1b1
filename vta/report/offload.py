"""What each region of a compiled network costs beside the host: the estimates, and the table that shows them."""

from __future__ import annotations

from collections.abc import Sequence

from vta.compiler.profit import HostModel, OffloadEstimate, estimate_offload
from vta.runtime.compiled_module import CompiledModule
from vta.support.table import Table, make_table

__all__ = ["offload_estimates", "offload_table"]


def offload_estimates(module: CompiledModule, host: HostModel | None = None) -> list[OffloadEstimate]:
    """The estimate of each region, in order."""
    return [estimate_offload(region, module.hw, host) for region in module.regions]


def offload_table(rows: Sequence[OffloadEstimate]) -> Table:
    """Show the cycles of regions on VTA beside the host's; gain is how many times as long the host takes."""
    headers = ("region", "start", "transfer", "program", "VTA in all", "host", "gain")
    values = [(row.region, row.start, row.transfer, row.program, row.device, row.host, f"{row.gain:.1f}") for row in rows]
    return make_table(headers, values, "Estimated cycles of the fabric's clock")
