"""Certificates: who may connect, and what those are told who may not."""

import datetime
import errno
import re
import shutil
import stat
import subprocess
import sys

import pytest

pytest.importorskip("cryptography")

from tests.faults import faults
from tests.integer_graphs import BASELINE
from tests.rpc.support import FAST, LOCAL
from vta.devices.open_device import DeviceSpec
from vta.errors import RemoteError, UsageError
from vta.rpc.certificates import write_certificates
from vta.rpc.client.connect import connect, lease, query
from vta.rpc.server.server import DeviceServer
from vta.rpc.tracker.tracker import Tracker
from vta.rpc.wire.address import Address
from vta.rpc.wire.security import Security

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
    with pytest.raises(RemoteError, match=r"does it want certificates\?"):
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
    from vta.rpc.wire.security import certificate_files

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
        (directory / f"{role}.key").write_bytes(certificates._private_pem(key))


def test_missing_certificates(tmp_path):
    with pytest.raises(RemoteError, match=r"ca\.pem: cannot be read: No such file .* makes certificates"):
        query("127.0.0.1:1", Security(tmp_path))


def test_other_machines_need_certificates_or_consent(good):
    for host in ("0.0.0.0", "10.1.2.3", "board.lan"):
        with pytest.raises(UsageError, match=f"{host} is not loopback: give certificates .* or allow insecure"):
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


JUNK = (b"", b"junk", b"\xff\xfe\0", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")


@pytest.mark.parametrize("name", ["ca.pem", "server.pem", "server.key", "client.pem", "client.key"])
@pytest.mark.parametrize("content", [*JUNK, "other"])
def test_certificates_that_are_none_are_named(background, good, others, tmp_path, name, content, capfd):
    directory = tmp_path / "junk"
    shutil.copytree(good.certificates, directory)
    role = "client" if name == "ca.pem" else name.partition(".")[0]
    # A certificate instead of a key, and the key of somebody else.
    other = (others.certificates / (f"{role}.key" if name.endswith(".key") else f"{role}.pem")).read_bytes()
    (directory / name).write_bytes(other if content == "other" else content)
    with pytest.raises(RemoteError) as raised:
        used_by(background, role, Security(directory))
    said = str(raised.value)
    if content == "other" and name != "ca.pem":
        assert said.startswith(f"{directory / role}.key: the key of another certificate than {directory / role}.pem")
    elif content == "other":
        assert said.startswith(f"{directory / name}: not the certificate of an authority")
    else:
        assert said.startswith(f"{directory / name}: no ")
        assert said.endswith(" in PEM format; 'vta rpc certs' makes certificates")
    assert capfd.readouterr().err == ""


def used_by(background, role, security):
    if role == "client":
        query("127.0.0.1:1", security)
    else:
        background.start(lambda: Tracker(LOCAL, security, FAST))


def test_certificates_that_cannot_all_be_written_leave_nothing(tmp_path):
    """The first call that fails is another in every round; the folder is then as before, and good for another attempt."""
    new, kept = tmp_path / "made" / "new", tmp_path / "kept"
    kept.mkdir()
    (kept / "notes.txt").write_text("mine")
    for directory in (new, kept):
        for first in range(100):
            with faults(errno.ENOSPC, first, below=str(directory)) as trouble:
                try:
                    write_certificates(directory)
                except OSError as error:
                    assert error.errno == errno.ENOSPC  # noqa: PT017
            if not trouble.failed:
                break
            assert [path.name for path in tmp_path.rglob("*")] == ["kept", "notes.txt"] or directory is kept, trouble.seen
            assert sorted(path.name for path in kept.iterdir()) == ["notes.txt"]
        assert first > 5
        assert {"ca.pem", "server.pem", "server.key", "client.pem", "client.key"} <= {path.name for path in directory.iterdir()}
        assert stat.S_IMODE((directory / "server.key").stat().st_mode) == 0o600


def test_a_server_that_may_not_register_says_why(background, secure_tracker, good, tmp_path):
    """A tracker that wants certificates, and none were given; and none for a client, which a server is there."""
    half = tmp_path / "half"
    shutil.copytree(good.certificates, half)
    (half / "client.pem").unlink()
    for security, said in (
        (None, r"cannot be reached while registering: .* does it want certificates"),
        (Security(half), r"client\.pem: cannot be read: No such file"),
    ):
        server, lines = at_a_tracker(background, secure_tracker.address, security)
        assert re.search(said, server.problem)
        assert len(lines) == 1
        assert re.search(f"not available at tracker {secure_tracker.address}: .*{said}", lines[0])


def at_a_tracker(background, tracker, security):
    lines = []
    spec = DeviceSpec("sim", 1 << 22)
    server = background.start(lambda: DeviceServer(LOCAL, BASELINE, spec, tracker, "sim", security, FAST, say=lines.append))
    return server, lines


def test_a_server_that_may_not_register_does_not_detach(secure_tracker, capsys):
    command = [sys.executable, "-m", "vta.cli.main", "rpc", "server", "--device", "sim", "--key", "k", "--detach"]
    done = subprocess.run([*command, "--tracker", str(secure_tracker.address)], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    said = r"vta rpc: error: the server on .* is not available: tracker .* does it want certificates.*\n"
    assert re.fullmatch(said, done.stderr)


def test_a_tracker_cannot_send_a_client_to_another_machine_in_clear(background):
    """What is refused to a user is refused to a tracker, too; and a server cannot even register such an address."""
    said = r"tracker .* granted the device at 10\.1\.2\.3:9091: 10\.1\.2\.3 is not loopback: give certificates"
    with pytest.raises(UsageError, match=said):
        granted_by(background, "10.1.2.3:9091")
    with pytest.raises(UsageError, match="granted the device at nonsense: 'nonsense' is not an address"):
        granted_by(background, "nonsense")


def granted_by(background, address):
    """Lease from a tracker that grants `address`."""
    from vta.rpc.wire import vta_rpc_pb2 as pb

    class Evil(Tracker):
        async def lease(self, request, context):
            await context.write(pb.LeaseUpdate(grant=pb.Grant(address=address, ticket="t")))

    tracker = background.start(lambda: Evil(LOCAL, limits=FAST))
    return lease(tracker.address, "k", 5, limits=FAST)


def test_no_channel_leads_to_another_machine_in_clear():
    from vta.rpc.wire.channel import async_channel, open_channel

    for opening in (open_channel, async_channel):
        with pytest.raises(UsageError, match=r"10\.1\.2\.3 is not loopback"):
            opening(Address("10.1.2.3", 9091), Security())
