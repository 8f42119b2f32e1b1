"""Devices on other machines: trackers, servers, and clients that lease a device and run `.vta` files there.

Needs the packages of the extra `rpc`: ``pip install 'vta[rpc]'``.
"""

import os

from vta.errors import RemoteError

# gRPC writes what it meets to standard error; our errors say it in one line.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

try:
    import google.protobuf  # noqa: F401
    import grpc  # noqa: F401
except ImportError as error:
    raise RemoteError(f"remote devices need the package {error.name}: pip install 'vta[rpc]'") from None
