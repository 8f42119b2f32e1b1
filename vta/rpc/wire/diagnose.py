"""Why an address does not answer: gRPC knows only that it does not."""

from __future__ import annotations

import contextlib
import socket
import ssl
from pathlib import Path

from vta.errors import RemoteError
from vta.rpc.wire.address import Address
from vta.rpc.wire.reaching import REACH_SECONDS, in_words
from vta.rpc.wire.security import CLIENT, Security, certificate_files

__all__ = ["diagnose"]

_HANDSHAKE_ROUNDS = 4


def diagnose(address: Address, security: Security) -> str:
    """What happens when one connects to `address`, in a few words."""
    try:
        with socket.create_connection((address.host, address.port), timeout=REACH_SECONDS) as connection:
            if security.certificates is None:
                return "something listens there, but does not answer as it should; does it want certificates?"
            return _try_tls(connection, address, security)
    except OSError as error:
        return in_words(error, address, REACH_SECONDS)


def _try_tls(connection: socket.socket, address: Address, security: Security) -> str:
    assert security.certificates is not None, "called with certificates only"
    authority, certificate, key = certificate_files(security.certificates, CLIENT)
    try:
        context = ssl.create_default_context(cafile=str(authority))
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise RemoteError(f"{security.certificates}: no usable certificates: {error}") from None
    context.set_alpn_protocols(["h2"])
    try:
        with context.wrap_socket(connection, server_hostname=address.host) as stream:
            # A server that refuses the client's certificate goes after the handshake.
            refused = not stream.recv(1)
    except ssl.SSLCertVerificationError as error:
        return f"its certificate is not good: {error.verify_message}"
    except ssl.SSLError as error:
        return f"it refuses the connection: {(error.reason or str(error)).replace('_', ' ').lower()}"
    except TimeoutError:
        return "it does not answer"
    problem = _own_problem(security.certificates) if refused else ""
    if problem:
        return f"it does not take {certificate}: {problem}"
    return f"it {'ends' if refused else 'accepts'} connections, but does not answer as it should"


def _own_problem(directory: Path) -> str:
    """What a server that trusts the same authority has against the client's certificate; empty if nothing.

    Servers do not tell, so this plays both sides of a handshake.
    """
    authority, certificate, key = certificate_files(directory, CLIENT)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_verify_locations(authority)
    server.verify_mode = ssl.CERT_REQUIRED
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    for context in (server, client):
        context.load_cert_chain(certificate, key)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True)]
    try:
        for _ in range(_HANDSHAKE_ROUNDS):
            for side in sides:
                with contextlib.suppress(ssl.SSLWantReadError):
                    side.do_handshake()
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    except ssl.SSLError as error:
        return error.reason or str(error)
    return ""
