"""Energy and area as a table."""

from __future__ import annotations

from vta.schedule.energy import Parts
from vta.support.table import Table, make_table

__all__ = ["energy_table"]


def energy_table(energy: Parts, area: Parts) -> Table:
    """Show energy in uJ, area in mm2, and their shares of the total."""
    rows = []
    for name in energy:
        shares = (_text(parts, name) for parts in (energy, area))
        rows.append((name, *(text for pair in shares for text in pair)))
    return make_table(("part", "energy, uJ", "share", "area, mm2", "share"), rows)


def _text(parts: Parts, name: str) -> tuple[str, str]:
    """In millions, and in percent of the total."""
    if name not in parts:
        return "", ""
    return f"{parts[name] * 1e-6:,.3f}", f"{parts[name] / parts['total']:.1%}" if parts["total"] else ""
