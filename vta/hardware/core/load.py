"""The load unit: stage A requests ahead, stage B writes the input and weight memories."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from vta.config.targets import MemoryType
from vta.hardware.control.interfaces import Bases, Moved, UnitStatus
from vta.hardware.control.tokens import GIVEN_TOKENS, TAKEN_TOKENS
from vta.hardware.geometry import INSTRUCTION_BITS, Geometry, buffer_name
from vta.hardware.memories.buffers import writes_of
from vta.hardware.memories.queue import Queue
from vta.hardware.ports.bursts import BurstRequests
from vta.hardware.ports.read_port import ReadClient
from vta.hardware.transfers.decoder import SIZE_BITS, TransferDecoder
from vta.hardware.transfers.plan import plan_layout
from vta.hardware.transfers.writer import LoadWriter, delayed_writes, elements_of, place_writes, write_load

__all__ = ["LOADED", "LoadUnit"]

LOADED = (MemoryType.INP, MemoryType.WGT)
"""The memories of the load unit, in the order of its kinds."""


class LoadUnit(Component):
    """Executes the LOADs of inputs and weights, which it writes to the memories `inp` and `wgt`.

    Tokens come `from_compute` and go `to_compute`.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        super().__init__(
            {
                "instructions": In(stream.Signature(INSTRUCTION_BITS)),
                "from_compute": In(TAKEN_TOKENS),
                "to_compute": Out(GIVEN_TOKENS),
                "bases": In(Bases()),
                "reads": Out(ReadClient(geometry)),
                **{buffer_name(memory): Out(writes_of(geometry, memory)) for memory in LOADED},
                "moved": Out(Moved(LOADED)),
                "status": Out(UnitStatus()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the acceptance of instructions, and the queues between the stages."""
        m = Module()
        g, timing = self._geometry, self._geometry.timing
        m.submodules.decoder = decoder = TransferDecoder(g, LOADED)
        m.submodules.requests = requests = BurstRequests(g, capacity=timing.load_fifo, size_bits=SIZE_BITS)
        m.submodules.writer = writer = LoadWriter(g, LOADED)
        m.submodules.beat_queue = beats = Queue(shape=g.word_bits, depth=timing.load_fifo, always_ready=True)
        connect(m, flipped(self.bases), decoder.bases)
        connect(m, requests.bursts, flipped(self.reads.bursts))
        connect(m, flipped(self.reads.beats), beats.tail)
        connect(m, beats.head, writer.beats)
        connect(m, writer.progress.moved, flipped(self.moved))
        given, progress, state = self.instructions, writer.progress, self.status.state
        load = g.instruction(given.payload).load
        incomplete = Signal(range(timing.load_ahead + 1))
        accept, tokens = Signal(), Signal()
        m.d.comb += [
            decoder.instruction.eq(given.payload),
            tokens.eq(self.from_compute.valid | ~load.pop_next),
            requests.transfers.payload.eq(decoder.transfer),
            requests.transfers.valid.eq(given.valid & tokens & (incomplete < timing.load_ahead)),
            requests.consumed.eq(writer.beats.valid & writer.beats.ready),
            accept.eq(requests.transfers.valid & requests.transfers.ready),
            given.ready.eq(accept),
            self.from_compute.ready.eq(accept & load.pop_next),
            self.to_compute.valid.eq(progress.complete & progress.push_next),
            self.status.completed.eq(progress.complete),
            self.status.drained.eq(~given.valid & (incomplete == 0)),
            state.busy.eq(progress.worked),
            state.memory.eq(progress.active),
            state.token.eq(given.valid & requests.transfers.ready & ~accept),
        ]
        m.d.sync += incomplete.eq(incomplete + accept - progress.complete)
        self._plan(m, accept, decoder, writer)
        # No micro-op reads these memories before the fourth cycle after that in which a load completes.
        writes = place_writes(m, delayed_writes(m, writer.writes), writer)
        for kind, memory in enumerate(LOADED):
            elements = elements_of(g, memory, writes.window)
            write_load(m, load=writes, kind=kind, elements=elements, to=getattr(self, buffer_name(memory)))
        return m

    def _plan(self, m: Module, accept: Signal, decoder: TransferDecoder, writer: LoadWriter) -> None:
        """Hand the plans of accepted loads to the writer, in order: at once, or through a queue while it is at work."""
        depth = self._geometry.timing.load_ahead
        m.submodules.plan_queue = plans = Queue(shape=plan_layout(self._geometry, LOADED), depth=depth, always_ready=True)
        waiting, at_once = plans.head.valid, Signal()
        m.d.comb += [
            at_once.eq(writer.plans.ready & ~waiting),
            writer.plans.valid.eq(waiting | accept),
            writer.plans.payload.eq(Mux(waiting, plans.head.payload.as_value(), decoder.plan.as_value())),
            plans.head.ready.eq(writer.plans.ready),
            plans.tail.valid.eq(accept & ~at_once),
            plans.tail.payload.eq(decoder.plan),
        ]
