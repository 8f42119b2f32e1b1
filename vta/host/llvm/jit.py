"""Compiled programs, ready to call in this process."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.host.llvm.binding import llvm
from vta.host.llvm.module import llvm_module
from vta.host.llvm.target import host_target
from vta.host.loop.buffer import Buffer
from vta.host.loop.nest import Program, stores_of
from vta.host.processors import CpuTarget
from vta.support.without_collection import without_collection

__all__ = ["CompiledProgram", "PreparedCall", "address", "aligned_empty", "compile_object", "compile_program"]

Array = NDArray[Any]

_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_ALIGNMENT = 64
_RUNS_OF_CODE = 100
"""Times that a store runs on the average, below which there is more to do for LLVM than to run."""


def compile_object(program: Program, target: CpuTarget) -> bytes:
    """Return an object file with the program's functions for a processor."""
    machine = _machine(target)
    with without_collection():
        text = str(llvm_module(program, target))
    module = llvm.parse_assembly(text)
    module.data_layout = str(machine.target_data)  # without it pointers have 64 bits
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)  # the third level takes twice as long, and gains nothing here
    options.loop_vectorization = True
    options.slp_vectorization = False
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    passes = _few_passes() if _is_mostly_code(program) else builder.getModulePassManager()
    passes.run(module, builder)
    return bytes(machine.emit_object(module))


def _is_mostly_code(program: Program) -> bool:
    """Whether a program has much code for how often it runs, as a softmax of a row: loops over it are not worth LLVM's time."""
    found = [stores_of(function.body) for function in program.functions]
    return sum(runs for _, runs in found) < _RUNS_OF_CODE * sum(stores for stores, _ in found)


def _few_passes() -> llvm.ModulePassManager:
    """Passes that take a tenth of the time: what LLVM looks at loops for is left out."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    passes.add_loop_rotate_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


@cache
def _machine(target: CpuTarget) -> llvm.TargetMachine:
    """What LLVM knows of a processor, which takes as long to find out as some kernels to compile."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="default"
    )


class CompiledProgram:
    """A program in this process's memory. Calls are independent of each other: each brings its own buffers."""

    def __init__(self, program: Program, code: bytes) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self.program = program
        self._jit = llvm.create_lljit_compiler()
        symbols = [program.symbol(function) for function in program.functions]
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for symbol in symbols:
            builder = builder.export_symbol(symbol)
        digest = hashlib.sha256(code).hexdigest()[:16]
        self._library = builder.link(self._jit, f"{program.name}-{digest}")
        self._calls = [
            (_SIGNATURE(self._library[symbol]), function.shared_extent)
            for symbol, function in zip(symbols, program.functions, strict=True)
        ]

    def run(self, inputs: Sequence[Array]) -> Array:
        """Return the output for inputs of the declared shapes and types."""
        return self.prepared(inputs).run()

    def prepared(self, inputs: Sequence[Array]) -> PreparedCall:
        """A call for some inputs, with memory of its own, that can be made again and again."""
        given = [np.ascontiguousarray(array) for array in inputs]
        made = [aligned_empty(buffer) for buffer in (*self.program.workspace, self.program.output)]
        return PreparedCall(self, self._calls, (*given, *made))


class PreparedCall:
    """A program with the memory that it works on."""

    def __init__(self, program: CompiledProgram, calls: Sequence[tuple[Any, int]], arrays: Sequence[Array]) -> None:
        self._program = program
        self._calls = calls
        self._arrays = arrays
        self._table = (ctypes.c_void_p * len(arrays))(*map(address, arrays))

    def run(self) -> Array:
        """Compute the output, which stays the same array."""
        place = ctypes.addressof(self._table)
        for function, extent in self._calls:
            function(place, 0, extent)
        return self._arrays[-1]


def address(array: Array) -> int:
    """Where an array's elements begin."""
    return int(array.__array_interface__["data"][0])


def aligned_empty(buffer: Buffer) -> Array:
    """A new array for a buffer, at an address that vectors like."""
    memory = np.empty(buffer.nbytes + _ALIGNMENT, np.uint8)
    start = -address(memory) % _ALIGNMENT
    return memory[start : start + buffer.nbytes].view(buffer.dtype).reshape(buffer.shape)


def compile_program(program: Program, target: CpuTarget | None = None) -> CompiledProgram:
    """Compile a program for the processor that this runs on."""
    return CompiledProgram(program, compile_object(program, target or host_target()))
