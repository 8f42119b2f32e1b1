"""Which rows of SRAM the instructions of a program touch."""

import numpy as np

from vta.config.targets import MemoryType
from vta.isa import Opcode, decode_uops


class TouchedRows:
    """The rows up to the last one that is written or read, by memory: INP, WGT and ACC."""

    def __init__(self, program):
        self._hw = program.hw
        self._image = program.image
        self._uops = np.zeros(program.hw.uop_depth, np.uint32)
        self.rows = dict.fromkeys((MemoryType.INP, MemoryType.WGT, MemoryType.ACC), 0)
        for instruction in program.instructions:
            opcode = Opcode(int(instruction["opcode"]))
            if opcode is Opcode.LOAD and instruction["x_size"]:
                self._load({name: int(instruction[name]) for name in instruction.dtype.names})
            elif opcode in (Opcode.GEMM, Opcode.ALU):
                self._compute({name: int(instruction[name]) for name in instruction.dtype.names}, opcode)

    def _load(self, fields):
        memory = MemoryType(fields["memory_type"])
        height = fields["y_pad_0"] + fields["y_size"] + fields["y_pad_1"]
        end = fields["sram_base"] + height * (fields["x_pad_0"] + fields["x_size"] + fields["x_pad_1"])
        if memory is MemoryType.UOP:
            words = self._image.view("<u4")[fields["dram_base"] : fields["dram_base"] + fields["x_size"]]
            self._uops[fields["sram_base"] : end] = words
        else:
            self.rows[memory] = max(self.rows[memory], end)

    def _compute(self, fields, opcode):
        uops = decode_uops(self._uops[fields["uop_bgn"] : fields["uop_end"]], self._hw)
        touched = {"dst": MemoryType.ACC}
        if opcode is Opcode.ALU and not fields["use_imm"]:
            touched["src"] = MemoryType.ACC
        elif opcode is Opcode.GEMM and not fields["reset"]:
            touched |= {"src": MemoryType.INP, "wgt": MemoryType.WGT}
        for name, memory in touched.items():
            reach = sum(fields[f"{name}_factor_{loop}"] * (fields[f"iter_{loop}"] - 1) for loop in ("out", "in"))
            self.rows[memory] = max(self.rows[memory], int(uops[name].max()) + reach + 1)
