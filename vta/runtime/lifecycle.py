"""What all devices share of their life: counting runs, remembering why the last one failed, being closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vta.errors import DeviceError
from vta.runtime.device import DeviceState, DeviceStatus

__all__ = ["Lifecycle"]


class Lifecycle:
    """Keeps the status of the device `name`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._closed = False
        self._error = ""
        self._runs = 0

    def status(self) -> DeviceStatus:
        """See `Device.status`."""
        if self._closed:
            return DeviceStatus(DeviceState.CLOSED, self._error, self._runs)
        return DeviceStatus(DeviceState.FAILED if self._error else DeviceState.READY, self._error, self._runs)

    def close(self) -> bool:
        """Return whether the device was open until now."""
        was_open, self._closed = not self._closed, True
        return was_open

    def check_open(self) -> None:
        """Raise `DeviceError` if the device is closed."""
        if self._closed:
            raise DeviceError(f"the {self._name} device is closed")

    @contextmanager
    def run(self) -> Iterator[None]:
        """Count a run, and remember the error if it fails."""
        self.check_open()
        self._runs += 1
        self._error = "the run was interrupted"
        try:
            yield
            self._error = ""
        except DeviceError as error:
            self._error = str(error)
            raise
