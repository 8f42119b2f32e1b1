"""On-chip memories in banks, so that one beat a cycle is written or read whatever rows its elements belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Array, Elaboratable, Module, Signal, Value
from amaranth.lib.memory import Memory, ReadPort

from vta.hardware.geometry import log2

__all__ = ["BankedMemory", "RowRead", "RowWrite", "WindowRead"]


def _bank_of(row: Value, banks: int) -> Value:
    return row[: log2(banks)]


def _index_in_bank(row: Value, banks: int) -> Value:
    return row[log2(banks) :]


class RowWrite:
    """Writes up to `banks` consecutive rows in a cycle, one in each bank."""

    def __init__(self, width: int, row_bits: int, banks: int) -> None:
        self._banks = banks
        self.enables = [Signal(name=f"write_enable_{bank}") for bank in range(banks)]
        self.addresses = [Signal(row_bits, name=f"write_address_{bank}") for bank in range(banks)]
        self.data = [Signal(width, name=f"write_data_{bank}") for bank in range(banks)]

    def row(self, enable: Value, row: Value, data: Value) -> list[Any]:
        """Write `data` to one row."""
        statements: list[Any] = []
        for bank in range(self._banks):
            statements += [
                self.enables[bank].eq(enable & (_bank_of(row, self._banks) == bank)),
                self.addresses[bank].eq(_index_in_bank(row, self._banks)),
                self.data[bank].eq(data),
            ]
        return statements

    def rows(self, row: Value, lanes: Sequence[Value], first_lane: Value, count: Value) -> list[Any]:
        """Write `count` consecutive rows, from `row` on, with the `lanes` from `first_lane` on."""
        bits = log2(self._banks)
        choices = Array(lanes)
        statements: list[Any] = []
        for bank in range(self._banks):
            place = (bank - _bank_of(row, self._banks))[:bits]
            lane = (place + first_lane)[: log2(len(lanes))]
            wraps = _bank_of(row, self._banks) > bank
            statements += [
                self.enables[bank].eq(place < count),
                self.addresses[bank].eq(_index_in_bank(row, self._banks) + wraps),
                self.data[bank].eq(choices[lane]),
            ]
        return statements


class RowRead:
    """Reads `row`; its `data` is there in the next cycle."""

    def __init__(self, width: int, row_bits: int) -> None:
        self.row = Signal(row_bits)
        self.data = Signal(width)

    def connect(self, m: Module, ports: Sequence[ReadPort]) -> None:
        """Drive the read ports of the banks, and choose among their data."""
        banks = len(ports)
        bank = Signal(log2(banks))
        m.d.sync += bank.eq(_bank_of(self.row, banks))
        m.d.comb += [port.addr.eq(_index_in_bank(self.row, banks)) for port in ports]
        m.d.comb += self.data.eq(Array(port.data for port in ports)[bank])


class WindowRead:
    """Reads as many consecutive rows as there are banks, from `row` on, in a cycle with `enable`.

    `lanes[i]` holds row `row + i` from the next cycle on, until the next read.
    """

    def __init__(self, width: int, row_bits: int, banks: int) -> None:
        self.row = Signal(row_bits)
        self.enable = Signal()
        self.lanes = [Signal(width, name=f"lane_{lane}") for lane in range(banks)]

    def connect(self, m: Module, ports: Sequence[ReadPort]) -> None:
        """Drive the read ports of the banks, and rotate their data."""
        banks = len(ports)
        first = Signal(log2(banks))
        with m.If(self.enable):
            m.d.sync += first.eq(_bank_of(self.row, banks))
        for bank, port in enumerate(ports):
            wraps = _bank_of(self.row, banks) > bank
            m.d.comb += [port.addr.eq(_index_in_bank(self.row, banks) + wraps), port.en.eq(self.enable)]
        data = Array(port.data for port in ports)
        for index, lane in enumerate(self.lanes):
            m.d.comb += lane.eq(data[(first + index)[: log2(banks)]])


class BankedMemory(Elaboratable):
    """Rows of `width` bits; row r lies in bank r mod `banks`.

    With `forwards`, a read sees what is written in its own cycle; otherwise it sees what was there before.
    """

    def __init__(
        self, width: int, row_bits: int, banks: int, reads: Sequence[RowRead | WindowRead], forwards: bool = False
    ) -> None:
        self._width = width
        self._rows = max(2, (1 << row_bits) // banks)
        self._reads = tuple(reads)
        self._forwards = forwards
        self.write = RowWrite(width, row_bits, banks)

    def elaborate(self, platform: object) -> Module:
        """Build one memory for each bank."""
        m = Module()
        ports: list[list[ReadPort]] = [[] for _ in self._reads]
        for bank, enable in enumerate(self.write.enables):
            memory = Memory(shape=self._width, depth=self._rows, init=[])
            m.submodules[f"bank_{bank}"] = memory
            write = memory.write_port()
            m.d.comb += [
                write.en.eq(enable),
                write.addr.eq(self.write.addresses[bank]),
                write.data.eq(self.write.data[bank]),
            ]
            for index in range(len(self._reads)):
                ports[index].append(memory.read_port(transparent_for=[write] if self._forwards else []))
        for read, banks in zip(self._reads, ports, strict=True):
            read.connect(m, banks)
        return m
