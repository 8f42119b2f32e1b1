"""Which unit of the core a module belongs to."""

from __future__ import annotations

__all__ = ["REST", "TABLES", "TOP", "UNITS", "unit_of"]

TOP = "vta"
_PARTS = {
    "compute.gemm": "gemm",
    "compute.alu_": "alu",
    "compute.accumulator": "acc memory",
    "compute.uop_memory": "uop memory",
    "compute.table_memory": "table memory",
    "compute.": "compute",
    "compute_": "control",
    "compute": "compute",
    "inp_memory": "inp memory",
    "wgt_memory": "wgt memory",
    "out_memory": "out memory",
    "fetch_": "control",
    "fetch": "fetch",
    "load_": "control",
    "load": "load",
    "store_": "control",
    "store": "store",
    "read_port": "read port",
}
"""Units by the beginning of the names of their modules; longer ones first."""
TABLES = "table memory"
"""Only where the core has a table unit."""
REST = "control"
"""Registers, counters, token queues, and what lies in the top itself."""
UNITS = tuple(dict.fromkeys([*_PARTS.values(), REST]))
"""In the order in which they are listed."""


def unit_of(module: str) -> str:
    """The unit of the module of that name, as Verilog or Yosys write it."""
    name = module.removeprefix("\\")
    return next((unit for prefix, unit in _PARTS.items() if name.startswith(f"{TOP}.{prefix}")), REST)
