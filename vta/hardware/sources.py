"""What Verilog is generated from."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

__all__ = ["hardware_digest"]


@cache
def hardware_digest() -> str:
    """A digest of everything that the Verilog is generated from, as it was when this process first asked."""
    package = Path(__file__).resolve().parents[1]
    given = {"config": ("hardware", "targets", "timing"), "isa": ("encoding", "instruction")}
    files = [
        *sorted((package / "hardware").rglob("*.py")),
        *sorted((package / "hardware").rglob("*.v")),
        *(package / folder / f"{name}.py" for folder, names in given.items() for name in names),
    ]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
