"""The clocks of a placed design, for the router: told by the ports' frequencies, which the placed netlist no longer has."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["clock_constraints"]

_PORT = re.compile(r"constraining clock net '(\S+)' to ([0-9.]+) MHz")
_DERIVED = re.compile(r"Derived frequency constraint of ([0-9.]+) MHz for net (\S+)")
_BUFFERED = "$TRELLIS_IO_IN"
"""What is added to the name of a port for the net behind its buffer."""
_GLOBAL = "$glbnet$"
"""What the name of a net begins with that was made a global one."""


def clock_constraints(log: str) -> str:
    """Constraints in LPF for the nets whose frequencies the `log` of placing tells; names that no net has are harmless."""
    return "".join(f'FREQUENCY NET "{net}" {mhz} MHZ;\n' for net, mhz in dict(_clocks(log)).items())


def _clocks(log: str) -> Iterator[tuple[str, str]]:
    found = [(f"{port}{_BUFFERED}", mhz) for port, mhz in _PORT.findall(log)]
    for net, mhz in [*found, *((net, mhz) for mhz, net in _DERIVED.findall(log))]:
        yield net, mhz
        yield f"{_GLOBAL}{net}", mhz
