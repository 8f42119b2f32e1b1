"""``python -m vta``: the command line, where the script `vta` is not on the path."""

from __future__ import annotations

import sys

from vta.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
