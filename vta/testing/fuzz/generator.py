"""Random legal programs: every instruction is made to fit what the ones before it left on chip and in DRAM."""

from __future__ import annotations

from random import Random

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.isa import UOP_DTYPE, AluOp, Opcode, Program, Symbol, SymbolKind, Unit, encode_uops
from vta.isa.instruction import (
    DEPTHWISE_TAPS,
    GEMM_REQUANTIZES,
    INSTRUCTION_DTYPE,
    REQUANTIZE_KEEP,
    REQUANTIZE_PARAMETERS,
    REQUANTIZE_TABLE,
    REQUANTIZE_WIDE,
)
from vta.support.dataclass import dataclass
from vta.testing.fuzz.machine import CELL_BYTES, Machine, Span, pick_span
from vta.testing.fuzz.profile import Profile, random_profile
from vta.testing.fuzz.tokens import Access, Planner, Space, add_spare_tokens, carrier, shuffle_units

__all__ = ["Layout", "random_program"]

_UOP_BYTES = 16384
_ARENA_BYTES = 16384
_SPACES = {MemoryType.INP: Space.INP, MemoryType.WGT: Space.WGT}
_PLAIN_ALU_OPS = tuple(op for op in AluOp if op is not AluOp.REQUANTIZE)
_PADS = ("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1")


@dataclass(frozen=True)
class Layout:
    """Byte offsets in the DRAM image: micro-ops, then constants, then the arena."""

    constants: int
    arena: int
    end: int

    @classmethod
    def of(cls, hw: HardwareConfig) -> Layout:
        """The layout for `hw`, with room for a few dozen elements of the largest kind."""
        constants = max(16384, 16 * hw.elem_bytes(MemoryType.WGT))
        arena = _UOP_BYTES + constants
        return cls(_UOP_BYTES, arena, arena + _ARENA_BYTES)


def random_program(hw: HardwareConfig, seed: int, unit_instructions: int = 512, profile: Profile | None = None) -> Program:
    """Return the program of `seed`: the same for the same arguments.

    `unit_instructions` is what the queue of each unit holds; programs of more keep program order. The target of `hw`
    must implement all of the ISA.
    """
    rng = Random(seed)
    return _Generator(hw, rng, profile or random_profile(rng)).program(unit_instructions)


