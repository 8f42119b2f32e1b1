"""A Dask cluster: work that is sent there, and comes back whatever becomes of the workers."""

from __future__ import annotations

import gc
import math
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Generic, TypeVar

from vta.autotune.cluster.versions import Versions, check_versions, own_versions
from vta.errors import ClusterError
from vta.support.dataclass import dataclass

__all__ = ["Cluster", "Lost", "Slot"]

_ANSWER_SECONDS = 10.0
"""For the scheduler to answer."""
_IDLE_SECONDS = 60.0
"""Without any worker, after which a cluster counts as gone."""
_POLL_SECONDS = 2.0
_IN_FLIGHT = 3
"""Pieces of work for each thread of the cluster that are sent before one has come back."""


Key = TypeVar("Key")
Slot = tuple[str, int]
"""A thread of a worker: the worker's address, and a number."""
_NOBODY: tuple[Slot, ...] = (("", 0),)


@dataclass(frozen=True)
class _Sent(Generic[Key]):
    """Work that has not come back."""

    work: Key
    """What stands for it."""
    slot: Slot
    future: Any


@dataclass(frozen=True)
class Lost:
    """What became of a piece of work that took several workers with it."""

    message: str


class Cluster:
    """The cluster of a scheduler at `address`, such as ``tcp://10.0.0.1:8786`` or ``tls://head:8786``.

    `certificates` is a folder that `vta rpc certs` made, for addresses with ``tls://``; without it Dask's own configuration
    says where its certificates are. This side listens nowhere: it connects to the scheduler alone. Raises `ClusterError` if no
    scheduler or worker answers in time, if a worker has another version of vta or Python, or if Dask is not installed.
    """

    def __init__(
        self,
        address: str,
        certificates: Path | None = None,
        idle_seconds: float = _IDLE_SECONDS,
        answer_seconds: float = _ANSWER_SECONDS,
    ) -> None:
        self.address = address
        self._idle_seconds = idle_seconds
        self._answer_seconds = answer_seconds
        self._counted, self._known = -math.inf, _NOBODY
        self._distributed = _load_distributed()
        self._client = self._connected(certificates)
        try:
            self._check_workers()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Take back what was sent, and let go of the scheduler."""
        self._client.close(timeout=self._answer_seconds)

    @property
    def threads(self) -> int:
        """How much runs at a time at present: the threads of all workers, at least 1."""
        return len(self._slots())

    def _slots(self) -> tuple[Slot, ...]:
        """The threads of all workers; one of no worker where there is none."""
        now = time.monotonic()
        if now > self._counted + _POLL_SECONDS:
            found = [(worker, thread) for worker, count in self._client.nthreads().items() for thread in range(count)]
            self._counted, self._known = now, tuple(found) or _NOBODY
        return self._known

    def kept(self, value: Any) -> Any:
        """A stand-in for a value that many pieces of work need: it is sent once, and survives the workers."""
        with warnings.catch_warnings():
            # Dask says of large values that they are large.
            warnings.simplefilter("ignore")
            return self._client.submit(_same, value)

    def map(self, function: Callable[..., Any], works: Iterable[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
        """Call `function` with each tuple of arguments on some worker; gives index and result, or `Lost`, as they come.

        A worker that dies costs its work another try. Raises `ClusterError` if there is no worker for a minute, if the scheduler
        is gone, or what the function raised.
        """
        pending = enumerate(works)
        return self._ran(function, lambda _: next(pending, None), held=False)

    def deal(
        self, function: Callable[..., Any], take: Callable[[Slot], tuple[Key, tuple[Any, ...]] | None]
    ) -> Iterator[tuple[Key, Any]]:
        """The same for work that is dealt out: `take` gives, for a thread of a worker, the key of its next work and arguments.

        The work runs on that worker as long as it lives. None: nothing at present; it is asked again when some work has ended.
        """
        return self._ran(function, take, held=True)

    def _ran(
        self, function: Callable[..., Any], take: Callable[[Slot], tuple[Key, tuple[Any, ...]] | None], held: bool
    ) -> Iterator[tuple[Key, Any]]:
        running: dict[str, _Sent[Key]] = {}
        ended: SimpleQueue[Any] = SimpleQueue()
        seen = time.monotonic()
        try:
            while True:
                for slot in self._free(entry.slot for entry in running.values()):
                    if (work := take(slot)) is not None:
                        future = self._submitted(function, work[1], slot[0] if held else "")
                        running[future.key] = _Sent(work[0], slot, future)
                        future.add_done_callback(ended.put)
                if not running:
                    return
                try:
                    future = ended.get(timeout=_POLL_SECONDS)
                except Empty:
                    seen = self._last_seen(seen)
                    continue
                seen = time.monotonic()
                yield running.pop(future.key).work, self._result(future)
        except OSError as error:
            raise ClusterError(f"{self.address}: the scheduler is gone: {error}") from None
        finally:
            if running and self._client.status == "running":
                self._client.cancel([entry.future for entry in running.values()])

    def _free(self, busy: Iterable[Slot]) -> list[Slot]:
        """The threads that have less work than they may, once for each piece that they may be sent; in turn."""
        counts = Counter(busy)
        return [slot for count in range(_IN_FLIGHT) for slot in self._slots() if counts[slot] <= count]

    def _submitted(self, function: Callable[..., Any], arguments: tuple[Any, ...], worker: str) -> Any:
        """The future of a call, on that worker if it is named and lives."""
        where = {"workers": [worker], "allow_other_workers": True} if worker else {}
        return self._client.submit(_checked, own_versions(), function, *arguments, pure=False, **where)

    def _last_seen(self, before: float) -> float:
        """When there was a worker, that is now or `before`. Raises `ClusterError` where that is long ago."""
        if self._client.status == "running" and self._client.nthreads():
            return time.monotonic()
        if time.monotonic() - before > self._idle_seconds:
            raise ClusterError(f"{self.address}: no worker for {self._idle_seconds:g} s")
        return before

    def _result(self, future: Any) -> Any:
        try:
            return future.result(timeout=self._answer_seconds)
        except self._distributed.KilledWorker as error:
            return Lost(f"the workers that it ran on died: {error.last_worker.name if error.last_worker else ''}".rstrip(": "))
        except self._distributed.CancelledError:
            raise ClusterError(f"{self.address}: the scheduler dropped the work, or is gone") from None

    def _connected(self, certificates: Path | None) -> Any:
        security = None
        if certificates is not None:
            security = self._distributed.Security(
                require_encryption=True,
                tls_ca_file=str(certificates / "ca.pem"),
                tls_client_cert=str(certificates / "client.pem"),
                tls_client_key=str(certificates / "client.key"),
            )
        try:
            return self._distributed.Client(self.address, timeout=self._answer_seconds, set_as_default=False, security=security)
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            reason = str(error) or type(error).__name__
        # The client that did not come up closes where it is collected, under a lock: later that may be where the lock is held.
        gc.collect()
        raise ClusterError(f"{self.address}: no Dask scheduler: {reason}")

    def _check_workers(self) -> None:
        """Wait for a worker, and ask all for their versions; what is asked for needs nothing on the other side."""
        try:
            self._client.wait_for_workers(1, timeout=self._idle_seconds)
        except TimeoutError:
            raise ClusterError(f"{self.address}: no worker within {self._idle_seconds:g} s") from None
        ours = own_versions()
        for worker, answer in self._client.run(eval, _QUESTION, on_error="return").items():
            if isinstance(answer, BaseException):
                raise ClusterError(f"{self.address}: the worker {worker} has no vta: {answer}")
            python, version = answer
            differing = [
                f"{name} {theirs} there and {mine} here"
                for name, theirs, mine in (("Python", python, ours.python), ("vta", version, ours.vta))
                if theirs != mine
            ]
            if differing:
                raise ClusterError(f"{self.address}: the worker {worker} has {'; '.join(differing)}: install the same")


_QUESTION = "('{}.{}'.format(*__import__('sys').version_info), __import__('vta').__version__)"


def _same(value: Any) -> Any:
    return value


def _checked(theirs: Versions, function: Callable[..., Any], *arguments: Any) -> Any:
    """On the worker, which may be one that came later: what is asked for, if it is asked for by the same version."""
    check_versions(theirs, "a worker of the cluster")
    return function(*arguments)


def _load_distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ClusterError("a cluster needs the package distributed: pip install 'vta[cluster]'") from None
    return distributed
