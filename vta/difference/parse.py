"""Sides by their texts: ``FILE@WHERE``, a file and what runs it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from vta.boards.files import is_board
from vta.devices.device import Device
from vta.devices.open_device import DEVICE_KINDS, DeviceSpec, open_device
from vta.difference.frameworks import FRAMEWORKS
from vta.difference.remote_device import RemoteDevice
from vta.difference.sides import FrameworkSide, ModelSide, ModuleSide, RemoteSide, Side
from vta.errors import RemoteError, UsageError
from vta.rpc.client.session import Session
from vta.runtime.compiled_module import CompiledModule, load

__all__ = ["FRAMEWORK", "REFERENCE", "Connect", "side_of"]

REFERENCE, FRAMEWORK = "reference", "framework"
_ARTIFACT = ".vta"
_DEFAULT_DEVICE = "sim"

Connect = Callable[[str, str, ExitStack], Session]
"""Opens a session with a device of another machine, by its address and the key of a tracker ("" for a server)."""


def side_of(text: str, stack: ExitStack, connect: Connect | None = None) -> Side:
    """The side that ``FILE@WHERE`` names; `stack` closes what is opened for it.

    A `.vta` file runs on a device (default: ``sim``; ``HOST:PORT`` or ``HOST:PORT/KEY`` is one of another machine), or by its
    ``reference``. A model runs by its ``framework`` (the default for files that have one) or, as it is imported, by its
    ``reference``. Raises `UsageError` naming what is allowed, and a `VTAError` if a file or device cannot be had.
    """
    name, _, where = text.rpartition("@") if "@" in text and not Path(text).exists() else (text, "", "")
    path = Path(name)
    if path.suffix == _ARTIFACT:
        return _module_side(text, path, where or _DEFAULT_DEVICE, stack, connect)
    where = where or (FRAMEWORK if path.suffix in FRAMEWORKS else REFERENCE)
    if where == FRAMEWORK:
        return FrameworkSide(text, path)
    if where == REFERENCE:
        return ModelSide(text, path if path.exists() else name)
    raise UsageError(
        f"{text}: a model runs by its {FRAMEWORK} or its {REFERENCE}, not on {where}; only a .vta file runs on devices"
    )


def _module_side(text: str, path: Path, where: str, stack: ExitStack, connect: Connect | None) -> Side:
    module = load(path)
    if where == REFERENCE:
        return ModuleSide(text, module)
    address, _, key = where.partition("/")
    if ":" in address and not is_board(where):
        if connect is None:
            raise UsageError(f"{text}: devices of other machines are not to be had here")
        return _remote_side(text, module, connect(address, key, stack), stack)
    if where not in DEVICE_KINDS and not is_board(where):
        allowed = ", ".join([REFERENCE, *DEVICE_KINDS])
        raise UsageError(f"{text}: no device {where!r}; allowed: {allowed}, a board, or HOST:PORT[/KEY]")
    return ModuleSide(text, module, _opened(module, where, stack))


def _remote_side(text: str, module: CompiledModule, session: Session, stack: ExitStack) -> Side:
    """All values of the device, where its server runs code of its clients; else what the module gives there."""
    loaded = stack.enter_context(session.load(module))
    try:
        device = RemoteDevice(session)
    except RemoteError as error:
        return RemoteSide(text, module, loaded, str(error))
    loaded.close()
    return ModuleSide(text, module, device)


def _opened(module: CompiledModule, kind: str, stack: ExitStack) -> Device:
    device = open_device(module.hw, DeviceSpec(kind))
    stack.callback(device.close)
    return device
