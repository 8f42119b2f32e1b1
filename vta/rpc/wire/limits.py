"""How long and how large anything may be."""

from __future__ import annotations

from vta.support.dataclass import dataclass

__all__ = [
    "CHUNK_BYTES",
    "KEYS",
    "KEY_CHARACTERS",
    "MESSAGE_BYTES",
    "SERVERS",
    "TICKET_CHARACTERS",
    "WAITERS",
    "WORDS_CHARACTERS",
    "Limits",
]

MESSAGE_BYTES = 4 << 20
"""Largest message that anyone accepts."""

CHUNK_BYTES = 1 << 20
"""Bytes of a file or of tensors in one message."""


KEY_CHARACTERS = 100
"""Of a key, and of the name of a device."""

TICKET_CHARACTERS = 100

WORDS_CHARACTERS = 200
"""Of a reason that a server gives; the rest is left out."""

SERVERS = 1000
WAITERS = 2000
"""What a tracker takes at most: with all fields at their longest its table still fits a message."""

KEYS = 1000
"""Keys without a server that a tracker remembers; the oldest are forgotten first."""


@dataclass(frozen=True)
class Limits:
    """Limits of a tracker or a server, which each sets for itself."""

    heartbeat_seconds: float = 2.0
    """Between two signs of life."""
    silence_seconds: float = 10.0
    """Who is silent for so long is taken for dead."""
    grant_seconds: float = 10.0
    """A granted device that no session opens is free again after so long."""
    unknown_key_seconds: float = 5.0
    """A key that no server has had yet is an error after so long; servers come back as fast after a tracker's restart."""
    register_seconds: float = 5.0
    """Who starts a server waits so long for a tracker to know it; after that it is tried on."""
    session_seconds: float = 3600.0
    """Longest session."""
    run_seconds: float = 600.0
    """Longest run, including the loading of a file."""
    start_seconds: float = 60.0
    """Longest start of the process that has the device."""
    process_bytes: int = 2 << 30
    """Memory that the process with the device may take beyond what it has when the device is open; 0: as much as there is."""
    code_bytes: int = 1 << 30
    """Memory that the code of a client may take beyond what its process has when the code comes."""
    upload_bytes: int = 1 << 30
    """Largest file, largest inputs of one run, and half of what one session may keep."""
