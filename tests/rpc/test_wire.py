"""The published protocol is the one that is spoken, and whatever else comes in is refused in one line."""

import io
import os
import re
import socket
from dataclasses import fields

import grpc
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rpc.support import ROOT
from vta.devices.device import Counters, Tokens, UnitCycles
from vta.errors import RemoteError, UsageError
from vta.rpc.server.pipe import frame, receive
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.address import Address, is_loopback, parse_address
from vta.rpc.wire.limits import MESSAGE_BYTES
from vta.rpc.wire.service import DEVICE, TRACKER, describe_error
from vta.rpc.wire.tensors import chunks, header, split_tensors, total_bytes
from vta.runtime.compare import Mismatch

PROTO = (ROOT / "vta/rpc/wire/vta_rpc.proto").read_text()
SERVICES = {"Tracker": TRACKER, "Device": DEVICE}


def name_of(message):
    return message.DESCRIPTOR.name


@pytest.mark.parametrize("name", SERVICES)
def test_the_methods_are_the_published_ones(name):
    service = SERVICES[name]
    body = re.search(rf"service {name} {{(.*?)\n}}", PROTO, re.DOTALL).group(1)
    published = re.findall(r"rpc (\w+)\((stream )?(\w+)\) returns \((stream )?(\w+)\)", body)
    ours = [
        (
            m.name,
            "stream " * m.streams_requests,
            m.request.DESCRIPTOR.name,
            "stream " * m.streams_replies,
            m.reply.DESCRIPTOR.name,
        )
        for m in service.methods
    ]
    assert ours == published
    assert service.name == f"vta.rpc.v1.{name}"


def test_the_generated_code_is_of_the_published_protocol():
    text = re.sub(r"//.*", "", PROTO)
    published = {}
    for name, body in re.findall(r"^message (\w+) {(.*?)}$", re.sub(r"oneof \w+ {([^}]*)}", r"\1", text), re.M | re.S):
        published[name] = set(re.findall(r"(\w+) = (\d+);", body))
    generated = {
        name: {(field.name, str(field.number)) for field in message.fields}
        for name, message in pb.DESCRIPTOR.message_types_by_name.items()
    }
    assert generated == published
    types = {"uint32": 13, "uint64": 4, "sint32": 17, "double": 1, "bool": 8, "string": 9, "bytes": 12}
    scalars = re.findall(r"^  (?:  )?(?:repeated |optional )?(\w+) (\w+) = \d+;", text, re.M)
    found = sorted((f.type, f.name) for m in pb.DESCRIPTOR.message_types_by_name.values() for f in m.fields)
    assert sorted((types[kind], name) for kind, name in scalars if kind in types) == [f for f in found if f[0] in types.values()]


@pytest.mark.parametrize(
    ("kind", "message"), [(Counters, "Counters"), (Tokens, "Tokens"), (UnitCycles, "UnitCycles"), (Mismatch, "Mismatch")]
)
def test_messages_carry_all_of_a_report(kind, message):
    assert {field.name for field in fields(kind)} == set(getattr(pb, message).DESCRIPTOR.fields_by_name)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9190", Address("127.0.0.1", 9190)),
        ("[::1]:1", Address("::1", 1)),
        ("board:65535", Address("board", 65535)),
    ],
)
def test_addresses(text, address):
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize("text", ["", "host", "host:", ":1", "host:0", "host:65536", "host:x", "::1:5", "host:1:2", "host:¹"])
def test_what_is_no_address(text):
    with pytest.raises(UsageError, match="is not an address; write HOST:PORT"):
        parse_address(text)


def test_loopback():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.1.2.3", "::1")))
    assert not any(map(is_loopback, ("", "0.0.0.0", "::", "10.0.0.1", "localhost.evil.org", "board")))


DTYPES = st.sampled_from(["bool", "int8", "uint8", "int32", "int64", "float32", "float64"])
SHAPES = st.lists(st.integers(0, 4), max_size=4)


