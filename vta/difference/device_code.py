"""What a server runs for `RemoteDevice`: the calls of its device, whose arguments and results are arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vta.devices.device import RunOptions, Tokens

if TYPE_CHECKING:
    from vta.rpc.server.host_code import Host

Arrays = Mapping[str, NDArray[Any]]


def allocate(host: Host, inputs: Arrays) -> Arrays:
    """Reserve `nbytes`."""
    return {"address": np.array(host.device.allocate(int(inputs["nbytes"])))}


def free(host: Host, inputs: Arrays) -> None:
    """Give `address` back."""
    host.device.free(int(inputs["address"]))


def write(host: Host, inputs: Arrays) -> None:
    """Copy `data` to `address`."""
    host.device.write(int(inputs["address"]), inputs["data"])


def read(host: Host, inputs: Arrays) -> Arrays:
    """Copy `nbytes` from `address`."""
    return {"data": host.device.read(int(inputs["address"]), int(inputs["nbytes"]))}


def reset(host: Host, inputs: Arrays) -> None:
    """Clear what is on chip."""
    host.device.reset()


def run(host: Host, inputs: Arrays) -> Arrays:
    """Execute [`first`, `last`) of a stream, with what the last run left, and with `tokens` if they are given."""
    tokens = Tokens(*inputs["tokens"].tolist()) if "tokens" in inputs else None
    first, last = inputs["range"].tolist()
    options = RunOptions(checks=False, keep_state=True, first=first, last=last, tokens=tokens, limit_seconds=None)
    left = host.device.run(inputs["stream"], options).tokens
    queues = left.load_to_compute, left.compute_to_load, left.compute_to_store, left.store_to_compute
    return {"tokens": np.array(queues)}
