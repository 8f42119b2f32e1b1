"""Makes a small certificate authority, and certificates for servers (trackers, too) and clients."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vta.errors import RemoteError, UsageError
from vta.files.atomic_file import write_together
from vta.rpc.wire.security import AUTHORITY_FILE, CLIENT, SERVER, certificate_files

if TYPE_CHECKING:
    from cryptography import x509

__all__ = ["write_certificates"]

_CLOCK_SKEW = datetime.timedelta(minutes=5)
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


def write_certificates(
    directory: Path, hosts: Sequence[str] = (), days: float = 365, start: datetime.datetime | None = None
) -> list[Path]:
    """Write an authority, a server's and a client's certificate with their keys; returns the files.

    The server's certificate is good for `hosts` and for loopback. All are valid for `days` from `start` (default: now). The
    authority's key is not kept: new certificates are a new authority. Raises `UsageError` if `directory` has some already,
    and `RemoteError` if the package cryptography is missing.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError:
        raise RemoteError("making certificates needs the package cryptography: pip install 'vta[certs]'") from None
    files = [*certificate_files(directory, SERVER), *certificate_files(directory, CLIENT)[1:]]
    for path in files:
        if path.exists():
            raise UsageError(f"{path} exists; certificates are not overwritten")
    begin = (start or datetime.datetime.now(datetime.timezone.utc)) - _CLOCK_SKEW
    end = begin + _CLOCK_SKEW + datetime.timedelta(days=days)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate("vta authority", authority_key.public_key(), authority_key, (begin, end))
    contents = {AUTHORITY_FILE: _pem(authority)}
    for role in (SERVER, CLIENT):
        key = ec.generate_private_key(ec.SECP256R1())
        names = (*LOOPBACK_HOSTS, *hosts) if role == SERVER else ()
        certificate = _certificate(f"vta {role}", key.public_key(), authority_key, (begin, end), role, names)
        _, certificate_path, key_path = certificate_files(directory, role)
        contents |= {certificate_path.name: _pem(certificate), key_path.name: _private_pem(key)}
    write_together(directory, contents, private=[path.name for path in files if path.suffix == ".key"])
    return files


def _certificate(
    name: str,
    public_key: Any,
    issuer_key: Any,
    validity: tuple[datetime.datetime, datetime.datetime],
    role: str = "",
    hosts: Sequence[str] = (),
) -> x509.Certificate:
    """A certificate of the authority; for itself without a role."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID

    issuer_id = x509.SubjectKeyIdentifier.from_public_key(issuer_key.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name("vta authority"))
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(validity[0])
        .not_valid_after(validity[1])
        .add_extension(x509.BasicConstraints(ca=not role, path_length=None if role else 0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(_key_usage(role), critical=True)
    )
    if role:
        usage = ExtendedKeyUsageOID.SERVER_AUTH if role == SERVER else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(issuer_id)
        builder = builder.add_extension(identifier, critical=False)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _key_usage(role: str) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=bool(role),
        key_cert_sign=not role,
        crl_sign=not role,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _name(text: str) -> x509.Name:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _host(text: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _private_pem(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    data: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return data
