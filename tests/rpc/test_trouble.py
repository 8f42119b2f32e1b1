"""What can go wrong: after each, the client knows what it was, the table is right, and no device is lost."""

import os
import re
import signal
import socket
import threading
from dataclasses import replace

import grpc
import pytest

from tests.rpc.support import FAST, LIMIT_SECONDS, LOCAL, Attempt, until
from vta.devices.open_device import DeviceSpec
from vta.errors import ArtifactError, ConfigError, GraphError, RemoteError, TimeLimitError, UsageError
from vta.rpc.client.connect import connect, lease, query
from vta.rpc.server.server import DeviceServer
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.address import Address
from vta.rpc.wire.limits import MESSAGE_BYTES
from vta.rpc.wire.service import DEVICE, Stub


def assert_usable(take, artifact, sample):
    with take() as session, session.load(artifact) as module:
        module.run(sample)


def test_a_server_killed_during_a_run(spawn, tracker, serve, take, devices, gate, artifact, sample):
    process, _ = spawn("server", tracker.address, "sim", *gate.command)
    devices(1, 1)
    gate.closed.touch()
    with take() as session:
        module = session.load(artifact)
        running = Attempt(lambda: module.run(sample))
        gate.wait_for_run()
        process.kill()
        error = running.wait()
    assert isinstance(error, RemoteError)
    assert re.search("connection to server 127.0.0.1:.* broke while", str(error))
    devices(0, 0)
    serve()
    devices(1, 1)
    assert_usable(take, artifact, sample)


def test_a_client_that_dies_with_a_lease(serve, devices, tracker, take, artifact, sample, spawn_client):
    serve()
    client = spawn_client(tracker.address, "sim", artifact)
    devices(1, 0)
    client.kill()
    devices(1, 1)
    assert_usable(take, artifact, sample)


def test_a_client_that_freezes_with_a_lease(serve, devices, tracker, spawn_client, artifact):
    serve()
    client = spawn_client(tracker.address, "sim", artifact)
    devices(1, 0)
    client.send_signal(signal.SIGSTOP)
    devices(1, 1)


def test_a_client_that_dies_during_a_run(serve, devices, tracker, take, gate, artifact, sample, spawn_client):
    serve(command=gate.command)
    gate.closed.touch()
    client = spawn_client(tracker.address, "sim", artifact, "run")
    gate.wait_for_run()
    client.kill()
    devices(1, 1)
    gate.closed.unlink()
    assert_usable(take, artifact, sample)


def test_a_client_that_dies_in_the_queue(serve, devices, tracker, take, spawn_client, artifact, sample):
    serve()
    with take():
        client = spawn_client(tracker.address, "sim", artifact)
        devices(1, 0, pending=1)
        client.kill()
        devices(1, 0)
    devices(1, 1)
    assert_usable(take, artifact, sample)


def test_a_grant_that_nobody_uses(serve, devices, tracker, take, artifact, sample):
    serve()
    from vta.rpc.wire.service import TRACKER

    with grpc.insecure_channel(str(tracker.address)) as channel:
        request = pb.LeaseRequest(key="sim", timeout_seconds=10)
        updates = list(Stub(channel, TRACKER).Lease(request, timeout=LIMIT_SECONDS))
    assert updates[-1].grant.ticket
    devices(1, 1)
    assert_usable(take, artifact, sample)
    devices(1, 1)
    with grpc.insecure_channel(updates[-1].grant.address) as channel, pytest.raises(grpc.RpcError, match="not good any more"):
        next(Stub(channel, DEVICE).Hold(iter([pb.Beat(ticket=updates[-1].grant.ticket)])))


