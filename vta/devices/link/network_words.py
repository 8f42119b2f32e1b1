"""Words of a system behind a network: Etherbone over UDP, whose packets may be lost, come twice, or come late."""

from __future__ import annotations

import logging
import select
import socket
import time
from collections import deque
from collections.abc import Callable
from random import SystemRandom

import numpy as np
from numpy.typing import NDArray

from vta.devices.link.etherbone import (
    MOST_READS,
    MOST_WRITES,
    Answer,
    ProbeAnswer,
    parse_packet,
    probe_packet,
    read_packet,
    write_packet,
)
from vta.devices.link.words import WORD_BYTES
from vta.errors import DeviceError
from vta.hardware.system.address_map import ORDERED_BASE, Ordered
from vta.support.dataclass import dataclass

__all__ = ["NetworkWords", "Patience"]

_log = logging.getLogger(__name__)

_WINDOW = 6
"""Packets on their way: what the board's buffer holds (`vta.bitstream.ethernet_core`), with the questions after them."""
_WORDS_OF_WRITE = 248
"""In one packet: as many as fit, beside their number and their address, in whole lines of memory."""
_LONGEST_DATAGRAM = 1 << 11
_NUMBERS = 1 << 32
_ROUNDS = 4
"""So many times as long as an answer takes may pass before it is asked for again."""


@dataclass(frozen=True)
class Patience:
    """How long answers may take, in seconds."""

    first: float = 0.25
    """Before any came, until it is asked again; later it follows from how long they took."""
    least: float = 0.02
    most: float = 2.0
    """Between two times of asking: each is twice as long as the last."""
    total: float = 10.0
    """Without an answer the board is gone."""


@dataclass
class Traffic:
    """What went over the link."""

    written: int = 0
    read: int = 0
    """Words."""
    packets: int = 0
    """Sent, those that were repeated among them."""
    repeated: int = 0
    busy: float = 0.0
    """Seconds in which something was sent or waited for."""


