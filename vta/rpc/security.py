"""Who may talk to whom: loopback without, everything else with mutual TLS unless told otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc

from vta.errors import RemoteError, UsageError
from vta.rpc.address import is_loopback

__all__ = ["AUTHORITY_FILE", "CLIENT", "SERVER", "Security", "certificate_files", "check_allowed"]

AUTHORITY_FILE = "ca.pem"
SERVER = "server"
CLIENT = "client"


@dataclass(frozen=True)
class Security:
    """How connections are protected."""

    certificates: Path | None = None
    """Directory that ``vta rpc certs`` made: mutual TLS."""
    insecure: bool = False
    """Talk to other machines without protection."""


def certificate_files(directory: Path, role: str) -> tuple[Path, Path, Path]:
    """The files of `role` (server or client): authority, certificate and key."""
    return directory / AUTHORITY_FILE, directory / f"{role}.pem", directory / f"{role}.key"


def check_allowed(host: str, security: Security) -> None:
    """Raise `UsageError` if `host` is another machine, or reachable from one, and nothing protects the connection."""
    if security.certificates is None and not security.insecure and not is_loopback(host):
        raise UsageError(f"{host or 'all interfaces'} is not loopback: give --certs DIR (see 'vta rpc certs'), or --insecure")


def server_credentials(security: Security) -> Any:
    """gRPC credentials of a listening port; None for a plain one. Raises `RemoteError` naming a missing file."""
    if security.certificates is None:
        return None
    authority, certificate, key = _read(security.certificates, SERVER)
    return grpc.ssl_server_credentials([(key, certificate)], authority, require_client_auth=True)


def channel_credentials(security: Security) -> Any:
    """gRPC credentials of a client; None for a plain connection. Raises `RemoteError` naming a missing file."""
    if security.certificates is None:
        return None
    authority, certificate, key = _read(security.certificates, CLIENT)
    return grpc.ssl_channel_credentials(authority, key, certificate)


def _read(directory: Path, role: str) -> list[bytes]:
    try:
        return [path.read_bytes() for path in certificate_files(directory, role)]
    except OSError as error:
        raise RemoteError(f"{error.filename}: {error.strerror}; 'vta rpc certs {directory}' makes certificates") from None
