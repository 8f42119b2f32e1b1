"""How Yosys is told to map a core, or a system around one, to the cells of an ECP5."""

from __future__ import annotations

__all__ = ["mapping_steps"]

_FREE_OF_COLLISIONS = ("inp_memory", "wgt_memory", "uop_memory", "accumulator.memory")
"""Memories in which no row that counts is read in the cycle in which it is written.

Tokens keep loads and micro-ops on the same rows of inputs and weights apart, micro-ops are loaded when the pipeline is empty, and
the accumulator has what was written meanwhile in registers. The block memories of an ECP5 give nothing certain in such a cycle;
without this, Yosys writes a cycle later, and chooses between memory and register for each bit that is read.
"""


def mapping_steps(top: str, *, flatten: bool = True) -> tuple[str, ...]:
    """Return the steps of a script that has read the Verilog of the module `top`.

    Its modules become one, or are mapped each by itself.
    """
    free = " ".join(f"*.{name}/m:*" for name in _FREE_OF_COLLISIONS)
    apart = "" if flatten else " -noflatten"
    return (f"setattr -set no_rw_check 1 {free}", f"synth_ecp5{apart} -top {top}")
