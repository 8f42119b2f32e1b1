"""What a tracker is told by others: nothing is too long, too much, or able to command a terminal."""

import contextlib
import socket
import threading

import grpc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rpc.support import FAST, LIMIT_SECONDS, LOCAL, until
from vta.cli.main import main
from vta.errors import RemoteError, UsageError
from vta.rpc.client.connect import lease, query
from vta.rpc.tracker.lease_queue import LeaseQueue
from vta.rpc.tracker.tracker import _listed
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.limits import KEY_CHARACTERS, MESSAGE_BYTES, SERVERS, WAITERS, WORDS_CHARACTERS
from vta.rpc.wire.queue import Listed, State
from vta.rpc.wire.service import TRACKER, Stub

EVIL = "\x1b]0;owned\x07\x1b[2J\r\n\u202egnp\u0085"


@pytest.fixture
def listening():
    """A port that can be connected to, and does nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(100)
        yield listener.getsockname()[1]


def status(port, **values):
    return pb.ServerStatus(**{"key": "k", "port": port, "state": pb.FREE, "ticket": "t", **values})


def answering(tracker, given):
    """The first answer to a report."""
    with grpc.insecure_channel(str(tracker.address)) as channel:
        return next(Stub(channel, TRACKER).Register(iter([given]), timeout=LIMIT_SECONDS))


@pytest.fixture
def held(tracker, listening):
    """Registers a status and keeps it while the block runs."""

    @contextlib.contextmanager
    def hold(**values):
        over = threading.Event()

        def statuses():
            while True:
                yield status(listening, **values)
                if over.wait(FAST.heartbeat_seconds):
                    return

        with grpc.insecure_channel(str(tracker.address)) as channel:
            answers = Stub(channel, TRACKER).Register(statuses(), timeout=LIMIT_SECONDS)
            yield next(answers)
            over.set()

    return hold


def test_long_and_evil_words_of_a_server(tracker, held, capsys):
    with held(state=pb.DOWN, reason=EVIL + "x" * 1_500_000, device=EVIL + "y" * 5000):
        (server,) = query(tracker.address).servers
        assert len(server.reason) <= WORDS_CHARACTERS
        assert len(server.device) <= KEY_CHARACTERS
        assert server.reason.isprintable()
        assert server.device.isprintable()
        assert main(["rpc", "query", "--port", str(tracker.address.port)]) == 0
        printed = capsys.readouterr().out
        assert "\x1b" not in printed
        assert "\u202e" not in printed
        with pytest.raises(RemoteError) as raised:
            lease(tracker.address, "k", 0.2, limits=FAST)
        assert "is down: " in str(raised.value)
        assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"key": ""}, "key '': allowed: 1 to 100 printable"),
        ({"key": "k" * 3_000_000}, "allowed: 1 to 100 printable"),
        ({"key": EVIL}, "allowed: 1 to 100 printable"),
        ({"ticket": "t" * 101}, "a ticket of 101 characters; allowed"),
        ({"ticket": "\0"}, "a ticket of 1 characters; allowed"),
        ({"host": "a b"}, "host 'a b': allowed: a name or an IP address"),
        ({"host": "h" * 300}, "allowed: a name or an IP address"),
        ({"host": EVIL}, "allowed: a name or an IP address"),
        ({"host": "10.1.2.3"}, r"10\.1\.2\.3 is not loopback"),
        ({"port": 0}, "port 0, state 1: no such server"),
        ({"state": 7}, "state 7: no such server"),
    ],
)
def test_what_no_server_can_be(tracker, listening, values, message):
    with pytest.raises(grpc.RpcError, match=message) as raised:
        answering(tracker, status(**{"port": listening, **values}))
    assert len(raised.value.details()) < 1100
    assert query(tracker.address).servers == ()


@pytest.mark.parametrize("key", ["", "k" * 101, "k" * 3_000_000, EVIL])
def test_keys_that_no_server_can_have_are_refused_at_once(tracker, key):
    with pytest.raises(UsageError, match="allowed: 1 to 100 printable characters") as raised:
        lease(tracker.address, key, LIMIT_SECONDS, limits=FAST)
    assert len(str(raised.value)) < 300
    assert query(tracker.address).rows == ()


@pytest.mark.parametrize("seconds", [float("nan"), -1.0, 0.0])
def test_waits_that_are_none_end_at_once(tracker, seconds):
    with grpc.insecure_channel(str(tracker.address)) as channel, pytest.raises(grpc.RpcError, match="no server has the key 'k'"):
        list(Stub(channel, TRACKER).Lease(pb.LeaseRequest(key="k", timeout_seconds=seconds), timeout=LIMIT_SECONDS))


def test_the_fullest_table_fits_a_message():
    """Each field as long as it may be, and each character as many bytes."""
    wide = "\U0001f600"
    rows = [pb.KeyRow(key=wide * KEY_CHARACTERS, total=1 << 31, free=1 << 31, pending=1 << 31)] * (SERVERS + WAITERS)
    words = {"reason": wide * WORDS_CHARACTERS, "device": wide * KEY_CHARACTERS}
    server = pb.ServerRow(key=wide * KEY_CHARACTERS, address="h" * 260, state="free", **words)
    assert len(pb.QueryReply(rows=rows, servers=[server] * SERVERS).SerializeToString()) < MESSAGE_BYTES


def test_keys_that_are_gone_are_forgotten():
    queue = LeaseQueue(10.0, most_keys=3)
    for number in range(1000):
        queue.report(Listed("a:1", f"key {number}", State.FREE, "t"))
        queue.remove("a:1")
    assert len(queue._known_keys) == 3
    assert queue.is_known("key 999")
    assert not queue.is_known("key 0")


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400), st.text(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_whatever_a_server_says_is_short_and_printable(reason, device, host, key):
    try:
        listed = _listed(status(1, reason=reason, device=device, host=host, key=key), "ipv4:127.0.0.1:50000")
    except (UsageError, UnicodeEncodeError):
        return
    words = (listed.reason, listed.device, listed.key, listed.address)
    for text, most in zip(words, (WORDS_CHARACTERS, KEY_CHARACTERS, KEY_CHARACTERS, 262), strict=True):
        assert len(text) <= most
        assert text.isprintable()


def test_a_server_that_nobody_can_reach_is_not_free(background, tracker, serve, take, devices, artifact, sample):
    """It is named with the cause, clients learn that soon, and it is free once it can be reached."""
    from tests.integer_graphs import BASELINE
    from vta.devices.open_device import DeviceSpec
    from vta.rpc.server.server import DeviceServer

    lines = []
    spec = DeviceSpec("sim", 1 << 22)
    server = background.start(
        lambda: DeviceServer(LOCAL, BASELINE, spec, tracker.address, "sim", limits=FAST, advertise="127.0.0.2", say=lines.append)
    )
    cause = f"the tracker cannot reach it at 127.0.0.2:{server.address.port}: nothing listens there"
    (listed,) = query(tracker.address).servers
    assert (listed.state, listed.reason) == (State.DOWN, cause)
    assert server.problem == cause
    assert lines == [f"not available at tracker {tracker.address}: {cause}"]
    with pytest.raises(RemoteError, match=f"no device with the key 'sim' can be had: .* is down: {cause}"):
        take()
    devices(0, 0)
    with socket.socket() as listener:
        listener.bind(("127.0.0.2", server.address.port))
        listener.listen()
        devices(1, 1)
        until(lambda: not server.problem, lambda: server.problem)
    assert lines[1:] == [f"available at tracker {tracker.address}"]


def test_a_grant_of_what_is_no_server_names_the_cause(held, tracker, listening):
    """The tracker could reach it; the client finds something there that does not answer."""
    with held(), pytest.raises(RemoteError, match=rf"server 127\.0\.0\.1:{listening} did not open a session within 3 s"):
        lease(tracker.address, "k", 0.5, limits=FAST)
