"""What networks give for many samples: by the references, or by compiled kernels where that takes less time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from vta.ir.graph import Graph
from vta.ir.macs import macs_of
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_part.host_options import HostOptions, has_compiler
from vta.runtime.host_part.sample_steps import have_sample_runs
from vta.runtime.values.batches import Tick, interpret_batches, interpret_widely, sample_count
from vta.runtime.values.chunks import SampleChunks, cores

if TYPE_CHECKING:
    from vta.runtime.host_part.host_graph import HostGraph

__all__ = ["compute_exactly", "compute_widely", "is_worth_compiling"]

Array = NDArray[Any]
_MACS_A_SECOND, _SECONDS_AN_OPERATOR = 4e9, 20e-6
"""Of the references, about; what an operator takes for each sample beside its products."""
_WORTH_SECONDS = 3.0
"""Of the references' time: less is not worth compiling."""


def compute_exactly(compiled: CompiledModule, host: HostOptions, inputs: Mapping[str, Array], tick: Tick | None) -> list[Array]:
    """What a module must give, to the bit, where its host part is computed as `host` says."""
    if host.by_references and not is_worth_compiling(compiled.graph, sample_count(inputs)):
        return interpret_batches(compiled.graph, inputs, tick)
    from vta.runtime.host_part.host_graph import reference_of

    return _mapped(reference_of(compiled, host), inputs, tick, cores())


def compute_widely(
    graph: Graph, inputs: Mapping[str, Array], tick: Tick | None, most_cores: int | None = None, winograd: bool = False
) -> list[Array]:
    """What a graph gives, floats within rounding; on so many cores at most, or all. `winograd` is as for `HostOptions`."""
    if not is_worth_compiling(graph, sample_count(inputs)):
        return interpret_widely(graph, inputs, tick)
    from vta.runtime.host_part.host_graph import host_graph

    return _mapped(host_graph(graph, HostOptions(compiled=True, winograd=winograd)), inputs, tick, most_cores or cores())


def _mapped(graph: HostGraph, inputs: Mapping[str, Array], tick: Tick | None, most: int) -> list[Array]:
    chunks = SampleChunks(graph.graph, inputs)
    return chunks.map([graph.run_samples] * (min(most, chunks.count) if have_sample_runs(graph.plan) else 1), tick)


def is_worth_compiling(graph: Graph, samples: int) -> bool:
    """Whether the references would take longer for so many samples than compiling takes, which must be possible here."""
    calls = graph.calls()
    each = sum(map(macs_of, calls)) / _MACS_A_SECOND + len(calls) * _SECONDS_AN_OPERATOR
    return each * samples > _WORTH_SECONDS and has_compiler()
