"""The compute unit's loads: micro-ops, accumulator rows, and accumulator rows from bytes."""

from __future__ import annotations

from amaranth.hdl import Cat, Elaboratable, Module, Signal, Value

from vta.config.targets import MemoryType
from vta.hardware.geometry import INSTRUCTION_BITS, Geometry
from vta.hardware.memories.queue import Queue
from vta.hardware.ports.bursts import BurstRequests
from vta.hardware.transfers.decoder import SIZE_BITS, TransferDecoder
from vta.hardware.transfers.writer import LoadWriter

__all__ = ["ACC_LOADED", "AccLoader", "widened"]

ACC_LOADED = (MemoryType.UOP, MemoryType.ACC, MemoryType.ACC_8BIT)
"""The memories of the compute unit's loads, in the order of its kinds."""


def widened(element: Value, acc_bits: int) -> Value:
    """Return an ACC_8BIT element as an accumulator row: each byte with its sign extended."""
    return Cat(
        Cat(byte, byte[-1].replicate(acc_bits - 8)) for byte in (element.word_select(k, 8) for k in range(len(element) // 8))
    )


class AccLoader(Elaboratable):
    """Executes one LOAD at a time: `start` comes with `instruction`; writes begin after a cycle with `pipeline_empty`.

    `moves` is 1 if `instruction` moves data, `known` if its memory type is one of these.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        self.instruction = Signal(INSTRUCTION_BITS)
        self.moves = Signal()
        self.known = Signal()
        self.start = Signal()
        self.pipeline_empty = Signal()
        self.decoder = TransferDecoder(geometry, ACC_LOADED)
        self.requests = BurstRequests(geometry, geometry.timing.acc_fifo, SIZE_BITS)
        self.writer = LoadWriter(geometry, ACC_LOADED)
        self.delivered = Signal()
        self.beat = Signal(8 * geometry.word_bytes)

    def elaborate(self, platform: object) -> Module:
        """Build the requests, the buffer of beats and the writer."""
        m = Module()
        m.submodules.decoder = decoder = self.decoder
        m.submodules.requests = requests = self.requests
        m.submodules.writer = writer = self.writer
        m.submodules.beat_queue = beats = Queue(8 * self._geometry.word_bytes, self._geometry.timing.acc_fifo)
        writes = Signal()
        with m.If(writer.complete):
            m.d.sync += writes.eq(0)
        with m.Elif(self.pipeline_empty):
            m.d.sync += writes.eq(1)
        m.d.comb += [
            decoder.instruction.eq(self.instruction),
            self.moves.eq(decoder.rows != 0),
            self.known.eq(decoder.known),
            requests.start.eq(self.start),
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
            writer.start.eq(self.start),
            writer.plan.eq(decoder.plan),
            writer.enable.eq(writes),
        ]
        return m
