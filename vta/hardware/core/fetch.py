"""The fetch unit: reads the instruction stream ahead and hands each instruction to the queue of its unit."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import stream
from amaranth.lib.data import View
from amaranth.lib.wiring import Component, In, Out, connect, flipped

from vta.config.targets import MemoryType
from vta.hardware.control.interfaces import UNIT_STATE
from vta.hardware.core.instruction_buffer import InstructionBuffer
from vta.hardware.geometry import ADDRESS_BITS, INSTRUCTION_BITS, Geometry, log2
from vta.hardware.memories.queue import Queue
from vta.hardware.ports.bursts import BurstRequests
from vta.hardware.ports.read_port import ReadClient
from vta.isa import INSTRUCTION_BYTES, Opcode

__all__ = ["FetchUnit"]

_STREAM_BITS = 36
"""Bits of the size of a stream in bytes: 2^32 - 1 instructions."""
_UNITS = ("load", "compute", "store")


class FetchUnit(Component):
    """Fetches `count` instructions from byte `address` on, from the cycle with `start` on.

    `load`, `compute` and `store` are the heads of the units' queues. `drained` is 1 if all instructions have left for them.
    """

    def __init__(self, geometry: Geometry) -> None:
        self._geometry = geometry
        super().__init__(
            {
                "start": In(1),
                "address": In(ADDRESS_BITS),
                "count": In(32),
                "reads": Out(ReadClient(geometry)),
                **{unit: Out(stream.Signature(INSTRUCTION_BITS)) for unit in _UNITS},
                "drained": Out(1),
                "state": Out(UNIT_STATE),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the requests, the buffer, and the dispatch into three queues."""
        m = Module()
        m.submodules.requests = requests = BurstRequests(
            self._geometry, capacity=self._geometry.timing.fetch_fifo, size_bits=_STREAM_BITS, rows_bits=1
        )
        m.submodules.buffer = buffer = InstructionBuffer(self._geometry)
        connect(m, requests.bursts, flipped(self.reads.bursts))
        connect(m, flipped(self.reads.beats), buffer.beats)
        fetched, transfer = buffer.instructions, requests.transfers.payload
        left, any_left, last, room, dispatch = Signal(32), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            requests.transfers.valid.eq(self.start),
            transfer.address.eq(self.address),
            transfer.row_bytes.eq(self.count << log2(INSTRUCTION_BYTES)),
            transfer.rows.eq(self.count != 0),
            requests.consumed.eq(buffer.consumed),
            buffer.start.eq(self.start),
            buffer.address.eq(self.address),
            buffer.last.eq(last),
            fetched.ready.eq(any_left & room),
            dispatch.eq(fetched.valid & fetched.ready),
            self.drained.eq(~self.start & ~any_left),
            self.state.busy.eq(dispatch),
            self.state.memory.eq(self.start | (any_left & ~fetched.valid)),
            self.state.token.eq(any_left),
        ]
        with m.If(self.start):
            m.d.sync += [left.eq(self.count), any_left.eq(self.count != 0), last.eq(self.count == 1)]
        with m.Elif(dispatch):
            m.d.sync += [left.eq(left - 1), any_left.eq(~last), last.eq(left == 2)]
        for unit, chosen in _unit_of(self._geometry.instruction(fetched.payload)).items():
            queue = Queue(shape=INSTRUCTION_BITS, depth=self._geometry.timing.queue_depth)
            m.submodules[f"{unit}_queue"] = queue
            connect(m, queue.head, flipped(getattr(self, unit)))
            m.d.comb += [
                queue.tail.valid.eq(any_left & fetched.valid & chosen),
                queue.tail.payload.eq(fetched.payload),
            ]
            with m.If(chosen):
                m.d.comb += room.eq(queue.tail.ready)
        return m


def _unit_of(instruction: View) -> dict[str, Value]:
    opcode, memory = instruction.load.opcode, instruction.load.memory_type
    load = (opcode == int(Opcode.LOAD)) & ((memory == int(MemoryType.INP)) | (memory == int(MemoryType.WGT)))
    store = opcode == int(Opcode.STORE)
    return {"load": load, "compute": ~load & ~store, "store": store}
