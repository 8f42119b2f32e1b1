"""A client's own Python code on a server that allows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.rpc.wire import vta_rpc_pb2 as pb
from vta.rpc.wire.parts import receive_parts, send_parts
from vta.rpc.wire.tensors import header, split_tensors

if TYPE_CHECKING:
    from vta.rpc.client.remote_module import RemoteModule
    from vta.rpc.client.session import Session

__all__ = ["RemoteCode"]

Array = NDArray[Any]


class RemoteCode:
    """A Python module that `Session.load_code` sent; it goes with the session."""

    def __init__(self, session: Session, number: int) -> None:
        self._session = session
        self._number = number

    def call(
        self,
        function: str,
        inputs: Mapping[str, Array] | None = None,
        module: RemoteModule | None = None,
        limit_seconds: float | None = None,
    ) -> dict[str, Array]:
        """Call ``function(host, inputs)`` in the process that has the device; returns its arrays by name.

        `host.device` is the device, `host.module` the `vta.runtime.Module` that `module` stands for, or None. A call that takes
        longer than `limit_seconds` (None: the server's limit for runs) is ended; the process begins anew, with code and
        modules loaded again. Raises `RemoteError` with the line if the function raises, and `DeviceError` at the limit or if
        the process dies.
        """
        arrays = {name: np.asarray(array) for name, array in (inputs or {}).items()}
        request = pb.CallRequest(
            session=self._session.key,
            code=self._number,
            function=function,
            inputs=[header(name, array) for name, array in arrays.items()],
            limit_seconds=limit_seconds or 0.0,
        )
        if module is not None:
            module.check_open()
            request.module = module.number
        parts = send_parts(pb.CallPart, request, list(arrays.values()))
        seconds = limit_seconds or self._session.run_limit_seconds
        with self._session.turn():
            replies = self._session.stream("Call", parts, seconds, f"calling {function}")
            reply, data = receive_parts(replies, f"the call of {function}")
        return dict(split_tensors(reply.tensors, data))
