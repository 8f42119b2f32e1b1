"""Programs written by hand, one stream at a time, with their data."""

import numpy as np

from tests.engines import missing_for_opencl, open_engine
from vta.codegen.assemble import assemble
from vta.codegen.stream import Segment, Stream
from vta.config.hardware import HardwareConfig
from vta.config.targets import MemoryType
from vta.devices.device import RunOptions
from vta.isa.program import PAGE_BYTES, Symbol, SymbolKind
from vta.isa.verify import require_verified


class Kernel:
    """A stream under construction with its inputs and its one output."""

    def __init__(self, hw: HardwareConfig) -> None:
        self.hw = hw
        self.stream = Stream(hw)
        self._symbols = []
        self._data = {}
        self._bytes = 0

    @property
    def row(self):
        """Shape of one input, output or accumulator row."""
        return self.hw.batch, self.hw.block

    def load(self, memory, array, sram=0, **layout):
        """Load all of `array`, or what `layout` (x_size, y_size, x_stride, pads) says; it is an input, or constant for ACC."""
        scalar = np.dtype(f"<i{self.hw.acc_bits // 8}" if memory is MemoryType.ACC else np.int8)
        data = np.ascontiguousarray(array, scalar)
        layout = layout or {"x_size": data.nbytes // self.hw.elem_bytes(memory)}
        if memory is MemoryType.ACC:
            self.stream.load(memory, sram, Segment.CONSTANTS, self.stream.add_constant(data, memory), **layout)
            return
        name = f"input{len(self._data)}"
        self._data[name] = data
        self.stream.load(memory, sram, Segment.ARENA, self._place(name, SymbolKind.INPUT, memory, data.nbytes), **layout)

    def output(self, rows):
        """Make room for the output, `rows` output rows; returns its first element."""
        return self._place("output", SymbolKind.OUTPUT, MemoryType.OUT, rows * self.hw.elem_bytes(MemoryType.OUT))

    def store(self, rows, sram=0):
        """Store `rows` rows as the output."""
        self.stream.store(sram, self.output(rows), rows, 1, rows)

    def program(self, serial=False):
        return assemble(self.stream, self._symbols, self._bytes // self.hw.elem_bytes(MemoryType.OUT), serial=serial).program

    def run(self, engine=None):
        """The output rows as int8, (rows, BATCH, BLOCK): the same in program order, at random and one unit at a time.

        On `engine`, or on the simulator and in OpenCL where that is installed.
        """
        results = []
        for name in (engine,) if engine else self._engines():
            results += [self._run(self.program(), name, seed) for seed in (None, 1, 2)]
            results.append(self._run(self.program(serial=True), name, 3))
        for other in results[1:]:
            np.testing.assert_array_equal(other, results[0])
        return results[0]

    def _engines(self):
        """The OpenCL kernel has none of the optional units."""
        options = self.hw.requantize_unit or self.hw.table_unit or self.hw.depthwise_unit
        return ("sim",) if options or missing_for_opencl() else ("sim", "opencl")

    def _run(self, program, engine, seed):
        require_verified(program)
        device = open_engine(engine, self.hw)
        base = device.allocate(program.image_bytes)
        device.write(base, program.image)
        for name, array in self._data.items():
            device.write(base + program.symbol(name).offset, array.view(np.uint8).reshape(-1))
        result = device.run(program.encoded(base), RunOptions(seed=seed))
        assert result.tokens.total == 0
        output = program.symbol("output")
        return device.read(base + output.offset, output.nbytes).view(np.int8).reshape(-1, *self.row)

    def _place(self, name, kind, memory, nbytes):
        """Make room in the arena; returns the index of the first element of `memory` there."""
        offset = self._bytes
        self._symbols.append(Symbol(name, kind, offset, nbytes))
        self._bytes += -(-nbytes // PAGE_BYTES) * PAGE_BYTES
        return offset // self.hw.elem_bytes(memory)