def test_a_restarted_tracker(spawn, devices, artifact, sample):
    process, address = spawn("tracker", 0)
    spawn("server", address, "sim")
    devices(1, 1, at=address)
    with lease(address, "sim", limits=FAST) as session, session.load(artifact) as module:
        waiting = Attempt(lambda: lease(address, "sim", LIMIT_SECONDS, limits=FAST).close())
        devices(1, 0, pending=1, at=address)
        process.kill()
        process.wait(LIMIT_SECONDS)
        # The lease goes on without the tracker.
        module.run(sample)
        spawn("tracker", address.port)
        # The server is back with its lease, and so is the client in the queue.
        devices(1, 0, pending=1, at=address)
        module.run(sample)
    assert waiting.wait() is None
    devices(1, 1, at=address)


def test_a_server_that_freezes(spawn, tracker, devices, take, artifact, sample):
    process, _ = spawn("server", tracker.address, "sim")
    devices(1, 1)
    process.send_signal(signal.SIGSTOP)
    devices(0, 0)
    process.send_signal(signal.SIGCONT)
    devices(1, 1)
    assert_usable(take, artifact, sample)


def test_a_server_that_freezes_with_a_lease(spawn, tracker, devices, take, artifact, sample):
    process, address = spawn("server", tracker.address, "sim")
    with take() as session:
        module = session.load(artifact)
        process.send_signal(signal.SIGSTOP)
        error = Attempt(lambda: module.run(sample)).wait()
        assert f"server {address} has been silent for 3 s" in str(error)
        devices(0, 0)
        process.send_signal(signal.SIGCONT)
    devices(1, 1)


def test_a_device_that_breaks_and_recovers(serve, devices, take, gate, tracker, artifact, sample):
    server = serve(command=gate.command)
    gate.broken.touch()
    assert_usable(take, artifact, sample)
    devices(0, 0)
    (listed,) = query(tracker.address).servers
    assert (listed.state.value, listed.reason) == ("down", "the board does not answer")
    with pytest.raises(RemoteError, match=r"no free device with the key 'sim' within 0\.2 s: 0 up, 1 waiting"):
        take(timeout=0.2)
    with grpc.insecure_channel(str(server.address)) as channel, pytest.raises(grpc.RpcError, match="the board does not answer"):
        next(Stub(channel, DEVICE).Hold(iter([pb.Beat()])))
    gate.broken.unlink()
    devices(1, 1)
    assert_usable(take, artifact, sample)


def test_a_run_past_its_limit(serve, devices, take, gate, artifact, sample):
    serve(command=gate.command)
    gate.closed.touch()
    with take() as session:
        module = session.load(artifact)
        with pytest.raises(TimeLimitError, match=r"time limit: the run was not done after 0\.3 s, and was ended"):
            module.run(sample, limit_seconds=0.3)
        gate.closed.unlink()
        # The session and its module go on, in another process.
        module.run(sample)
    devices(1, 1)


def test_a_session_past_its_limit(serve, devices, take, gate, artifact, sample):
    serve(command=gate.command)
    gate.closed.touch()
    with take(session_seconds=2.0) as session:
        error = None
        try:
            session.load(artifact).run(sample)
        except RemoteError as raised:
            error = raised
    assert "the session reached its limit of 2 s" in str(error)
    devices(1, 1)


def test_a_worker_that_dies(serve, devices, take, gate, artifact, sample, background):
    server = serve(command=gate.command)
    gate.closed.touch()
    with take() as session:
        module = session.load(artifact)
        running = Attempt(lambda: module.run(sample))
        gate.wait_for_run()
        os.kill(server._session.worker._process.pid, signal.SIGKILL)
        assert "the process with the device died while the run: SIGKILL" in str(running.wait())
        gate.closed.unlink()
        module.run(sample)
    devices(1, 1)
    # One that dies while nobody has it is replaced, too.
    idle = server._worker
    os.kill(idle._process.pid, signal.SIGKILL)
    until(lambda: server._worker not in (idle, None), lambda: "there is no new process")
    devices(1, 1)
    assert_usable(take, artifact, sample)


