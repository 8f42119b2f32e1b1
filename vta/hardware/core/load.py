"""The load unit: stage A requests ahead, stage B writes the input and weight memories."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Mux, Signal

from vta.config.targets import MemoryType
from vta.hardware.core.unit import UnitPort
from vta.hardware.geometry import Geometry
from vta.hardware.memories.queue import Queue
from vta.hardware.ports.bursts import BurstRequests
from vta.hardware.transfers.decoder import SIZE_BITS, TransferDecoder, plan_layout
from vta.hardware.transfers.writer import LoadWriter
from vta.isa import Opcode

__all__ = ["LOADED", "LoadUnit"]

LOADED = (MemoryType.INP, MemoryType.WGT)
"""The memories of the load unit, in the order of its kinds."""


class LoadUnit(Elaboratable):
    """Executes the LOADs of input and weights. `delivered` tells that `beat` comes from memory in this cycle.

    `pop_next` takes a token of compute and `push_next` gives one to it; `token_ready` says that there is one to take.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self.port = UnitPort()
        self.token_ready = Signal()
        self.pop_next = Signal()
        self.push_next = Signal()
        self.decoder = TransferDecoder(geometry, LOADED)
        self.requests = BurstRequests(geometry, geometry.timing.load_fifo, SIZE_BITS)
        self.writer = LoadWriter(geometry, LOADED)
        self.delivered = Signal()
        self.beat = Signal(8 * geometry.word_bytes)

    def elaborate(self, platform: object) -> Module:
        """Build the acceptance of instructions and the queue of accepted ones between the stages."""
        m = Module()
        timing = self._geometry.timing
        m.submodules.decoder = decoder = self.decoder
        m.submodules.requests = requests = self.requests
        m.submodules.writer = writer = self.writer
        m.submodules.beat_queue = beats = Queue(8 * self._geometry.word_bytes, timing.load_fifo)
        m.submodules.plan_queue = plans = Queue(plan_layout(self._geometry, LOADED), timing.load_ahead)
        port = self.port
        incomplete = Signal(range(timing.load_ahead + 1))
        pops, tokens, takes_new = Signal(), Signal(), Signal()
        m.d.comb += [
            decoder.instruction.eq(port.instruction),
            pops.eq(self._geometry.field(Opcode.LOAD, "pop_next", port.instruction)),
            tokens.eq(self.token_ready | ~pops),
            port.accept.eq(port.valid & tokens & ~requests.busy & (incomplete < timing.load_ahead)),
            self.pop_next.eq(port.accept & pops),
            requests.start.eq(port.accept),
            requests.address.eq(decoder.address),
            requests.row_bytes.eq(decoder.row_bytes),
            requests.rows.eq(decoder.rows),
            requests.stride.eq(decoder.stride),
            requests.consumed.eq(writer.consume),
            beats.push.eq(self.delivered),
            beats.entry.eq(self.beat),
            beats.pop.eq(writer.consume),
            writer.beat.eq(beats.head),
            writer.beat_valid.eq(beats.valid),
            takes_new.eq(~writer.active | writer.complete),
            writer.start.eq(takes_new & (plans.valid | port.accept)),
            writer.plan.eq(Mux(plans.valid, plans.head.as_value(), decoder.plan.as_value())),
            plans.pop.eq(takes_new & plans.valid),
            plans.push.eq(port.accept & ~(takes_new & ~plans.valid)),
            plans.entry.eq(decoder.plan),
            self.push_next.eq(writer.complete & writer.push_next),
            port.completed.eq(writer.complete),
            port.drained.eq(~port.valid & (incomplete == 0)),
            port.state.busy.eq(writer.worked),
            port.state.memory.eq(writer.active),
            port.state.token.eq(port.valid & ~requests.busy & ~port.accept),
        ]
        m.d.sync += incomplete.eq(incomplete + port.accept - writer.complete)
        return m
