"""The command `vta-run` of an installed package: the runtime in the C++ core, for this machine."""

from __future__ import annotations

import signal
import sys

from vta.errors import DeviceError

__all__ = ["main"]


def main() -> int:
    """Run the command line of this process and return its exit status."""
    try:
        from vta.native import ffi, lib
    except DeviceError as error:
        print(f"vta-run: error: {error}", file=sys.stderr)
        return 1
    # The core does not look at signals; without Python's handler one ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    arguments = [ffi.new("char[]", item.encode("utf-8", "surrogateescape")) for item in ("vta-run", *sys.argv[1:])]
    return int(lib.vta_runtime_main(len(arguments), ffi.new("char *[]", arguments)))


if __name__ == "__main__":
    sys.exit(main())
