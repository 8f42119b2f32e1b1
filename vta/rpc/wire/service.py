"""The methods of the published protocol, for servers and for clients, without generated stubs.

Servers answer a message that does not decode with a one-line error, like any other mistake of a client.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import grpc

from vta.errors import VTAError
from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.limits import MESSAGE_BYTES
from vta.support.dataclass import dataclass
from vta.support.shorten import printable

__all__ = [
    "CHANNEL_OPTIONS",
    "DEVICE",
    "ERROR_CHARACTERS",
    "ERROR_KEY",
    "SERVER_OPTIONS",
    "SESSION_FOLDER",
    "TRACKER",
    "Malformed",
    "Stub",
    "describe_error",
    "handler",
    "reason_of",
]

ERROR_KEY = "vta-error"

_SIZES = [("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES)]
# Without SO_REUSEPORT a second server on a port is an error, and does not take half of the calls.
SERVER_OPTIONS = [*_SIZES, ("grpc.so_reuseport", 0)]
# Reconnecting is the business of whoever connects: a channel never waits long in between, and shares no back-off with others.
CHANNEL_OPTIONS = [
    *_SIZES,
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
]
ERROR_CHARACTERS = 1000

SESSION_FOLDER = "vta-session-"
"""How the names of folders begin in which a server keeps files of its clients."""
_FOLDERS = re.compile(rf"[^\s'\"]*/{SESSION_FOLDER}[^/\s]+/(\d+/)?")


@dataclass(frozen=True)
class Method:
    """A method of a service."""

    name: str
    request: Any
    reply: Any
    streams_requests: bool = False
    streams_replies: bool = False

    @property
    def kind(self) -> str:
        """As gRPC names it, e.g. ``unary_stream``."""
        names = ("unary", "stream")
        return f"{names[self.streams_requests]}_{names[self.streams_replies]}"


@dataclass(frozen=True)
class Service:
    """A service with its methods."""

    name: str
    methods: tuple[Method, ...]


TRACKER = Service(
    "vta.rpc.v1.Tracker",
    (
        Method("Register", pb.ServerStatus, pb.TrackerUpdate, True, True),
        Method("Lease", pb.LeaseRequest, pb.LeaseUpdate, False, True),
        Method("Query", pb.QueryRequest, pb.QueryReply),
    ),
)
DEVICE = Service(
    "vta.rpc.v1.Device",
    (
        Method("Describe", pb.DescribeRequest, pb.Description),
        Method("Hold", pb.Beat, pb.SessionUpdate, True, True),
        Method("Configure", pb.ConfigureRequest, pb.Description),
        Method("Program", pb.UploadPart, pb.Description, True, False),
        Method("Upload", pb.UploadPart, pb.UploadReply, True, False),
        Method("Run", pb.RunPart, pb.RunReplyPart, True, True),
        Method("Measure", pb.MeasureRequest, pb.MeasureReply),
        Method("Unload", pb.UnloadRequest, pb.UnloadReply),
        Method("LoadCode", pb.LoadCodeRequest, pb.LoadCodeReply),
        Method("Call", pb.CallPart, pb.CallReplyPart, True, True),
        Method("DescribeGpu", pb.GpuRequest, pb.GpuReply),
    ),
)


class Malformed:
    """What a server receives in place of a message that does not decode."""


class Stub:
    """Calls of a service over a channel, by the names of its methods."""

    def __init__(self, channel: Any, service: Service) -> None:
        for method in service.methods:
            make = getattr(channel, method.kind)
            path = f"/{service.name}/{method.name}"
            call = make(path, request_serializer=method.request.SerializeToString, response_deserializer=method.reply.FromString)
            setattr(self, method.name, call)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def handler(service: Service, servicer: Any) -> Any:
    """The gRPC handler that answers `service` with the asynchronous methods of `servicer`, named in lower case.

    A method that streams its requests is called with the context alone and reads from it; one that streams its replies
    writes to it. What it raises of `VTAError` becomes the error of the call.
    """
    methods = {}
    for method in service.methods:
        make = getattr(grpc, f"{method.kind}_rpc_method_handler")
        behavior = _behavior(getattr(servicer, method.name.lower()), method)
        methods[method.name] = make(
            behavior,
            request_deserializer=functools.partial(_decode, method.request),
            response_serializer=method.reply.SerializeToString,
        )
    return grpc.method_handlers_generic_handler(service.name, methods)


def describe_error(error: VTAError) -> str:
    """One line, short enough for a header."""
    return _told(str(error)) or type(error).__name__


def reason_of(error: Exception) -> str:
    """The same for an error of any kind: what the system refused and where, or that it is a fault of ours."""
    if isinstance(error, VTAError):
        return describe_error(error)
    if isinstance(error, OSError):
        words = error.strerror or str(error) or type(error).__name__
        return _told(f"{error.filename}: {words}" if error.filename else words)
    if isinstance(error, MemoryError):
        return printable(f"out of memory: {error}" if str(error) else "out of memory", ERROR_CHARACTERS)
    return printable(f"internal error: {type(error).__name__}: {error}", ERROR_CHARACTERS)


def _told(text: str) -> str:
    """What a client is told: its own files are called as it called them, wherever the server keeps them."""
    return printable(_FOLDERS.sub("", text), ERROR_CHARACTERS)


def _decode(message: Any, data: bytes) -> Any:
    try:
        return message.FromString(data)
    except Exception:  # Each protobuf has its own error for it.
        return Malformed()


def _behavior(function: Callable[..., Any], method: Method) -> Callable[..., Any]:
    async def behave(request: Any, context: Any) -> Any:
        try:
            if method.streams_requests:
                return await function(context)
            if isinstance(request, Malformed):
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"not a {method.request.DESCRIPTOR.name} message")
            return await function(request, context)
        except VTAError as error:
            context.set_trailing_metadata(((ERROR_KEY, type(error).__name__),))
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, describe_error(error))
        except grpc.aio.AbortError:
            raise
        except Exception as error:  # gRPC would write a traceback to standard error, and tell the client less.
            await context.abort(grpc.StatusCode.INTERNAL, reason_of(error))

    return behave
