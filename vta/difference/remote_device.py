"""A device of another machine whose server runs code of its clients: its memory, and streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.devices.device import DEFAULT_OPTIONS, Counters, DeviceState, DeviceStatus, RunOptions, RunResult, Tokens
from vta.rpc.client.session import Session

__all__ = ["RemoteDevice"]

_CODE = Path(__file__).with_name("device_code.py")


class RemoteDevice:
    """The device of a session, as far as two runs are compared: runs go on with what the last one left, and count nothing.

    Raises `RemoteError` if the server does not run code of its clients. The session is whose it was.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._description = session.description
        self._code = session.load_code(_CODE)

    @property
    def name(self) -> str:
        """See `Device.name`."""
        return self._description.device

    @property
    def hw(self) -> HardwareConfig:
        """See `Device.hw`."""
        return self._description.hw

    @property
    def timing(self) -> TimingParameters | None:
        """See `Device.timing`."""
        return self._description.timing

    @property
    def memory_bytes(self) -> int:
        """See `Device.memory_bytes`."""
        return self._description.memory_bytes

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """See `Device.exclusive`."""
        with self._session.turn():
            yield

    def allocate(self, nbytes: int) -> int:
        """See `Device.allocate`."""
        return int(self._call("allocate", nbytes=nbytes)["address"])

    def free(self, address: int) -> None:
        """See `Device.free`."""
        self._call("free", address=address)

    def write(self, address: int, data: NDArray[np.uint8]) -> None:
        """See `Device.write`."""
        self._call("write", address=address, data=data)

    def read(self, address: int, nbytes: int) -> NDArray[np.uint8]:
        """See `Device.read`."""
        return self._call("read", address=address, nbytes=nbytes)["data"]

    def run(self, stream: NDArray[np.uint8], options: RunOptions = DEFAULT_OPTIONS) -> RunResult:
        """See `Device.run`; of the options the range, tokens and the limit count."""
        if not options.keep_state:
            self.reset()
        last = len(stream) if options.last is None else options.last
        tokens = {} if options.tokens is None else {"tokens": np.array(astuple(options.tokens))}
        bounds = np.array([options.first, last])
        given: dict[str, Any] = {"stream": stream, "range": bounds, **tokens}
        left = self._call("run", options.limit_seconds, **given)["tokens"]
        return RunResult(Counters(), (), Tokens(*left.tolist()), 0.0)

    def reset(self) -> None:
        """See `Device.reset`."""
        self._call("reset")

    def status(self) -> DeviceStatus:
        """See `Device.status`."""
        return DeviceStatus(DeviceState.CLOSED if self._session.closed else DeviceState.READY)

    def close(self) -> None:
        """Nothing: the session has the device."""

    def _call(self, function: str, limit_seconds: float | None = None, **given: Any) -> dict[str, NDArray[Any]]:
        arrays = {name: np.asarray(value) for name, value in given.items()}
        return self._code.call(function, arrays, limit_seconds=limit_seconds)
