"""Certificates: who may connect, and what those are told who may not."""

import datetime
import stat

import pytest

pytest.importorskip("cryptography")

from tests.integer_graphs import BASELINE
from tests.rpc.support import FAST, LOCAL
from vta.errors import RemoteError, UsageError
from vta.rpc.address import Address
from vta.rpc.certificates import write_certificates
from vta.rpc.client import connect, lease, query
from vta.rpc.security import Security
from vta.rpc.server import DeviceServer
from vta.rpc.tracker import Tracker
from vta.runtime.open_device import DeviceSpec

PAST = datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    directory = tmp_path_factory.mktemp("good")
    write_certificates(directory)
    return Security(directory)


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Certificates of another authority."""
    directory = tmp_path_factory.mktemp("others")
    write_certificates(directory)
    return Security(directory)


@pytest.fixture(scope="module")
def expired(tmp_path_factory):
    directory = tmp_path_factory.mktemp("expired")
    write_certificates(directory, days=30, start=PAST)
    return Security(directory)


def mixed(directory, server, client):
    """The authority and client of one directory, the server of another."""
    for name in ("ca.pem", "client.pem", "client.key"):
        (directory / name).write_bytes((client.certificates / name).read_bytes())
    for name in ("server.pem", "server.key"):
        (directory / name).write_bytes((server.certificates / name).read_bytes())
    return Security(directory)


@pytest.fixture
def secure_tracker(background, good):
    return background.start(lambda: Tracker(LOCAL, good, FAST))


def test_a_lease_with_certificates(background, secure_tracker, good, devices, artifact, sample):
    spec = DeviceSpec("sim", 1 << 22)
    background.start(lambda: DeviceServer(LOCAL, BASELINE, spec, secure_tracker.address, "sim", good, FAST))
    with lease(secure_tracker.address, "sim", security=good, limits=FAST) as session, session.load(artifact) as module:
        module.run(sample)
        assert session.peer.security == good


def test_who_has_no_certificates_is_told(secure_tracker):
    with pytest.raises(RemoteError, match=r"does it want certificates \(--certs\)\?"):
        query(secure_tracker.address)


def test_who_wants_certificates_of_a_plain_tracker_is_told(tracker, good):
    with pytest.raises(RemoteError, match="cannot be reached while asking for the queue: it refuses the connection: "):
        query(tracker.address, good)


def test_certificates_of_another_authority(secure_tracker, others):
    with pytest.raises(RemoteError, match="its certificate is not good: unable to get local issuer certificate"):
        query(secure_tracker.address, others)


def test_an_expired_certificate_of_the_server(background, expired, tmp_path):
    tracker = background.start(lambda: Tracker(LOCAL, expired, FAST))
    with pytest.raises(RemoteError, match="its certificate is not good: certificate has expired"):
        query(tracker.address, expired)


def test_an_expired_certificate_of_the_client(background, good, tmp_path):
    from vta.rpc.security import certificate_files

    # One authority, whose client's certificate has run out.
    directory = tmp_path / "half"
    directory.mkdir()
    write_half_expired(directory)
    tracker = background.start(lambda: Tracker(LOCAL, Security(directory), FAST))
    assert certificate_files(directory, "client")[1].exists()
    with pytest.raises(RemoteError, match=r"it does not take .*client\.pem: certificate has expired"):
        query(tracker.address, Security(directory))


def write_half_expired(directory):
    """An authority and a server that are good, and a client that is not any more."""
    from cryptography.hazmat.primitives.asymmetric import ec

    from vta.rpc import certificates

    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority = certificates._certificate("vta authority", authority_key.public_key(), authority_key, (now - 9 * day, now + day))
    (directory / "ca.pem").write_bytes(certificates._pem(authority))
    for role, end, names in (("server", now + day, ("127.0.0.1",)), ("client", now - day, ())):
        key = ec.generate_private_key(ec.SECP256R1())
        made = certificates._certificate(role, key.public_key(), authority_key, (now - 9 * day, end), role, names)
        (directory / f"{role}.pem").write_bytes(certificates._pem(made))
        certificates._write_key(directory / f"{role}.key", key)


def test_missing_certificates(tmp_path):
    with pytest.raises(RemoteError, match=r"ca\.pem: No such file or directory; 'vta rpc certs .*' makes certificates"):
        query("127.0.0.1:1", Security(tmp_path))


def test_other_machines_need_certificates_or_consent(good):
    for host in ("0.0.0.0", "10.1.2.3", "board.lan"):
        with pytest.raises(UsageError, match=f"{host} is not loopback: give --certs DIR .* or --insecure"):
            Tracker(Address(host, 9190))
    with pytest.raises(UsageError, match=r"10\.1\.2\.3 is not loopback"):
        connect("10.1.2.3:9091")
    with pytest.raises(UsageError, match=r"10\.1\.2\.3 is not loopback"):
        DeviceServer(LOCAL, BASELINE, DeviceSpec(), Address("10.1.2.3", 9190), "k")
    Tracker(Address("0.0.0.0", 9190), good)
    Tracker(Address("0.0.0.0", 9190), Security(insecure=True))


def test_keys_are_private_and_nothing_is_overwritten(good):
    for role in ("server", "client"):
        assert stat.S_IMODE((good.certificates / f"{role}.key").stat().st_mode) == 0o600
    with pytest.raises(UsageError, match="exists; certificates are not overwritten"):
        write_certificates(good.certificates)
