"""What runs cost, in words."""

from __future__ import annotations

__all__ = ["cost_text"]


def cost_text(cycles: int | None, device_runs: int, seconds: float) -> str:
    """Clock cycles, where a device counts them, device runs, and seconds of wall time."""
    counted = "" if cycles is None else f"{cycles:,} cycles in "
    return f"{counted}{device_runs:,} device run{'s' if device_runs != 1 else ''}, {seconds:.3f} s"
