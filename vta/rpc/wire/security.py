"""Who may talk to whom: loopback without, everything else with mutual TLS unless told otherwise."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import grpc

from vta.errors import RemoteError, UsageError
from vta.files.user_file import read_bytes
from vta.rpc.wire.address import is_loopback
from vta.support.dataclass import dataclass

__all__ = ["AUTHORITY_FILE", "CLIENT", "SERVER", "Security", "certificate_files", "check_allowed"]

AUTHORITY_FILE = "ca.pem"
SERVER = "server"
CLIENT = "client"
_MOST_BYTES = 1 << 20


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
        text = f"{host or 'all interfaces'} is not loopback: give certificates ('vta rpc certs' makes them), or allow insecure"
        raise UsageError(text, parameters=("certificates", "insecure"))


def server_credentials(security: Security) -> Any:
    """gRPC credentials of a listening port; None for a plain one. Raises `RemoteError` naming a file that is no good."""
    if security.certificates is None:
        return None
    authority, certificate, key = _read(security.certificates, SERVER)
    return grpc.ssl_server_credentials([(key, certificate)], authority, require_client_auth=True)


def channel_credentials(security: Security) -> Any:
    """gRPC credentials of a client; None for a plain connection. Raises like `server_credentials`."""
    if security.certificates is None:
        return None
    authority, certificate, key = _read(security.certificates, CLIENT)
    return grpc.ssl_channel_credentials(authority, key, certificate)


def _read(directory: Path, role: str) -> list[bytes]:
    files = certificate_files(directory, role)
    try:
        contents = [read_bytes(path, RemoteError, _MOST_BYTES) for path in files]
    except RemoteError as error:
        raise RemoteError(f"{error}; 'vta rpc certs {directory}' makes certificates") from None
    _check_certificates(*files)
    return contents


def _check_certificates(authority: Path, certificate: Path, key: Path) -> None:
    """Raise `RemoteError` naming the file that is no certificate or key, or does not go with the other: gRPC does not say."""
    for path in (authority, certificate):
        if not _is_certificate(path):
            raise _no_good(path, "certificate")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority)
    if not context.cert_store_stats()["x509_ca"]:
        raise RemoteError(f"{authority}: not the certificate of an authority; 'vta rpc certs' makes certificates")
    try:
        context.load_cert_chain(certificate, key, password=_no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise RemoteError(f"{key}: the key of another certificate than {certificate}") from None
        raise _no_good(key, "key without a password") from None
    except (OSError, ValueError):
        raise _no_good(key, "key without a password") from None


def _is_certificate(path: Path) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except (OSError, ValueError):
        return False
    return True


def _no_password() -> str:
    """In place of asking whoever sits at the terminal."""
    return ""


def _no_good(path: Path, what: str) -> RemoteError:
    return RemoteError(f"{path}: no {what} in PEM format; 'vta rpc certs' makes certificates")
