"""A memory of which two rows are read in a cycle without a second copy of it."""

from __future__ import annotations

from functools import reduce
from operator import xor

from amaranth.hdl import Array, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import Component, In

from vta.hardware.checks import check_power_of_two
from vta.hardware.geometry import log2
from vta.hardware.memories.banks import RowRead, RowWrites

__all__ = ["CodedMemory"]


class CodedMemory(Component):
    """Rows of `shape`, row r in bank r mod `banks`, and in one bank more the exclusive or of the rows beside each other.

    `rows[1]` reads its bank. If `rows[0]` wants the same bank, it gets its row from all the others. Only the row that `rows[0]`
    read in the cycle before may be written. A read sees what is written in its own cycle.
    """

    def __init__(self, *, shape: ShapeLike, row_bits: int, banks: int) -> None:
        check_power_of_two("banks of a memory", banks)
        self._shape = shape
        self._banks = banks
        self._bank_bits = log2(banks)
        self._depth = 1 << row_bits - self._bank_bits
        super().__init__(
            {
                "writes": In(RowWrites(shape=shape, row_bits=row_bits, banks=1)),
                "rows": In(RowRead(shape=shape, row_bits=row_bits)).array(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the memories, with a port to write and one to read each, and what gives the two rows."""
        m = Module()
        first, second = self.rows
        enable, row, data = self.writes.enable[0], self.writes.index[0], self.writes.data[0]
        written, code, new_code, written_code = (Signal(self._shape) for _ in range(4))
        first_hit, second_hit, code_hit = Signal(), Signal(), Signal()
        m.d.sync += [
            first_hit.eq(enable & (first.row == row)),
            second_hit.eq(enable & (second.row == row)),
            code_hit.eq(enable & (self._index(first.row) == self._index(row))),
            written.eq(data),
            written_code.eq(new_code),
        ]
        code_port = self._memory(m, "code", enable, new_code)
        m.d.comb += code_port.addr.eq(self._index(first.row))
        # All memories show what was there before the write of that cycle: together they give a row that it did not change.
        stored_first, stored_second = self._stored(m, code_port.data)
        m.d.comb += [
            first.data.eq(Mux(first_hit, written, stored_first)),
            second.data.eq(Mux(second_hit, written, stored_second)),
            code.eq(Mux(code_hit, written_code, code_port.data)),
            new_code.eq(code ^ first.data ^ data),
        ]
        return m

    def _stored(self, m: Module, code: Value) -> tuple[Value, Value]:
        """Build the banks; return the two rows as they lie there, of which the first may be put together with `code`."""
        (first, second), row = self.rows, self.writes.index[0]
        shared, bank = Signal(), Signal(self._bank_bits)
        m.d.sync += [shared.eq(self._bank(first.row) == self._bank(second.row)), bank.eq(self._bank(second.row))]
        found, parts = [], [code & shared.replicate(len(code))]
        for index in range(self._banks):
            taken, is_second, is_first = Signal(), self._bank(second.row) == index, self._bank(first.row) == index
            enable = self.writes.enable[0] & (self._bank(row) == index)
            port = self._memory(m, f"bank_{index}", enable, self.writes.data[0])
            m.d.comb += port.addr.eq(Mux(is_second, self._index(second.row), self._index(first.row)))
            # Of two rows of one bank the first is all that lies beside it.
            m.d.sync += taken.eq(Mux(self._bank(first.row) == self._bank(second.row), ~is_second, is_first))
            found.append(port.data)
            parts.append(port.data & taken.replicate(len(code)))
        return reduce(xor, parts), Array(found)[bank]

    def _memory(self, m: Module, name: str, enable: Value, data: Value) -> ReadPort:
        memory = Memory(shape=self._shape, depth=self._depth, init=[])
        m.submodules[name] = memory
        write = memory.write_port()
        m.d.comb += [write.en.eq(enable), write.addr.eq(self._index(self.writes.index[0])), write.data.eq(data)]
        return memory.read_port()

    def _bank(self, row: Value) -> Value:
        return row[: self._bank_bits]

    def _index(self, row: Value) -> Value:
        return row[self._bank_bits :]