class _Generator:
    def __init__(self, hw: HardwareConfig, rng: Random, profile: Profile) -> None:
        self.hw, self.rng, self.profile = hw, rng, profile
        self.layout = Layout.of(hw)
        self.machine = Machine(hw, _ARENA_BYTES // CELL_BYTES)
        cells = {space: hw.depth(memory) for memory, space in {**_SPACES, MemoryType.OUT: Space.OUT}.items()}
        self.planner = Planner({**cells, Space.DRAM: self.layout.end // CELL_BYTES}, profile.serial)
        self.uops: list[tuple[int, int, int]] = []
        self.sequences: list[Span] = []
        self.narrow_parameters = False
        """Whether the parameters that were read last are those of results of 8 bits."""

    def program(self, unit_instructions: int) -> Program:
        """Generate everything."""
        for memory in (MemoryType.INP, MemoryType.WGT, MemoryType.ACC):
            self._load(memory)
        makers = {
            "inp": lambda: self._load(MemoryType.INP),
            "wgt": lambda: self._load(MemoryType.WGT),
            "acc": lambda: self._load(self.rng.choice((MemoryType.ACC, MemoryType.ACC_8BIT))),
            "uop": lambda: self._load_uops([self._random_uop() for _ in range(self.rng.randint(1, 6))]),
            "gemm": self._gemm,
            "alu": self._alu,
            "store": self._stores,
            "empty": self._empty,
        }
        weights_of = dict(self.profile.weights)
        if self.hw.requantize_unit:
            makers["requantize"], weights_of["requantize"] = self._requantize, weights_of["alu"]
        if self.hw.table_unit:
            makers["table"], weights_of["table"] = self._load_table, 1
        names, weights = zip(*weights_of.items(), strict=True)
        for _ in range(self.profile.length):
            makers[self.rng.choices(names, weights)[0]]()
        if self.rng.random() < 0.8:
            self._show_accumulators()
        self.planner.finish()
        add_spare_tokens(self.planner, self.rng, self.profile.spare_tokens, self.profile.token_reach)
        rows = self.planner.rows
        if self.profile.shuffled and max(self.planner.units.count(unit) for unit in Unit) <= unit_instructions:
            rows = shuffle_units(self.planner, self.rng)
        return self._assemble(rows)

    def _assemble(self, rows: list[dict[str, int]]) -> Program:
        image = np.zeros(self.layout.arena, dtype=np.uint8)
        words = encode_uops(np.array(self.uops, dtype=UOP_DTYPE), self.hw).astype("<u4").view(np.uint8)
        image[: len(words)] = words
        image[self.layout.constants :] = _random_bytes(self.rng, self.layout.arena - self.layout.constants)
        names = INSTRUCTION_DTYPE.names or ()
        records = [tuple(int(row.get(name, 0)) for name in names) for row in rows]
        symbols = (
            Symbol("uops", SymbolKind.UOP, 0, len(words)),
            Symbol("constants", SymbolKind.CONSTANT, self.layout.constants, self.layout.arena - self.layout.constants),
            Symbol("arena", SymbolKind.SCRATCH, self.layout.arena, _ARENA_BYTES),
        )
        return Program(self.hw, np.array(records, dtype=INSTRUCTION_DTYPE), image, self.layout.end, symbols)

    def _load(self, memory: MemoryType) -> None:
        """A LOAD of INP, WGT, ACC or ACC_8BIT from constants, or from what was stored."""
        depth, size = self.hw.depth(memory), self.hw.elem_bytes(memory)
        source = self._source(size)
        room = (source[1] - source[0]) // size
        if not room:
            return
        row = self._shape(min(depth, self.profile.rows), room)
        total = _rows(row)
        row["sram_base"] = self.rng.randint(0, depth - total)
        extent = row["x_size"] + (row["y_size"] - 1) * row["x_stride"]
        row["dram_base"] = source[0] // size + self.rng.randint(0, room - extent)
        row.update(opcode=Opcode.LOAD, memory_type=memory)
        written = np.arange(row["sram_base"], row["sram_base"] + total)
        accesses = [self._dram(row, size, writes=False)]
        if memory in _SPACES:
            accesses.append(Access(_SPACES[memory], True, written))
        self.machine.written[MemoryType.ACC if memory is MemoryType.ACC_8BIT else memory][written] = True
        self.planner.place(row, Unit.LOAD if memory in _SPACES else Unit.COMPUTE, tuple(accesses))

    def _source(self, size: int) -> Span:
        """Bytes of the image to load elements of `size` bytes from."""
        layout = self.layout
        if self.rng.random() < 0.3:
            stored = pick_span(self.machine.stored, self.rng)
            if stored is not None:
                start = layout.arena + -(-stored[0] * CELL_BYTES // size) * size
                stop = layout.arena + stored[1] * CELL_BYTES // size * size
                if stop > start:
                    return start, stop
        return layout.constants, layout.arena

    def _shape(self, rows: int, room: int, padded: bool = True) -> dict[str, int]:
        """Sizes, stride and pads of a transfer of at most `rows` SRAM rows that spans at most `room` elements."""
        rng = self.rng
        pads = dict.fromkeys(_PADS, 0)
        if padded and rng.random() < self.profile.pads:
            pads = {name: rng.choice((0, 0, 1, 1, 2, rng.randint(0, 15))) for name in _PADS}
        for name in _PADS:  # in small memories pads give way until one element fits
            while pads[name] and (1 + pads["y_pad_0"] + pads["y_pad_1"]) * (1 + pads["x_pad_0"] + pads["x_pad_1"]) > rows:
                pads[name] -= 1
        tall, wide = 1 + pads["y_pad_0"] + pads["y_pad_1"], pads["x_pad_0"] + pads["x_pad_1"]
        x_size = _skewed(rng, min(rows // tall - wide, room))
        y_size = _skewed(rng, max(1, rows // (wide + x_size) - tall + 1)) if rng.random() < 0.6 else 1
        stride = max(0, x_size + rng.choice((0, 0, 1, 2, rng.randint(-x_size, 2 * x_size))))
        while y_size > 1 and x_size + (y_size - 1) * stride > room:
            y_size -= 1
        return {"x_size": x_size, "y_size": y_size, "x_stride": stride, **pads}

    def _dram(self, row: dict[str, int], size: int, writes: bool) -> Access:
        starts = (row["dram_base"] + np.arange(row["y_size"]) * row["x_stride"]) * size // CELL_BYTES
        run = np.arange(row["x_size"] * size // CELL_BYTES)
        return Access(Space.DRAM, writes, np.unique(starts[:, None] + run))

    def _load_uops(self, uops: list[tuple[int, int, int]]) -> Span | None:
        """Put micro-ops on chip, padded and in rows or not; returns their place, None if there is no room in DRAM."""
        rng, depth = self.rng, len(self.machine.uops)
        columns = rng.choice([count for count in range(1, len(uops) + 1) if len(uops) % count == 0])
        count, gap = len(uops) // columns, rng.choice((0, 0, 1, 3))
        pads = dict.fromkeys(_PADS, 0)
        if columns == len(uops) and rng.random() < self.profile.pads:
            pads = {name: rng.randint(0, 3) for name in _PADS}
        row = {"x_size": columns, "y_size": count, "x_stride": columns + gap, **pads}
        filler = (columns + gap) * count
        if len(self.uops) + filler + 8 > _UOP_BYTES // 4 or _rows(row) > depth:
            return None
        self.uops += [(0, 0, 0)] * rng.choice((0, 0, 1, 5))
        row.update(opcode=Opcode.LOAD, memory_type=MemoryType.UOP, sram_base=rng.randint(0, depth - _rows(row)))
        row["dram_base"] = len(self.uops)
        for start in range(0, len(uops), columns):
            self.uops += [*uops[start : start + columns], *[(0, 0, 0)] * gap]
        self._fill_uops(row, uops)
        self.planner.place(row, Unit.COMPUTE)
        begin = row["sram_base"] + pads["x_pad_0"] + pads["y_pad_0"] * (columns + pads["x_pad_0"] + pads["x_pad_1"])
        self.sequences = [old for old in self.sequences if old[1] <= row["sram_base"] or old[0] >= row["sram_base"] + _rows(row)]
        self.sequences.append((begin, begin + len(uops)))
        return self.sequences[-1]

    def _fill_uops(self, row: dict[str, int], uops: list[tuple[int, int, int]]) -> None:
        padded: list[tuple[int, int, int]] = [(0, 0, 0)] * _rows(row)
        first = row["x_pad_0"] + row["y_pad_0"] * (row["x_size"] + row["x_pad_0"] + row["x_pad_1"])
        padded[first : first + len(uops)] = uops
        self.machine.uops[row["sram_base"] : row["sram_base"] + len(padded)] = padded

    def _random_uop(self) -> tuple[int, int, int]:
        depth = self.hw.depth
        return (
            self.rng.randrange(depth(MemoryType.ACC)),
            self.rng.randrange(min(depth(MemoryType.INP), depth(MemoryType.ACC))),
            self.rng.randrange(depth(MemoryType.WGT)),
        )

    def _gemm(self) -> None:
        reset = self.rng.random() < 0.15
        spans = [self.machine.span(memory, self.rng) for memory in (MemoryType.ACC, MemoryType.INP, MemoryType.WGT)]
        if reset:
            spans = [(0, self.hw.depth(MemoryType.ACC)), (0, self.hw.depth(MemoryType.INP)), (0, 1)]
        depthwise = bool(self.hw.depthwise_unit and not reset and self.rng.random() < 0.4)
        if depthwise and spans[1] is not None:
            start, stop = spans[1]
            if stop - start < DEPTHWISE_TAPS:
                return
            spans[1] = start, stop - DEPTHWISE_TAPS + 1
        row = self._nest(spans)
        if row is None:
            return
        row.update(opcode=Opcode.DEPTHWISE if depthwise else Opcode.GEMM, reset=int(reset))
        if self.narrow_parameters and not reset and self.rng.random() < 0.6:
            row["imm"] = GEMM_REQUANTIZES
        dst, src, wgt = (self._touched(row, name) for name in ("dst", "src", "wgt"))
        if depthwise:
            src = np.unique(src[:, None] + np.arange(DEPTHWISE_TAPS))
        self.machine.written[MemoryType.ACC][dst] = True
        # Whether a reset changes OUT differs between implementations, so nothing may read it afterwards.
        self.machine.written[MemoryType.OUT][dst] = not reset
        accesses = [Access(Space.OUT, True, dst)]
        if not reset:
            accesses += [Access(Space.INP, False, src), Access(Space.WGT, False, wgt)]
        self.planner.place(row, Unit.COMPUTE, tuple(accesses))

    def _alu(self) -> None:
        rng = self.rng
        op, use_imm = rng.choice(_PLAIN_ALU_OPS), rng.random() < 0.5
        dst, src = (self.machine.span(MemoryType.ACC, rng) for _ in range(2))
        if dst is None or src is None:
            return
        if op is AluOp.SHR and not use_imm:
            src = (src[0], min(src[1], src[0] + self.profile.rows))
            if dst[0] < src[1] and src[0] < dst[1]:
                return  # the instruction would change its own shift amounts
            if not (self._sweep(AluOp.MAX, -31, src) and self._sweep(AluOp.MIN, 31, src)):
                return
        row = self._nest([dst, src, (0, 1)], ("dst", "src"))
        if row is not None:
            shift = op is AluOp.SHR
            imm = rng.choice((rng.randint(-31, 31), rng.choice((-31, 0, 31)) if shift else rng.randint(-32768, 32767)))
            self._place_alu({**row, "alu_opcode": op, "use_imm": int(use_imm), "imm": imm})

    def _requantize(self) -> None:
        """A REQUANTIZE whose parameters are whatever lies in the accumulator, and none of the rows that it writes."""
        rng = self.rng
        dst, src = (self.machine.span(MemoryType.ACC, rng) for _ in range(2))
        row = self._nest([dst, src, (0, 1)], ("dst",))
        if row is None or dst is None or src is None:
            return
        wide, looks_up = rng.random() < 0.3, self.hw.table_unit and self.machine.table.all() and rng.random() < 0.5
        keeps = not wide and rng.random() < 0.4
        flags = REQUANTIZE_WIDE if wide else (REQUANTIZE_TABLE if looks_up else 0) | (REQUANTIZE_KEEP if keeps else 0)
        row.update(alu_opcode=AluOp.REQUANTIZE, imm=flags)
        if row["uop_bgn"] < row["uop_end"] and row["iter_out"] and row["iter_in"]:
            written = self._touched(row, "dst")
            count = row["iter_out"] * row["iter_in"] * (row["uop_end"] - row["uop_bgn"])
            parameters = self._parameters(row, src)
            if not keeps and ((wide and len(written) < count) or np.isin(parameters, written).any()):
                return
            self.narrow_parameters = not wide
            if keeps:
                self.planner.place({**row, "opcode": Opcode.ALU}, Unit.COMPUTE)
                return
        self._place_alu(row)

    def _parameters(self, row: dict[str, int], span: Span) -> NDArray[np.int64]:
        """Choose where the parameters of `row` lie within `span`; returns the rows, which may be the same more than once."""
        uop = self.machine.uops[row["uop_bgn"]]
        assert uop is not None
        slack = span[1] - 1 - uop[1]
        row["src_factor_in"] = self.rng.randint(0, slack // 2)
        slack -= 2 * row["src_factor_in"]
        row["src_factor_out"] = self.rng.randint(0, slack // max(1, row["iter_out"] - 1))
        outer = np.arange(row["iter_out"]) * row["src_factor_out"]
        return np.asarray(uop[1] + outer[:, None] + np.arange(REQUANTIZE_PARAMETERS) * row["src_factor_in"])

    def _load_table(self) -> None:
        """The whole table, or a part of it."""
        size, rows = self.hw.elem_bytes(MemoryType.TABLE), len(self.machine.table)
        start, stop = self._source(size)
        row = self._shape(rows, (stop - start) // size)
        if self.rng.random() < 0.5:
            row = {**dict.fromkeys(_PADS, 0), "x_size": rows, "y_size": 1, "x_stride": 0}
        extent = row["x_size"] + (row["y_size"] - 1) * row["x_stride"]
        if (stop - start) // size < extent:
            return
        row["sram_base"] = self.rng.randint(0, rows - _rows(row))
        row["dram_base"] = start // size + self.rng.randint(0, (stop - start) // size - extent)
        row.update(opcode=Opcode.LOAD, memory_type=MemoryType.TABLE)
        self.machine.table[row["sram_base"] : row["sram_base"] + _rows(row)] = True
        self.planner.place(row, Unit.COMPUTE, (self._dram(row, size, writes=False),))

    def _place_alu(self, row: dict[str, int]) -> None:
        row["opcode"] = Opcode.ALU
        dst = self._touched(row, "dst")
        self.machine.written[MemoryType.OUT][dst] = True
        self.planner.place(row, Unit.COMPUTE, (Access(Space.OUT, True, dst),))

    def _sweep(self, op: AluOp, imm: int, span: Span) -> bool:
        """Apply `op` with an immediate to every accumulator row of `span`; False if there is no room for the micro-op."""
        place = self._load_uops([(span[0], span[0], 0)])
        if place is None:
            return False
        row = {"uop_bgn": place[0], "uop_end": place[1], "iter_out": 1, "iter_in": span[1] - span[0]}
        factors = {"dst_factor_in": 1, "src_factor_in": 1} if span[1] - span[0] > 1 else {}
        self._place_alu({**row, **factors, "alu_opcode": op, "use_imm": 1, "imm": imm})
        return True

    def _nest(self, spans: list[Span | None], names: tuple[str, ...] = ("dst", "src", "wgt")) -> dict[str, int] | None:
        """Loops and micro-ops whose rows stay inside `spans`; None if one is missing."""
        rng = self.rng
        inside = [span for span in spans if span is not None]
        if len(inside) < len(spans):
            return None
        loops = [_skewed(rng, self.profile.loop) for _ in range(2)]
        if rng.random() < self.profile.empty_loops:
            loops[rng.randrange(2)] = 0
        row = {"iter_out": loops[0], "iter_in": loops[1]}
        bounds = []
        for name, (start, stop) in zip(("dst", "src", "wgt"), inside, strict=True):
            slack = stop - start - 1
            if name in names:
                for loop, trips in (("out", loops[0]), ("in", loops[1])):
                    largest = slack // (trips - 1) if trips > 1 else min(slack, 7)
                    factor = rng.choice((0, rng.randint(0, largest), min(1, largest)))
                    row[f"{name}_factor_{loop}"] = factor
                    slack -= factor * max(0, trips - 1)
            bounds.append((start, start + max(0, slack)))
        place = self._reused(bounds) if rng.random() < 0.4 else None
        if place is None:
            count = _skewed(rng, min(self.profile.uops, len(self.machine.uops)))
            same = rng.random() < 0.4  # every micro-op accumulates to one row
            uops = [(rng.randint(*bounds[0]), rng.randint(*bounds[1]), rng.randint(*bounds[2])) for _ in range(count)]
            place = self._load_uops([(uops[0][0], *rest) if same else (dst, *rest) for dst, *rest in uops])  # type: ignore[misc]
        if place is None:
            return None
        begin, end = place
        if rng.random() < self.profile.empty_loops:
            end = begin
        return {**row, "uop_bgn": begin, "uop_end": end}

    def _reused(self, bounds: list[Span]) -> Span | None:
        """A sequence on chip whose micro-ops lie within `bounds` (inclusive)."""
        for begin, end in self.rng.sample(self.sequences, min(4, len(self.sequences))):
            uops = [uop for uop in self.machine.uops[begin:end] if uop is not None]
            if all(low <= value <= high for uop in uops for value, (low, high) in zip(uop, bounds, strict=True)):
                return begin, end
        return None

    def _touched(self, row: dict[str, int], name: str) -> NDArray[np.int64]:
        """The distinct rows that field `name` of the micro-ops of an instruction reaches."""
        column = ("dst", "src", "wgt").index(name)
        uops = [uop[column] for uop in self.machine.uops[row["uop_bgn"] : row["uop_end"]] if uop is not None]
        outer = np.arange(row["iter_out"]) * row.get(f"{name}_factor_out", 0)
        inner = np.arange(row["iter_in"]) * row.get(f"{name}_factor_in", 0)
        cells = outer[:, None, None] + inner[:, None] + np.array(uops, dtype=np.int64)
        return np.unique(cells)

    def _store(self, span: Span | None = None) -> None:
        found = span or self.machine.span(MemoryType.OUT, self.rng)
        if found is None:
            return
        size = self.hw.elem_bytes(MemoryType.OUT)
        room = _ARENA_BYTES // size
        row = self._shape(min(found[1] - found[0], self.profile.rows), room, padded=False)
        total = row["x_size"] * row["y_size"]
        row["sram_base"] = self.rng.randint(found[0], found[1] - total)
        extent = row["x_size"] + (row["y_size"] - 1) * row["x_stride"]
        row["dram_base"] = self.layout.arena // size + self.rng.randint(0, room - extent)
        row.update(opcode=Opcode.STORE, memory_type=MemoryType.OUT)
        target = self._dram(row, size, writes=True)
        self.machine.stored[target.cells - self.layout.arena // CELL_BYTES] = True
        rows = np.arange(row["sram_base"], row["sram_base"] + total)
        self.planner.place(row, Unit.STORE, (Access(Space.OUT, False, rows), target))

    def _stores(self) -> None:
        """One store, or many in a row, so that several are under way at once."""
        for _ in range(self.rng.choice((1, 1, 1, 3, 12))):
            self._store()

    def _empty(self) -> None:
        """An instruction that does nothing, with arbitrary values where it has no use for them."""
        unit = self.rng.choice(tuple(Unit))
        row = carrier(unit)
        row.update(sram_base=self.rng.randrange(65536), dram_base=self.rng.randrange(1 << 20), x_stride=self.rng.randrange(65536))
        row["y_size"] = self.rng.choice((0, 1, 65535))
        if self.rng.random() < 0.3:
            row.update(x_size=self.rng.randint(1, 9), y_size=0, sram_base=0, dram_base=0)
        if row["opcode"] == Opcode.LOAD:
            kinds = (
                (MemoryType.INP, MemoryType.WGT) if unit is Unit.LOAD else (MemoryType.UOP, MemoryType.ACC, MemoryType.ACC_8BIT)
            )
            row["memory_type"] = self.rng.choice(kinds)
        self.planner.place(row, unit)

    def _show_accumulators(self) -> None:
        """Store every byte of a few accumulator rows, so that differences there are seen."""
        for _ in range(2):
            span = self.machine.span(MemoryType.ACC, self.rng)
            if span is None:
                return
            span = (span[0], min(span[1], span[0] + self.profile.rows))
            for plane in range(self.hw.acc_bits // 8):
                self._sweep(AluOp.SHR, 8 if plane else 0, span)
                if self.machine.written[MemoryType.OUT][span[0] : span[1]].all():
                    self._store(span)


def _rows(row: dict[str, int]) -> int:
    """SRAM rows that a load writes."""
    return (row["x_pad_0"] + row["x_size"] + row["x_pad_1"]) * (row["y_pad_0"] + row["y_size"] + row["y_pad_1"])


def _skewed(rng: Random, largest: int) -> int:
    """1 to `largest`, mostly small."""
    return max(1, min(largest, rng.choice((1, 2, 3, rng.randint(1, 8), rng.randint(1, max(1, largest))))))


def _random_bytes(rng: Random, count: int) -> NDArray[np.uint8]:
    """Bytes of which a quarter are extreme."""
    values = np.frombuffer(rng.randbytes(count), dtype=np.uint8).copy()
    extremes = np.frombuffer(rng.randbytes(count), dtype=np.uint8)
    return np.where(extremes < 64, np.array([0, 127, 128, 255], np.uint8)[extremes % 4], values)
