"""Code of clients: refused by default; where it is allowed it runs in the process that has the device, within limits."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from tests.integer_graphs import BASELINE
from tests.rpc.support import FAST, LOCAL, until
from vta.devices.open_device import DeviceSpec
from vta.errors import DeviceError, RemoteError, UsageError
from vta.ir.interpreter import evaluate
from vta.rpc.client.connect import describe_device
from vta.rpc.server.server import DeviceServer
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.address import Address
from vta.rpc.wire.limits import MESSAGE_BYTES
from vta.rpc.wire.security import Security

SOURCE = """\
import os
import subprocess
import time

import numpy as np

calls = 0


def double(host, inputs):
    return {name: 2 * array for name, array in inputs.items()}


def where(host, inputs):
    return {"pid": os.getpid(), "device": np.frombuffer(host.device.name.encode(), np.uint8)}


def count(host, inputs):
    global calls
    calls += 1
    return {"calls": calls}


def measure(host, inputs):
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        report = host.module.run(inputs)
        seconds.append(time.perf_counter() - started)
    return {"seconds": np.array(seconds), "output": report.outputs[0]}


def nothing(host, inputs):
    pass


def fail(host, inputs):
    return {"x": 1 // 0}


def number(host, inputs):
    return 7


def objects(host, inputs):
    return {"x": np.array([None])}


def leave(host, inputs):
    os._exit(3)


def hang(host, inputs):
    while True:
        pass


def grow(host, inputs):
    return {"x": np.ones(1 << 34, np.uint8)}


def start(host, inputs):
    return {"pid": subprocess.Popen(["sleep", "1000"]).pid}
"""


@pytest.fixture
def allowing(serve):
    """A server that takes code."""
    return serve(allow_host_code=True)


def refused(work):
    with pytest.raises(RemoteError) as caught:
        work()
    return str(caught.value)


def test_no_code_unless_allowed(serve, take, artifact, sample, devices):
    server = serve()
    with take() as session:
        text = f"server {server.address} runs no code of its clients: it was not started with allow_host_code"
        assert refused(lambda: session.load_code(SOURCE)) == text
        # A client that does not ask is told by the server.
        session._description.host_code = True
        assert "this server runs no code of its clients: it was not started with allow_host_code" in refused(
            lambda: session.load_code(SOURCE)
        )
        request = pb.CallPart(request=pb.CallRequest(session=session.key, code=1, function="double"))
        assert "the session has no code 1" in refused(lambda: list(session.stream("Call", [request], 10, "calling")))
        session.load(artifact).run(sample)
    assert not describe_device(server.address).host_code
    devices(1, 1)


def test_functions_take_and_return_arrays(allowing, take, sample):
    with take() as session:
        code = session.load_code(SOURCE)
        values = {"a": np.arange(6, dtype=np.int32).reshape(2, 3), "b": np.float32(1.5), "c": np.zeros((0, 4), np.int8)}
        doubled = code.call("double", values)
        assert doubled.keys() == values.keys()
        for name, value in values.items():
            np.testing.assert_array_equal(doubled[name], 2 * np.asarray(value))
            assert doubled[name].dtype == np.asarray(2 * value).dtype
        assert code.call("nothing") == {}
        large = np.arange(3 << 20, dtype=np.uint8)
        np.testing.assert_array_equal(code.call("double", {"x": large})["x"], 2 * large)
    assert describe_device(allowing.address).host_code


def test_it_runs_in_the_process_that_has_the_device(allowing, take):
    with take() as session:
        found = session.load_code(SOURCE).call("where")
        assert found["pid"] == allowing._session.worker._process.pid != os.getpid()
        assert found["device"].tobytes() == b"sim"


def test_measuring_in_a_way_of_ones_own(allowing, take, artifact, sample, compiled):
    with take() as session, session.load(artifact) as module:
        found = session.load_code(SOURCE).call("measure", sample, module)
        assert found["seconds"].shape == (3,)
        np.testing.assert_array_equal(found["output"], evaluate(compiled.graph, sample)[0])
        request = pb.CallRequest(session=session.key, code=session.load_code("")._number, function="f", module=99)
        with pytest.raises(RemoteError, match="the session has no module 99"):
            list(session.stream("Call", [pb.CallPart(request=request)], 10, "calling"))


def test_a_module_from_a_file_keeps_its_state(allowing, take, tmp_path):
    path = tmp_path / "code.py"
    path.write_text(SOURCE)
    with take() as session:
        first, second = session.load_code(path), session.load_code(path)
        assert [int(first.call("count")["calls"]) for _ in range(3)] == [1, 2, 3]
        assert int(second.call("count")["calls"]) == 1
    with take() as session:
        assert int(session.load_code(path).call("count")["calls"]) == 1


def test_what_goes_wrong_is_told_with_its_line(allowing, take, devices):
    line = SOURCE.splitlines().index('    return {"x": 1 // 0}') + 1
    with take() as session:
        code = session.load_code(SOURCE)
        assert f"fail raised ZeroDivisionError: integer division or modulo by zero (line {line})" in refused(
            lambda: code.call("fail")
        )
        assert "number returned int; allowed: arrays by name, or None" in refused(lambda: code.call("number"))
        assert "tensor 'x' has dtype object" in refused(lambda: code.call("objects"))
        assert "the code has no function 'absent'; there are: double, where" in refused(lambda: code.call("absent"))
        assert "the code does not load: SyntaxError: " in refused(lambda: session.load_code("def ("))
        assert "the code does not load: ValueError: no (line 2)" in refused(lambda: session.load_code("\nraise ValueError('no')"))
        assert "larger than max" in refused(lambda: session.load_code("#" * (MESSAGE_BYTES + 1)))
        assert code.call("nothing") == {}
    devices(1, 1)


def test_limits(serve, take, devices):
    from dataclasses import replace

    serve(allow_host_code=True, limits=replace(FAST, code_bytes=1 << 28))
    with take() as session:
        code = session.load_code(SOURCE)
        with pytest.raises(DeviceError, match=r"time limit: the call was not done after 0\.3 s, and was ended"):
            code.call("hang", limit_seconds=0.3)
        # The process that comes after it has the code, too, anew.
        assert int(code.call("count")["calls"]) == 1
        assert "grow raised" in refused(lambda: code.call("grow"))
        with pytest.raises(DeviceError, match="the process with the device died while the call: exit status 3"):
            code.call("leave")
        assert int(code.call("count")["calls"]) == 1
        for _ in range(63):
            session.load_code("")
        assert "the session has 64 pieces of code; that is the limit" in refused(lambda: session.load_code(""))
    devices(1, 1)


def test_what_code_starts_ends_with_the_session(allowing, take):
    with take() as session:
        started = int(session.load_code(SOURCE).call("start")["pid"])
        os.kill(started, 0)

    def gone():
        try:
            return Path(f"/proc/{started}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    try:
        until(gone, lambda: f"process {started} goes on")
    finally:
        if not gone():
            os.kill(started, signal.SIGKILL)


def test_other_machines_must_prove_who_they_are(tmp_path):
    for security in (None, Security(insecure=True)):
        with pytest.raises(UsageError, match=r"0\.0\.0\.0 is not loopback: allow_host_code needs certificates there"):
            DeviceServer(Address("0.0.0.0", 0), BASELINE, DeviceSpec(), security=security, allow_host_code=True)
    DeviceServer(LOCAL, BASELINE, DeviceSpec(), allow_host_code=True)
