"""Whatever bytes and messages come in: what decodes them gives a value, or an error of ours."""

import asyncio
import contextlib
import io
import json

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.integer_graphs import BASELINE
from tests.rpc.messages import TEXTS, messages
from vta.devices.open_device import open_device
from vta.errors import RemoteError, VTAError
from vta.rpc.client.replies import check_from_reply, report_from_reply
from vta.rpc.client.session import describe
from vta.rpc.server.pipe import receive, receive_async
from vta.rpc.server.worker import Worker
from vta.rpc.tracker.tracker import _listed
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.address import parse_address
from vta.rpc.wire.calls import error_of
from vta.rpc.wire.parts import receive_parts
from vta.rpc.wire.tensors import split_tensors, total_bytes

KINDS = [pb.WorkerRequest, pb.WorkerReply, pb.ServerStatus, pb.Description, pb.RunReply, pb.CallRequest]


@given(st.binary(max_size=80), st.sampled_from(KINDS))
@example(b"\x05\0\0\0\x0a\xff\xff\xff\xff", pb.WorkerRequest)
@example(b"\x05\0\0\0\x0a", pb.WorkerRequest)
def test_bytes_on_the_pipe(data, kind):
    """At both of its ends."""

    async def read():
        stream = asyncio.StreamReader()
        stream.feed_data(data)
        stream.feed_eof()
        return await receive_async(stream, kind)

    for receiver in (lambda: receive(io.BytesIO(data), kind), lambda: asyncio.run(read())):
        with contextlib.suppress(RemoteError):
            found = receiver()
            assert found is None or isinstance(found, kind)


def test_a_message_that_breaks_off_is_the_end():
    framed = b"\x02\0\0\0\x0a"
    assert receive(io.BytesIO(framed), pb.WorkerRequest) is None
    with pytest.raises(RemoteError, match="what is no message"):
        receive(io.BytesIO(framed + b"\xff"), pb.WorkerRequest)


@given(st.lists(messages(pb.Tensor), max_size=4), st.binary(max_size=64))
@example([pb.Tensor(name="a", dtype="int8", shape=[0, 1 << 62, 1 << 62])], b"")
@example([pb.Tensor(name="a", dtype="int8", shape=[1 << 63, 0])], b"")
def test_tensors(headers, data):
    with contextlib.suppress(RemoteError):
        assert total_bytes(headers) >= 0
        arrays = split_tensors(headers, np.frombuffer(data, np.uint8))
        assert arrays.keys() == {tensor.name for tensor in headers}


@given(messages(pb.RunReply), st.dictionaries(TEXTS, st.sampled_from([np.zeros(3, np.int8), np.zeros((1, 16, 4, 4), np.int8)])))
@settings(max_examples=200)
def test_reports(compiled, reply, arrays):
    """Of a module with one output, some of the time in the right shape."""
    if reply.outputs % 2:
        reply.outputs = 1
        arrays["0"] = np.zeros(compiled.graph.outputs[0].shape, np.int8)
    for run in reply.runs:
        run.region %= 3
    with contextlib.suppress(RemoteError):
        report = report_from_reply(compiled, reply, arrays)
        assert len(report.outputs) == 1
        assert isinstance(check_from_reply(report, reply.check).bit_exact, bool)


DEEP = "[" * 5000
TIMES = ("dispatched", "accepted", "completed", "busy", "memory", "token")


@pytest.mark.parametrize("wrong", [np.zeros(2, np.int8), np.zeros(3, np.int64), np.zeros((2, 1), np.int64)])
def test_times_that_are_none(compiled, wrong):
    arrays = {"0": np.zeros(compiled.graph.outputs[0].shape, np.int8)}
    arrays |= {f"0.{name}": np.zeros(2, np.int64) for name in TIMES}
    reply = pb.RunReply(outputs=1, runs=[pb.DeviceRun()])
    assert report_from_reply(compiled, reply, arrays).results[0][1].times is not None
    with pytest.raises(RemoteError, match="the server sent times of instructions that do not go together"):
        report_from_reply(compiled, reply, {**arrays, "0.busy": wrong})


@given(messages(pb.CheckReply))
def test_checks(reply):
    found = check_from_reply(None, reply)
    assert found.bit_exact == (not reply.HasField("mismatch"))
    assert found.bit_exact or str(found.mismatch)


@given(messages(pb.Description))
@example(pb.Description(config_json=DEEP))
@example(pb.Description(config_json=json.dumps(BASELINE.to_json()), timing_json=DEEP))
@example(pb.Description(config_json=json.dumps(BASELINE.to_json()), timing_json='{"bus_bits": [1]}'))
@example(pb.Description(config_json=json.dumps(BASELINE.to_json()), timing_json='"text"'))
@example(pb.Description(config_json="null"))
@example(pb.Description(config_json='{"TARGET": "sim"}', timing_json="[]"))
def test_descriptions(description):
    with contextlib.suppress(VTAError):
        describe(description)


@given(st.sampled_from([pb.RunReplyPart, pb.CallReplyPart]).flatmap(lambda kind: st.lists(messages(kind), max_size=4)))
def test_streams_of_replies(parts):
    with contextlib.suppress(RemoteError):
        reply, data = receive_parts(iter(parts), "the run")
        assert data.dtype == np.uint8
        assert reply is not None


@given(messages(pb.ServerStatus), TEXTS)
def test_servers_that_report_themselves(status, peer):
    with contextlib.suppress(VTAError):
        listed = _listed(status, peer)
        assert listed.key


@given(TEXTS | st.text(alphabet="0123456789:[]abc.", max_size=12))
def test_addresses(text):
    with contextlib.suppress(VTAError):
        assert parse_address(text).port > 0


@given(TEXTS | st.sampled_from(["DeviceError", "Exception", "SystemExit", "VTAError", "annotations"]), TEXTS)
def test_errors_of_other_processes(kind, message):
    assert isinstance(error_of(kind, message), VTAError)


@given(message=messages(pb.WorkerRequest))
@settings(max_examples=150)
def test_a_worker_answers_any_request(tmp_path_factory, message):
    """With an error, if it must; but code is not for this process."""
    if message.WhichOneof("request") in ("code", "open"):
        return
    message.input_path = message.output_path = str(tmp_path_factory.getbasetemp() / "tensors")
    assert Worker(open_device).answer(message).WhichOneof("reply") == "error"


@given(messages(pb.WorkerOpen))
def test_a_worker_opens_only_what_there_is(given):
    if given.device in ("rtl", "opencl"):
        return
    given.memory_bytes %= 1 << 16
    assert Worker(open_device).answer(pb.WorkerRequest(open=given)).WhichOneof("reply") == "error"
