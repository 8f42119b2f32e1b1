"""What the system refuses while a session opens, works and closes: the client is told, and the device is free again."""

import errno
import os
import resource
import shutil
import tempfile

import pytest

from tests.faults import faults
from tests.rpc.support import FAST, LIMIT_SECONDS, Attempt
from vta.errors import VTAError
from vta.rpc.client.connect import query

SERVER = "vta-rpc"
"""The thread that servers and trackers of these tests run in."""

ERRORS = (errno.ENOSPC, errno.EROFS, errno.EMFILE, errno.ENOENT, errno.EACCES)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files of this test alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def session(take, artifact, sample, timeout=1.0):
    """All that a client does."""
    with take(timeout=timeout) as session, session.load(artifact) as module:
        module.run(sample)


def reason(tracker):
    (server,) = query(tracker.address).servers
    return server.reason


def test_a_server_whose_calls_fail(serve, tracker, take, devices, artifact, sample, temporary):
    """The first call of a session that fails is another in every round; all after it fail, too, until the trouble is over."""
    serve()
    devices(1, 1)
    for first in range(100):
        with faults(ERRORS[first % len(ERRORS)], first, thread=SERVER) as trouble:
            problem = Attempt(lambda: session(take, artifact, sample)).wait()
        if problem is not None:
            assert isinstance(problem, VTAError), (trouble.seen, problem)
            assert "\n" not in str(problem)
            assert "internal error" not in str(problem), trouble.seen
        devices(1, 1)
        if not trouble.failed:
            break
    assert first > 4, "the faults come before what they are to disturb"


def test_a_folder_for_files_that_goes_and_comes_back(serve, tracker, take, devices, artifact, sample, temporary):
    serve()
    shutil.rmtree(temporary)
    with pytest.raises(VTAError, match=f"{temporary}"):
        session(take, artifact, sample)
    devices(0, 0)
    assert str(temporary) in reason(tracker)
    assert os.strerror(errno.ENOENT) in reason(tracker)
    temporary.mkdir()
    devices(1, 1)
    session(take, artifact, sample)


def test_a_folder_of_a_session_that_others_remove(serve, take, devices, artifact, sample, temporary):
    serve()
    for folder in temporary.iterdir():
        shutil.rmtree(folder)
    # One that is idle is made again.
    session(take, artifact, sample)
    with take() as held:
        module = held.load(artifact)
        for folder in temporary.iterdir():
            shutil.rmtree(folder)
        with pytest.raises(VTAError, match="No such file or directory"):
            module.run(sample)
        with pytest.raises(VTAError, match="is gone: open another session"):
            held.load(artifact)
    devices(1, 1)
    session(take, artifact, sample)


def test_a_server_leaves_no_folders(background, serve, take, artifact, sample, temporary, devices):
    server = serve()
    session(take, artifact, sample)
    devices(1, 1)
    background.stop(server)
    assert list(temporary.iterdir()) == []


def test_a_server_that_finds_no_folder_says_so(background, temporary):
    from tests.integer_graphs import BASELINE
    from tests.rpc.support import LOCAL
    from vta.devices.open_device import DeviceSpec
    from vta.rpc.server.server import DeviceServer

    shutil.rmtree(temporary)
    with pytest.raises(VTAError, match=f"{temporary}.*No such file"):
        background.start(lambda: DeviceServer(LOCAL, BASELINE, DeviceSpec("sim", 1 << 22), limits=FAST))


@pytest.mark.parametrize("spare", [0, 2, 5])
def test_a_server_without_file_handles(spawn, tracker, take, devices, artifact, sample, spare):
    """A real limit, which also the sockets of gRPC and the pipes of processes come up against."""
    process, _ = spawn("server", tracker.address, "sim")
    devices(1, 1)
    before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    last = max(map(int, os.listdir(f"/proc/{process.pid}/fd")))
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (last + 1 + spare, before[1]))
    problem = Attempt(lambda: session(take, artifact, sample)).wait()
    assert problem is None or isinstance(problem, VTAError)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
    devices(1, 1)
    session(take, artifact, sample, LIMIT_SECONDS)
    devices(1, 1)


@pytest.mark.parametrize("error", ERRORS, ids=errno.errorcode.get)
def test_a_client_whose_calls_fail(serve, take, devices, artifact, compiled, sample, temporary, error):
    """What the client itself is refused is its own error, and the device is free again."""
    serve()

    def work():
        with take() as held, held.load(compiled) as module:
            module.run(sample)

    with faults(error, thread="MainThread", below=str(temporary)), pytest.raises(OSError, match=os.strerror(error)):
        work()
    devices(1, 1)
    work()
    devices(1, 1)