@given(st.lists(st.tuples(DTYPES, SHAPES), max_size=4), st.integers(0, 99))
def test_tensors_come_back_as_they_were(kinds, seed):
    rng = np.random.default_rng(seed)
    arrays = {str(i): rng.integers(0, 99, shape).astype(dtype) for i, (dtype, shape) in enumerate(kinds)}
    headers = [header(name, array) for name, array in arrays.items()]
    data = np.frombuffer(b"".join(chunks(list(arrays.values()))), dtype=np.uint8)
    assert total_bytes(headers) == data.size
    back = split_tensors(headers, data)
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)


def test_tensors_that_cannot_be():
    one = pb.Tensor(name="a", dtype="int8", shape=[1])
    with pytest.raises(RemoteError, match="2 bytes of tensors came; their headers say 1"):
        split_tensors([one], np.zeros(2, dtype=np.uint8))
    with pytest.raises(RemoteError, match="tensor 'a' came twice"):
        split_tensors([one, one], np.zeros(2, dtype=np.uint8))
    with pytest.raises(RemoteError, match="tensor 'a': dtype 'O'"):
        total_bytes([pb.Tensor(name="a", dtype="O")])
    with pytest.raises(RemoteError, match="with 33 dimensions"):
        total_bytes([pb.Tensor(name="a", dtype="int8", shape=[1] * 33)])
    with pytest.raises(RemoteError, match="tensor 'a' has dtype object"):
        header("a", np.array([None]))


def test_frames():
    request = pb.WorkerRequest(load=pb.WorkerLoad(module=3, path="x"))
    stream = io.BytesIO(frame(request) + frame(request)[:-1])
    assert receive(stream, pb.WorkerRequest) == request
    with pytest.raises(RemoteError, match="the limit is"):
        frame(pb.RunPart(data=b"\0" * (MESSAGE_BYTES + 1)))
    with pytest.raises(RemoteError, match="a message of 4294967295 bytes; the limit is"):
        receive(io.BytesIO(b"\xff" * 8), pb.WorkerRequest)
    assert receive(io.BytesIO(b"\x01"), pb.WorkerRequest) is None


def test_errors_are_one_short_line():
    assert describe_error(RemoteError("a\n  b")) == "a b"
    assert describe_error(RemoteError("")) == "RemoteError"
    assert len(describe_error(RemoteError("x" * 5000))) == 1000


GREETINGS = (b"", b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01", b"\x00" * 64, b"\xff" * 4096)


def test_garbage_on_the_ports(serve, tracker, take, devices, artifact, sample):
    server = serve()
    for address in (tracker.address, server.address):
        for greeting in GREETINGS:
            with socket.create_connection((address.host, address.port), timeout=10) as connection:
                connection.sendall(greeting + os.urandom(200))
    devices(1, 1)
    with take() as session, session.load(artifact) as module:
        module.run(sample)


def raw_call(channel, service, method, messages):
    """Send bytes as messages; returns the status."""
    path = f"/{service.name}/{method.name}"
    try:
        call = getattr(channel, method.kind)(path, request_serializer=None, response_deserializer=None)
        reply = call(iter(messages) if method.streams_requests else messages[0], timeout=10)
        if method.streams_replies:
            next(reply, None)
            reply.cancel()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


ALLOWED = {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION}


def test_messages_that_do_not_decode(serve, tracker, take, devices, artifact, sample):
    server = serve()
    services = ((tracker.address, TRACKER), (server.address, DEVICE))
    channels = [(grpc.insecure_channel(str(address)), service) for address, service in services]

    @settings(max_examples=40, database=None)
    @given(st.data(), st.lists(st.binary(max_size=60), min_size=1, max_size=3))
    def fuzz(data, messages):
        channel, service = data.draw(st.sampled_from(channels))
        method = data.draw(st.sampled_from([m for m in service.methods if m.name != "Lease"]))
        assert raw_call(channel, service, method, messages) in ALLOWED

    fuzz()
    for channel, service in channels:
        for method in service.methods:
            assert raw_call(channel, service, method, [b"\x0a\xff"]) in ALLOWED - {grpc.StatusCode.OK}
        channel.close()
    with take() as session, session.load(artifact) as module:
        module.run(sample)
    devices(1, 1)
