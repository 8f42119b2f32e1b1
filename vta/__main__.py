"""``python -m vta``: the command line, where the script `vta` is not on the path."""

from __future__ import annotations

from vta.cli.script import script

if __name__ == "__main__":
    script()
