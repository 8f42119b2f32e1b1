"""A gRPC port of an event loop."""

from __future__ import annotations

import errno
import socket
from typing import Any

import grpc

from vta.errors import RemoteError
from vta.rpc.wire.address import Address
from vta.rpc.wire.security import Security, check_allowed, server_credentials
from vta.rpc.wire.service import SERVER_OPTIONS

__all__ = ["Listener"]


class Listener:
    """Answers calls at an address from `start` to `stop`."""

    def __init__(self, address: Address, security: Security, handler: Any) -> None:
        """Raises `UsageError` if other machines reach `address` and nothing protects it. Port 0 takes any free one."""
        check_allowed(address.host, security)
        self.address = address
        self._security = security
        self._handler = handler
        self._server: Any = None

    async def start(self) -> None:
        """Listen; `address` is then the real one. Raises `RemoteError` if the port is taken, or the certificates are no good."""
        server = grpc.aio.server(handlers=[self._handler], options=SERVER_OPTIONS)
        credentials = server_credentials(self._security)
        try:
            if credentials is None:
                port = server.add_insecure_port(str(self.address))
            else:
                port = server.add_secure_port(str(self.address), credentials)
        except RuntimeError:
            port = 0
        if port == 0:
            raise RemoteError(f"cannot listen on {self.address}: {_why_not(self.address)}")
        self.address = Address(self.address.host, port)
        self._server = server
        await server.start()

    async def stop(self) -> None:
        """End all calls, and listen no more."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.stop(None)


def _why_not(address: Address) -> str:
    """What the system has against listening at `address`: gRPC does not say."""
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            trial.bind(where)
            trial.listen()
    except socket.gaierror:
        return f"there is no host {address.host!r}"
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return "taken"
        if error.errno == errno.EADDRNOTAVAIL:
            return "not an address of this machine"
        return error.strerror or str(error)
    return "taken a moment ago, or gRPC does not take the certificates"