def test_a_wrong_key(serve, tracker, take, devices):
    serve()
    with pytest.raises(RemoteError, match="no server has the key 'simm'; keys at the tracker: 'sim'"):
        take("simm")
    devices(1, 1)


def test_wrong_addresses(serve, tracker, take, devices):
    server = serve()
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(RemoteError, match=f"tracker {nobody} cannot be reached while .*: nothing listens there"):
            lease(nobody, "sim")
        with pytest.raises(RemoteError, match=f"server {nobody} cannot be reached while .*: nothing listens there"):
            connect(nobody)
    with pytest.raises(RemoteError, match="answers, but is not a tracker"):
        lease(server.address, "sim")
    with pytest.raises(RemoteError, match="answers, but is not a server"):
        connect(tracker.address)
    with pytest.raises(RemoteError, match="takes only clients that its tracker sends"):
        connect(server.address)
    with pytest.raises(UsageError, match="'localhost' is not an address; write HOST:PORT"):
        lease("localhost", "sim")
    devices(1, 1)


def test_a_port_that_is_taken(serve, background):
    from vta.rpc.tracker.tracker import Tracker

    server = serve()
    with pytest.raises(RemoteError, match=r"cannot listen on 127.0.0.1:.*: taken"):
        background.start(lambda: Tracker(server.address))


def test_a_busy_server_without_a_tracker(background, artifact, sample):
    from tests.integer_graphs import BASELINE

    server = background.start(lambda: DeviceServer(LOCAL, BASELINE, DeviceSpec("sim", 1 << 22), limits=FAST))
    with connect(server.address, limits=FAST) as session:
        with pytest.raises(RemoteError, match="the device is busy"):
            connect(server.address, limits=FAST)
        with session.load(artifact) as module:
            module.run(sample)


def uploads(session, header, *parts):
    """Upload by hand; returns the error."""
    messages = [pb.UploadPart(header=header), *(pb.UploadPart(data=part) for part in parts)]
    with pytest.raises(RemoteError) as raised:
        session.unary("Upload", iter(messages), 10, "uploading")
    return str(raised.value)


def test_bad_uploads(serve, devices, take, artifact, sample):
    serve()
    with take() as session:
        key, data = session.key, artifact.read_bytes()
        header = pb.UploadHeader(session=key, nbytes=len(data), sha256=b"\0" * 32)
        assert f"truncated: 100 of {len(data)} bytes came" in uploads(session, header, data[:100])
        assert "its checksum does not match" in uploads(session, header, data)
        assert "were announced" in uploads(session, header, data, b"more")
        large = pb.UploadHeader(session=key, nbytes=FAST.upload_bytes + 1)
        assert f"an upload of {FAST.upload_bytes + 1} bytes; the limit is {FAST.upload_bytes}" in uploads(session, large)
        with pytest.raises(RemoteError, match="an upload starts with its header"):
            session.unary("Upload", iter([pb.UploadPart(data=b"1")]), 10, "uploading")
        oversized = b"\0" * (MESSAGE_BYTES + 1)
        assert "larger than max" in uploads(session, header, oversized)
        # Still good after all that.
        with session.load(artifact) as module:
            module.run(sample)
    devices(1, 1)


def test_uploads_that_stop(serve, devices, take, artifact, sample):
    """The client is silent in the middle, or goes."""
    serve()
    with take() as session:
        data, gone = artifact.read_bytes(), threading.Event()

        def parts():
            yield pb.UploadPart(header=pb.UploadHeader(session=session.key, nbytes=len(data)))
            yield pb.UploadPart(data=data[:100])
            gone.wait(LIMIT_SECONDS)

        with pytest.raises(RemoteError, match="the client was silent for 3 s"):
            session.unary("Upload", parts(), 10, "uploading")
        call = session._stub.Upload.future(parts())
        call.cancel()
        gone.set()
        with session.load(artifact) as module:
            module.run(sample)
    devices(1, 1)


