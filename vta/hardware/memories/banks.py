"""On-chip memories in banks, so that one beat a cycle is written or read whatever rows its elements belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Module, ShapeLike, Signal, Value
from amaranth.lib.memory import Memory, ReadPort
from amaranth.lib.wiring import Component, In, Out, PureInterface, Signature

from vta.hardware.checks import check_power_of_two
from vta.hardware.geometry import log2

__all__ = ["BankedMemory", "RowRead", "RowWrites", "WindowRead", "write_row", "write_rows"]

_MOST_READS = 4
"""Of one memory. FPGAs have more only as copies, and Yosys goes through all ways to make them: with 16 reads it takes tens of
gigabytes."""


class RowWrites(Signature):
    """Writes up to `banks` consecutive rows in a cycle, one in each bank: see `write_row` and `write_rows`."""

    def __init__(self, *, shape: ShapeLike, row_bits: int, banks: int) -> None:
        check_power_of_two("banks of a memory", banks)
        super().__init__(
            {
                "enable": Out(1).array(banks),
                "index": Out(max(1, row_bits - log2(banks))).array(banks),
                "data": Out(shape).array(banks),
            }
        )


class RowRead(Signature):
    """Reads `row`; its `data` is there in the next cycle."""

    def __init__(self, *, shape: ShapeLike, row_bits: int) -> None:
        super().__init__({"row": Out(row_bits), "data": In(shape)})


class WindowRead(Signature):
    """Reads as many consecutive rows as there are banks, from `row` on, in a cycle with `enable`.

    `lanes[i]` holds row `row + i` from the next cycle on, until the next read.
    """

    def __init__(self, *, shape: ShapeLike, row_bits: int, banks: int) -> None:
        super().__init__({"row": Out(row_bits), "enable": Out(1), "lanes": In(shape).array(banks)})


def write_row(writes: PureInterface, *, enable: Value, row: Value, data: Value) -> list[Any]:
    """Return the statements that write `data` to one row through `writes`, an interface of `RowWrites`."""
    banks = len(writes.enable)
    statements: list[Any] = []
    for bank in range(banks):
        statements += [
            writes.enable[bank].eq(enable & (_bank_of(row, banks) == bank)),
            writes.index[bank].eq(_index_in_bank(row, banks)),
            writes.data[bank].eq(data),
        ]
    return statements


def write_rows(writes: PureInterface, *, row: Value, lanes: Sequence[Value], first_lane: Value, count: Value) -> list[Any]:
    """Return the statements that write `count` consecutive rows, from `row` on, with the `lanes` from `first_lane` on."""
    banks = len(writes.enable)
    choices = Array(lanes)
    statements: list[Any] = []
    for bank in range(banks):
        place = (bank - _bank_of(row, banks))[: log2(banks)]
        lane = (place + first_lane)[: log2(len(lanes))]
        statements += [
            writes.enable[bank].eq(place < count),
            writes.index[bank].eq(_index_in_bank(row, banks) + (_bank_of(row, banks) > bank)),
            writes.data[bank].eq(choices[lane]),
        ]
    return statements


class BankedMemory(Component):
    """Rows of `shape`; row r lies in bank r mod `banks`.

    With `forwards`, a read sees what is written in its own cycle; otherwise it sees what was there before.
    """

    def __init__(
        self,
        *,
        shape: ShapeLike,
        row_bits: int,
        banks: int,
        rows: int = 0,
        windows: int = 0,
        forwards: bool = False,
    ) -> None:
        self._shape, self._row_bits, self._forwards = shape, row_bits, forwards
        super().__init__(
            {
                "writes": In(RowWrites(shape=shape, row_bits=row_bits, banks=banks)),
                "rows": In(RowRead(shape=shape, row_bits=row_bits)).array(rows),
                "windows": In(WindowRead(shape=shape, row_bits=row_bits, banks=banks)).array(windows),
            }
        )
        self._depth = max(2, (1 << row_bits) // banks)

    def elaborate(self, platform: object) -> Module:
        """Build one memory for each bank, and a read port on each of them for each read; with many reads a copy for each."""
        if len(self.rows) > _MOST_READS and not len(self.windows):
            return self._copies()
        m = Module()
        reads = [(_read_row, row) for row in self.rows] + [(_read_window, window) for window in self.windows]
        ports: list[list[ReadPort]] = [[] for _ in reads]
        for bank, enable in enumerate(self.writes.enable):
            memory = Memory(shape=self._shape, depth=self._depth, init=[])
            m.submodules[f"bank_{bank}"] = memory
            write = memory.write_port()
            m.d.comb += [
                write.en.eq(enable),
                write.addr.eq(self.writes.index[bank]),
                write.data.eq(self.writes.data[bank]),
            ]
            for of_read in ports:
                of_read.append(memory.read_port(transparent_for=[write] if self._forwards else []))
        for (connect, read), of_read in zip(reads, ports, strict=True):
            connect(m, read, of_read)
        return m

    def _copies(self) -> Module:
        """Build a memory for each of the reads of rows."""
        m = Module()
        for index, read in enumerate(self.rows):
            banks = len(self.writes.enable)
            copy = BankedMemory(shape=self._shape, row_bits=self._row_bits, banks=banks, rows=1, forwards=self._forwards)
            m.submodules[f"copy_{index}"] = copy
            m.d.comb += [copy.rows[0].row.eq(read.row), read.data.eq(copy.rows[0].data)]
            for bank in range(banks):
                for name in ("enable", "index", "data"):
                    m.d.comb += getattr(copy.writes, name)[bank].eq(getattr(self.writes, name)[bank])
        return m


def _read_row(m: Module, read: PureInterface, ports: Sequence[ReadPort]) -> None:
    """Drive the read ports of the banks, and choose among their data."""
    banks = len(ports)
    bank = Signal(log2(banks))
    m.d.sync += bank.eq(_bank_of(read.row, banks))
    m.d.comb += [port.addr.eq(_index_in_bank(read.row, banks)) for port in ports]
    m.d.comb += read.data.eq(Array(port.data for port in ports)[bank])


def _read_window(m: Module, read: PureInterface, ports: Sequence[ReadPort]) -> None:
    """Drive the read ports of the banks, and rotate their data."""
    banks = len(ports)
    first = Signal(log2(banks))
    with m.If(read.enable):
        m.d.sync += first.eq(_bank_of(read.row, banks))
    for bank, port in enumerate(ports):
        index = _index_in_bank(read.row, banks) + (_bank_of(read.row, banks) > bank)
        m.d.comb += [port.addr.eq(index), port.en.eq(read.enable)]
    data = Array(port.data for port in ports)
    for index, lane in enumerate(read.lanes):
        m.d.comb += lane.eq(data[(first + index)[: log2(banks)]])


def _bank_of(row: Value, banks: int) -> Value:
    return row[: log2(banks)]


def _index_in_bank(row: Value, banks: int) -> Value:
    return row[log2(banks) :]
