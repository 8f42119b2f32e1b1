"""Sessions that nobody has a name for any more, as a notebook leaves them."""

from __future__ import annotations

import copy
import gc
import pickle

import pytest

from tests.integer_graphs import BASELINE
from tests.rpc.support import FAST, LOCAL, until
from vta.devices.open_device import DeviceSpec
from vta.errors import DeviceError, RemoteError
from vta.rpc.client.connect import connect, describe_device, lease
from vta.rpc.server.server import DeviceServer


@pytest.fixture
def server(background):
    """A server without a tracker."""
    return background.start(lambda: DeviceServer(LOCAL, BASELINE, DeviceSpec("sim", 1 << 22), limits=FAST))


def _is_free(server):
    return not describe_device(server.address).busy


def test_a_session_that_nothing_refers_to_gives_the_device_back(server, artifact, sample):
    session = connect(server.address, limits=FAST)
    module = session.load(artifact)
    del session
    gc.collect()
    assert module.run(sample).device_runs == 1, "a module needs its session"
    assert not _is_free(server)
    del module
    gc.collect()
    until(lambda: _is_free(server), lambda: "the device is still busy")
    with connect(server.address, limits=FAST) as again:
        assert again.lost is None


def test_who_holds_the_device_himself_is_told(server):
    with connect(server.address, limits=FAST) as session:
        with pytest.raises(RemoteError, match=rf"busy; this process has a session open with server {server.address}$"):
            connect(server.address, limits=FAST)
        assert session.lost is None
    until(lambda: _is_free(server), lambda: "the device is still busy")
    connect(server.address, limits=FAST).close()


def test_who_waits_for_what_he_has_is_told(serve, tracker):
    address = serve().address
    with (
        lease(tracker.address, "sim", limits=FAST),
        pytest.raises(RemoteError, match=rf"; this process has a session .* {address}$"),
    ):
        lease(tracker.address, "sim", timeout_seconds=0.2, limits=FAST)


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_session_has_no_second_one(server, artifact, copied):
    with connect(server.address, limits=FAST) as session, session.load(artifact) as module:
        with pytest.raises(RemoteError, match="can be neither copied nor pickled"):
            copied(session)
        with pytest.raises(DeviceError, match="can be neither copied nor pickled"):
            copied(module)
