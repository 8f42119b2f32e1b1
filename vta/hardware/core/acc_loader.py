"""The compute unit's loads: micro-ops, accumulator rows, accumulator rows from bytes, and tables."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from vta.config.targets import MemoryType
from vta.hardware.control.interfaces import Bases
from vta.hardware.geometry import INSTRUCTION_BITS, Geometry
from vta.hardware.memories.queue import Queue
from vta.hardware.ports.bursts import BurstRequests
from vta.hardware.ports.read_port import ReadClient
from vta.hardware.transfers.decoder import SIZE_BITS, TransferDecoder
from vta.hardware.transfers.plan import LoadProgress, LoadWrites
from vta.hardware.transfers.writer import LoadWriter, place_writes

__all__ = ["AccLoader", "acc_loaded", "widened"]


def acc_loaded(geometry: Geometry) -> tuple[MemoryType, ...]:
    """Return the memories of the compute unit's loads, in the order of its kinds."""
    tables = (MemoryType.TABLE,) if geometry.hw.table_unit else ()
    return (MemoryType.UOP, MemoryType.ACC, MemoryType.ACC_8BIT, *tables)


def widened(scalars: Iterable[Value], acc_bits: int) -> Value:
    """Return an accumulator row of `scalars`: each with its sign extended, or its low bits if it is wider."""
    return Cat(Cat(scalar[:acc_bits], scalar[-1].replicate(max(0, acc_bits - len(scalar)))) for scalar in scalars)


class AccLoader(Component):
    """Executes one LOAD at a time: `start` comes with `instruction`; `writes` begin after a cycle with `pipeline_empty`.

    `moves` is 1 if `instruction` moves data, `known` if its memory type is one of these.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self._memories = memories = acc_loaded(geometry)
        super().__init__(
            {
                "instruction": In(INSTRUCTION_BITS),
                "moves": Out(1),
                "known": Out(1),
                "start": In(1),
                "pipeline_empty": In(1),
                "bases": In(Bases()),
                "reads": Out(ReadClient(geometry)),
                "writes": Out(LoadWrites(geometry, memories)),
                "progress": Out(LoadProgress(memories)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the requests, the buffer of beats and the writer."""
        m = Module()
        g, capacity = self._geometry, self._geometry.timing.acc_fifo
        m.submodules.decoder = decoder = TransferDecoder(g, self._memories)
        m.submodules.requests = requests = BurstRequests(g, capacity=capacity, size_bits=SIZE_BITS)
        m.submodules.writer = writer = LoadWriter(g, self._memories)
        m.submodules.beat_queue = beats = Queue(shape=g.word_bits, depth=capacity, always_ready=True)
        connect(m, flipped(self.bases), decoder.bases)
        connect(m, requests.bursts, flipped(self.reads.bursts))
        connect(m, flipped(self.reads.beats), beats.tail)
        connect(m, beats.head, writer.beats)
        # They begin so long after the plan has come that the rows which they count from are there.
        connect(m, place_writes(m, writer.writes, writer), flipped(self.writes))
        connect(m, writer.progress, flipped(self.progress))
        writing = Signal()
        with m.If(writer.progress.complete):
            m.d.sync += writing.eq(0)
        with m.Elif(self.pipeline_empty):
            m.d.sync += writing.eq(1)
        m.d.comb += [
            decoder.instruction.eq(self.instruction),
            self.moves.eq(decoder.transfer.rows != 0),
            self.known.eq(decoder.known),
            requests.transfers.valid.eq(self.start),
            requests.transfers.payload.eq(decoder.transfer),
            requests.consumed.eq(writer.beats.valid & writer.beats.ready),
            writer.plans.valid.eq(self.start),
            writer.plans.payload.eq(decoder.plan),
            writer.enable.eq(writing),
        ]
        return m
