"""What the compiler hands to the run time: the program of each region and where its tensors lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vta.ir.graph import Node
from vta.isa.program import Program
from vta.support.dataclass import dataclass

if TYPE_CHECKING:
    from vta.codegen.packed_constant import PackedConstant

__all__ = ["HOST", "MOVE_SUFFIX", "VTA", "OperatorRecord", "Placement", "RegionProgram", "TensorBinding"]

VTA, HOST = "vta", "host"
"""Where operators run."""

MOVE_SUFFIX = " (move)"
"""Ends the name under which a program counts products of an operator that only bring a tensor into the accumulator."""


@dataclass(frozen=True)
class TensorBinding:
    """A graph value in the DRAM image of a region, packed as (N/b, C/c, H, W, b, c)."""

    node: Node
    """The value; its type gives the logical shape, (N, C, H, W) or (N, C)."""
    symbol: str
    """Name of the program symbol that holds it."""
    planes: int = 1
    """1 for int8; 4 for int32, stored as byte planes, lowest first."""


@dataclass(frozen=True)
class OperatorRecord:
    """One VTA operator of a region, in program order."""

    name: str
    """Its entry in `Program.operators`."""
    kind: str
    """Template: ``conv2d``, ``dense``, ``max_pool2d``, ..."""
    macs: int
    """Multiply-accumulates that the network needs here, without padding."""
    output: TensorBinding
    end: int
    """Instructions [0, end) of the program, run in order, complete the output."""


@dataclass(frozen=True, repr=False)
class RegionProgram:
    """A region of the graph compiled to one program."""

    name: str
    program: Program
    inputs: tuple[TensorBinding, ...]
    outputs: tuple[TensorBinding, ...]
    operators: tuple[OperatorRecord, ...]
    packed: tuple[PackedConstant, ...] = ()
    """Large constants of the graph that the program's image holds."""

    @property
    def held_constants(self) -> tuple[PackedConstant, ...]:
        """Those of `packed` that the image holds as it is now: another one than they were found in may have other values."""
        return tuple(constant for constant in self.packed if constant.image is self.program.image)

    def __repr__(self) -> str:
        size = f"{len(self.operators)} operators, {len(self.program.instructions):,} instructions"
        return f"RegionProgram {self.name!r}: {size}, {self.program.image_bytes:,} bytes"


@dataclass(frozen=True)
class Placement:
    """Where one operator of the graph runs, and why."""

    layer: str
    op: str
    where: str
    """`VTA` or `HOST`."""
    reason: str
    """Why it runs on the host, or the VTA operator that it is part of."""
    rule: str = ""
    """Identity of the rule that keeps it on the host; "" on VTA, and in files from before rules were kept."""
    value: str = ""
    """What was found there that the rule does not allow, where it has one."""
