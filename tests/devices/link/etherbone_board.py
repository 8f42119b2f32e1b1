"""A board on a loopback port of UDP, with Etherbone and numbered writes as the RTL has them; and a net that is bad."""

import random
import socket
import struct
import threading
from collections import deque

import numpy as np

from vta.hardware.system.address_map import ORDERED_BASE

HEAD = struct.Struct(">HBBI")
RECORD = struct.Struct(">BBBBI")


class Loopback:
    """A thread that gets what comes to a port."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.port = self.socket.getsockname()[1]
        self._ends = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self):
        self._ends = True
        self._thread.join()
        self.socket.close()

    def _serve(self):
        while not self._ends:
            try:
                data, sender = self.socket.recvfrom(2048)
            except OSError:
                continue
            self.got(data, sender)


class EtherboneBoard(Loopback):
    """Words by address; a write whose number is not the next is ignored."""

    def __init__(self, words=None, number=0):
        self.words = dict(words or {})
        self.number = number
        self.executed = []
        super().__init__()

    def got(self, data, sender):
        answer = self.answer(data)
        if answer is not None:
            self.socket.sendto(answer, sender)

    def answer(self, data):
        magic, flags, sizes, _ = HEAD.unpack_from(data)
        assert (magic, flags >> 4, sizes) == (0x4E6F, 1, 0x44)
        if flags & 1:
            return HEAD.pack(magic, 0x12, sizes, 0) + data[HEAD.size :]
        _, enabled, writes, reads, base = RECORD.unpack_from(data, HEAD.size)
        words = np.frombuffer(data[HEAD.size + RECORD.size :], ">u4")
        assert enabled == 15
        assert len(words) == writes + reads <= 252
        assert bool(writes) != bool(reads)
        if writes:
            self.write(base, [int(word) for word in words])
            return None
        found = [self.number if int(place) == ORDERED_BASE else self.words.get(int(place), 0) for place in words]
        return HEAD.pack(magic, 0x10, sizes, 0) + RECORD.pack(0, 15, reads, 0, base) + np.array(found, ">u4").tobytes()

    def write(self, base, words):
        assert base == ORDERED_BASE
        number, place, *values = words
        if number == self.number:
            self.number = (self.number + 1) % (1 << 32)
            self.executed.append((place, len(values)))
            self.words |= {place + 4 * index: value for index, value in enumerate(values)}


class BadNet(Loopback):
    """Stands between a host and a port: loses packets, sends them twice, and lets some come late."""

    def __init__(self, port, seed, permille):
        self.board = ("127.0.0.1", port)
        self.host = None
        self.random = random.Random(seed)
        self.permille = permille
        self.late = deque()
        self.lost = self.doubled = 0
        super().__init__()

    def got(self, data, sender):
        if sender != self.board:
            self.host = sender
        to = self.host if sender == self.board else self.board
        if self.happens():
            self.lost += 1
            return
        self.socket.sendto(data, to)
        if self.happens():
            self.doubled += 1
            self.late.append((data, to))
        if len(self.late) > 3 or (self.late and self.happens()):
            self.socket.sendto(*self.late.popleft())

    def happens(self):
        return self.random.randrange(1000) < self.permille
