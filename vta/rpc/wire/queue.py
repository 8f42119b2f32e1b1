"""What a tracker tells of its servers and of those who wait for them."""

from __future__ import annotations

from enum import Enum

from vta.support.dataclass import dataclass

__all__ = ["KeyCount", "Listed", "State"]


class State(Enum):
    """What a server says of itself."""

    FREE = "free"
    BUSY = "busy"
    DOWN = "down"


@dataclass(frozen=True)
class Listed:
    """A server as it last reported."""

    address: str
    key: str
    state: State
    ticket: str = ""
    """Opens one session on a free server."""
    reason: str = ""
    device: str = ""
    reachable: bool = True
    """Whether a connection to the address could be made."""


@dataclass(frozen=True)
class KeyCount:
    """A line of the queue's table."""

    key: str
    total: int
    """Servers that are up."""
    free: int
    pending: int
    """Clients that wait."""
