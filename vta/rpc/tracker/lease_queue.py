"""Who gets which device: the state of a tracker, without network and clock. Times are seconds of any one clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from itertools import count

from vta.rpc.wire.limits import KEYS
from vta.rpc.wire.queue import KeyCount, Listed, State
from vta.support.dataclass import dataclass

__all__ = ["Granted", "LeaseQueue", "Waiter"]


@dataclass(frozen=True)
class Granted:
    """The device that a waiter was given."""

    address: str
    ticket: str


@dataclass(eq=False)
class Waiter:
    """A client that waits for a device."""

    key: str
    priority: int
    since: float
    order: int
    granted: Granted | None = None


@dataclass(eq=False)
class _Server:
    listed: Listed
    granted_at: float | None = None
    """When its present ticket was granted, None if it was not."""
    renew: bool = False
    """Its ticket was given back: nobody else gets it."""

    @property
    def free(self) -> bool:
        return self.listed.state is State.FREE and self.granted_at is None and not self.renew


@dataclass(eq=False)
class LeaseQueue:
    """Servers, and clients that wait for one of them.

    Free servers and waiters meet in `match`; a ticket that is granted and not used within `grant_seconds` has to be renewed.
    """

    grant_seconds: float
    most_keys: int = KEYS
    """Keys that are remembered."""
    _servers: dict[str, _Server] = field(default_factory=dict)
    _waiters: list[Waiter] = field(default_factory=list)
    _orders: Iterator[int] = field(default_factory=count)
    _known_keys: dict[str, None] = field(default_factory=dict)
    """The one that a server reported last comes last."""

    def report(self, listed: Listed) -> None:
        """Take in what a server says."""
        known = self._servers.get(listed.address)
        self._remember(listed.key)
        if known is None or listed.state is not State.FREE or known.listed.ticket != listed.ticket:
            self._servers[listed.address] = _Server(listed)
        else:
            known.listed = listed

    def remove(self, address: str) -> None:
        """Take a server out."""
        self._servers.pop(address, None)

    def enqueue(self, key: str, priority: int, now: float) -> Waiter:
        """Let a client wait."""
        waiter = Waiter(key, priority, now, next(self._orders))
        self._waiters.append(waiter)
        self._waiters.sort(key=lambda waiter: (-waiter.priority, waiter.order))
        return waiter

    def cancel(self, waiter: Waiter) -> None:
        """A client waits no longer. If it was granted a device that it cannot have learnt of, that is free again soon."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        granted = waiter.granted
        server = self._servers.get(granted.address) if granted else None
        if granted and server and server.listed.ticket == granted.ticket:
            server.renew = True

    def match(self, now: float) -> list[Waiter]:
        """Grant free servers to waiters, the first first; returns those who got one."""
        served = []
        for waiter in list(self._waiters):
            server = next((s for s in self._servers.values() if s.free and s.listed.key == waiter.key), None)
            if server is not None:
                server.granted_at = now
                waiter.granted = Granted(server.listed.address, server.listed.ticket)
                self._waiters.remove(waiter)
                served.append(waiter)
        return served

    def must_renew(self, address: str, now: float) -> bool:
        """Whether the server has to make another ticket."""
        server = self._servers.get(address)
        if server is None or server.listed.state is not State.FREE:
            return False
        unused = server.granted_at is not None and now - server.granted_at >= self.grant_seconds
        return server.renew or unused

    def position(self, waiter: Waiter) -> int:
        """How many clients with the same key come before."""
        return sum(1 for other in self._waiters[: self._waiters.index(waiter)] if other.key == waiter.key)

    def is_known(self, key: str) -> bool:
        """Whether any server has had the key, as far back as is remembered."""
        return key in self._known_keys

    @property
    def servers_count(self) -> int:
        """How many servers report."""
        return len(self._servers)

    @property
    def waiters_count(self) -> int:
        """How many clients wait."""
        return len(self._waiters)

    def has(self, address: str) -> bool:
        """Whether the server at `address` reports."""
        return address in self._servers

    def servers(self) -> list[Listed]:
        """All servers that report, by key and address."""
        return sorted((server.listed for server in self._servers.values()), key=lambda listed: (listed.key, listed.address))

    def table(self) -> list[KeyCount]:
        """The line of each key that has a server or a waiter."""
        keys = {server.listed.key for server in self._servers.values()} | {waiter.key for waiter in self._waiters}
        return [self._count(key) for key in sorted(keys)]

    def _remember(self, key: str) -> None:
        self._known_keys.pop(key, None)
        self._known_keys[key] = None
        while len(self._known_keys) > self.most_keys:
            del self._known_keys[next(iter(self._known_keys))]

    def _count(self, key: str) -> KeyCount:
        servers = [server for server in self._servers.values() if server.listed.key == key]
        return KeyCount(
            key=key,
            total=sum(1 for server in servers if server.listed.state is not State.DOWN),
            free=sum(1 for server in servers if server.free),
            pending=sum(1 for waiter in self._waiters if waiter.key == key),
        )