def test_configs_that_are_none(serve, devices, take, artifact, sample):
    serve()
    with take() as session:
        for text in ("", "[" * 5000, "[]", "null", '{"TARGET": 3}', '{"LOG_BLOCK": 99}'):
            with pytest.raises((UsageError, ConfigError)):
                session.unary("Configure", pb.ConfigureRequest(session=session.key, config_json=text), 10, "configuring")
        with session.load(artifact) as module:
            module.run(sample)
    devices(1, 1)


def test_an_upload_that_is_no_module(serve, devices, take, artifact, tmp_path, compiled):
    serve()
    with take() as session:
        session._description.limits.upload_bytes = 1 << 40
        damaged = tmp_path / "damaged.vta"
        data = bytearray(artifact.read_bytes())
        data[len(data) // 2] ^= 1
        damaged.write_bytes(data)
        with pytest.raises(ArtifactError, match=r"^member .* is damaged"):
            session._upload(compiled, damaged)
    devices(1, 1)


def test_a_module_for_other_hardware(serve, devices, take, compiled, artifact):
    from tests.integer_graphs import TINY

    serve(hw=TINY)
    with take() as session:
        with pytest.raises(ArtifactError, match=r"compiled for LOG_INP_BUFF_SIZE = 15, but the device has .* 10"):
            session.load(compiled)
        # The server does not take the client's word for it.
        with pytest.raises(ArtifactError, match=r"compiled for LOG_INP_BUFF_SIZE = 15, but the device has .* 10"):
            session._upload(replace(compiled, hw=TINY), artifact)
    devices(1, 1)


def test_wrong_inputs(serve, devices, take, artifact, sample):
    serve()
    with take() as session, session.load(artifact) as module:
        with pytest.raises(GraphError, match=r"input 'data' .* is missing"):
            module.run({})
        request = pb.RunRequest(session=session.key, module=1, inputs=[pb.Tensor(name="data", dtype="object", shape=[1])])
        with pytest.raises(RemoteError, match="tensor 'data': dtype 'object'"):
            list(session.stream("Run", [pb.RunPart(request=request)], 10, "the run"))
        request.inputs[0].CopyFrom(pb.Tensor(name="data", dtype="int8", shape=[1 << 20, 1 << 20]))
        with pytest.raises(RemoteError, match=r"inputs of .* bytes; the limit is"):
            list(session.stream("Run", [pb.RunPart(request=request)], 10, "the run"))
        request.inputs[0].CopyFrom(pb.Tensor(name="data", dtype="int8", shape=[4]))
        with pytest.raises(RemoteError, match="truncated: 0 of 4 bytes came"):
            list(session.stream("Run", [pb.RunPart(request=request)], 10, "the run"))
        with pytest.raises(GraphError, match=r"input 'data' must be int8\[1, 16, 6, 6\]"):
            list(session.stream("Run", [pb.RunPart(request=request), pb.RunPart(data=b"1234")], 10, "the run"))
        module.run(sample)
    devices(1, 1)


def test_others_cannot_use_a_session(serve, take, artifact):
    serve()
    with take() as session:
        with pytest.raises(RemoteError, match="the session has ended"):
            session.unary("Unload", pb.UnloadRequest(session="guess", module=1), 10, "unloading")
        with pytest.raises(RemoteError, match="the session has no module 7"):
            session.unary("Unload", pb.UnloadRequest(session=session.key, module=7), 10, "unloading")


def test_a_closed_session_says_so(serve, take, artifact, sample):
    serve()
    session = take()
    module = session.load(artifact)
    session.close()
    session.close()
    with pytest.raises(RemoteError, match="the session is closed"):
        module.run(sample)


def test_a_server_that_is_there_before_its_tracker(spawn, devices):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = Address(*free.getsockname())
    spawn("server", address, "sim")
    spawn("tracker", address.port)
    devices(1, 1, at=address)