class NetworkWords:
    """Reads and writes 32-bit words of the board at HOST and a port of UDP. See `WordLink`.

    Writes carry numbers, and the board executes each once and in its order (`Ordered`), so that packets may be sent again.
    One host at a time can write.
    """

    def __init__(self, host: str, port: int, patience: Patience | None = None) -> None:
        """Raises `DeviceError` if nobody answers there, or what answers is not Etherbone."""
        self._place = f"{host}:{port}"
        self._patience = patience or Patience()
        self._wait = self._patience.first
        self._taken: float | None = None
        self._tag = SystemRandom().randrange(_NUMBERS)
        self._next: int | None = None
        """The number of the next write; None: the board has not been asked yet."""
        self._unanswered: deque[bytes] = deque()
        """Writes that the board has not said to have, the first of them first."""
        self._asked: dict[int, float] = {}
        """When the questions about them were asked, by tag."""
        self.traffic = Traffic()
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_DGRAM)[0]
            self._socket = socket.socket(family, kind, protocol)
            self._socket.connect(address)
        except OSError as error:
            raise DeviceError(f"{self._place}: no link: {error.strerror or error}") from None
        self._socket.setblocking(False)
        try:
            self._probe()
        except BaseException:
            self._socket.close()
            raise

    def read(self, address: int, count: int) -> NDArray[np.uint32]:
        """See `WordLink.read`."""
        started = time.perf_counter()
        self._settle()
        addresses = (address + WORD_BYTES * np.arange(count, dtype=np.uint64)).astype(np.uint32)
        found = self._ask([addresses[first : first + MOST_READS] for first in range(0, count, MOST_READS)])
        self.traffic.read += count
        self.traffic.busy += time.perf_counter() - started
        return np.concatenate(found) if found else np.zeros(0, np.uint32)

    def write(self, address: int, words: NDArray[np.uint32]) -> None:
        """See `WordLink.write`."""
        started = time.perf_counter()
        if self._next is None:
            self._next = int(self._ask([np.array([ORDERED_BASE + Ordered.NUMBER], np.uint32)])[0][0])
        for first in range(0, len(words), _WORDS_OF_WRITE):
            while len(self._unanswered) >= _WINDOW:
                self._wait_for_writes()
            self._send_write(address + WORD_BYTES * first, words[first : first + _WORDS_OF_WRITE])
        self.traffic.written += len(words)
        self.traffic.busy += time.perf_counter() - started

    def close(self) -> None:
        """See `WordLink.close`."""
        try:
            self._settle()
        except DeviceError as error:
            _log.warning("%s", error)
        traffic = self.traffic
        moved = WORD_BYTES * (traffic.written + traffic.read)
        _log.info(
            "%s: %d bytes in %.2f s, %.2f MB/s; %d packets, %d of them again",
            *(self._place, moved, traffic.busy, moved / 1e6 / max(traffic.busy, 1e-9), traffic.packets, traffic.repeated),
        )
        self._socket.close()

    def _probe(self) -> None:
        tag = self._new_tag()
        self._until(lambda packet: isinstance(packet, ProbeAnswer), lambda: [probe_packet(tag)])

    def _send_write(self, address: int, words: NDArray[np.uint32]) -> None:
        assert self._next is not None, "the board was asked for it"
        numbered = np.concatenate([np.array([self._next, address], np.uint32), words.astype(np.uint32)])
        assert len(numbered) <= MOST_WRITES
        packet = write_packet(ORDERED_BASE + Ordered.NUMBER, numbered)
        self._next = (self._next + 1) % _NUMBERS
        self._unanswered.append(packet)
        self._send(packet)
        self._send(self._question())

    def _settle(self) -> None:
        """Wait until the board has all that was written."""
        while self._unanswered:
            self._wait_for_writes()
        self._asked.clear()

    def _wait_for_writes(self) -> None:
        """Wait until the board has one write more, or several."""

        def again() -> list[bytes]:
            self.traffic.repeated += len(self._unanswered)
            return [*self._unanswered, self._question()]

        self._until(self._take_number, again, ask_first=False)

    def _question(self) -> bytes:
        tag = self._new_tag()
        self._asked[tag] = time.monotonic()
        return read_packet(tag, np.array([ORDERED_BASE + Ordered.NUMBER], np.uint32))

    def _take_number(self, packet: Answer | ProbeAnswer) -> bool:
        """Let go of the writes that the board has, if `packet` says of any."""
        if not isinstance(packet, Answer) or packet.tag not in self._asked or len(packet.words) != 1:
            return False
        assert self._next is not None, "only then it is asked for"
        self._learn(time.monotonic() - self._asked.pop(packet.tag))
        missing = (self._next - int(packet.words[0])) % _NUMBERS
        if missing > len(self._unanswered):
            if missing > _NUMBERS // 2 or missing > _WINDOW + len(self._asked):
                raise DeviceError(
                    f"{self._place}: the board expects write {int(packet.words[0])}, and {self._next} is the next: "
                    "it was reset, or another host uses it"
                )
            return False
        arrived = len(self._unanswered) - missing
        for _ in range(arrived):
            self._unanswered.popleft()
        return arrived > 0

    def _ask(self, questions: list[NDArray[np.uint32]]) -> list[NDArray[np.uint32]]:
        """The words at the addresses of each question."""
        found: list[NDArray[np.uint32] | None] = [None] * len(questions)
        waiting: dict[int, tuple[int, float]] = {}
        todo = deque(range(len(questions)))

        def packet_of(index: int) -> bytes:
            tag = self._new_tag()
            waiting[tag] = (index, time.monotonic())
            return read_packet(tag, questions[index])

        def begin() -> None:
            while todo and len({index for index, _ in waiting.values()}) < _WINDOW:
                self._send(packet_of(todo.popleft()))

        def again() -> list[bytes]:
            missing = sorted({index for index, _ in waiting.values()})
            self.traffic.repeated += len(missing)
            return [packet_of(index) for index in missing]

        def take(packet: Answer | ProbeAnswer) -> bool:
            if not isinstance(packet, Answer) or packet.tag not in waiting:
                return False
            index, asked = waiting[packet.tag]
            if len(packet.words) != len(questions[index]):
                return False
            self._learn(time.monotonic() - asked)
            found[index] = packet.words
            for tag in [tag for tag, (other, _) in waiting.items() if other == index]:
                del waiting[tag]
            return True

        begin()
        while waiting:
            self._until(take, again, ask_first=False)
            begin()
        return [words for words in found if words is not None]

    def _until(
        self,
        take: Callable[[Answer | ProbeAnswer], bool],
        again: Callable[[], list[bytes]],
        ask_first: bool = True,
    ) -> None:
        """Take what comes until `take` says that it is what was waited for; send `again` each time that it is late.

        Raises `DeviceError` if nothing comes for as long as patience lasts.
        """
        if ask_first:
            for packet in again():
                self._send(packet)
        ends, wait = time.monotonic() + self._patience.total, self._wait
        while True:
            late = time.monotonic() + wait
            while (left := late - time.monotonic()) > 0:
                packet_in = self._receive(left)
                if packet_in is not None and take(packet_in):
                    return
            if time.monotonic() > ends:
                raise DeviceError(
                    f"{self._place}: no answer for {self._patience.total:g} s; is the board on, its cable in, "
                    "and its address in this machine's network?"
                )
            for packet in again():
                self._send(packet)
            wait = min(2 * wait, self._patience.most)

    def _send(self, packet: bytes) -> None:
        self.traffic.packets += 1
        try:
            select.select([], [self._socket], [], self._patience.total)
            self._socket.send(packet)
        except OSError as error:
            raise self._gone(error) from None

    def _receive(self, seconds: float) -> Answer | ProbeAnswer | None:
        """The next packet, or None if none comes within `seconds`. Raises `DeviceError` for one that is not Etherbone."""
        try:
            if not select.select([self._socket], [], [], seconds)[0]:
                return None
            data = self._socket.recv(_LONGEST_DATAGRAM)
        except BlockingIOError:
            return None
        except OSError as error:
            raise self._gone(error) from None
        try:
            return parse_packet(data)
        except ValueError as error:
            raise DeviceError(f"{self._place}: what answers is no board of this package: {error}") from None

    def _gone(self, error: OSError) -> DeviceError:
        if isinstance(error, ConnectionRefusedError):
            return DeviceError(f"{self._place}: there is a machine, and nothing that listens to this port of UDP")
        return DeviceError(f"{self._place}: the link broke: {error.strerror or error}")

    def _new_tag(self) -> int:
        self._tag = (self._tag + 1) % _NUMBERS
        return self._tag

    def _learn(self, seconds: float) -> None:
        """Follow how long answers take."""
        self._taken = seconds if self._taken is None else self._taken + (seconds - self._taken) / 8
        self._wait = min(max(_ROUNDS * self._taken, self._patience.least), self._patience.most)
