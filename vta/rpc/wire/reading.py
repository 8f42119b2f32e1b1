"""Reading the messages of a client's stream."""

from __future__ import annotations

import asyncio
from typing import Any

from grpc.aio import EOF

from vta.errors import RemoteError
from vta.rpc.wire.service import Malformed

__all__ = ["read"]


async def read(context: Any, seconds: float, who: str) -> Any:
    """The next message, None at the end. Raises `RemoteError` if none comes within `seconds`, or one that does not decode."""
    try:
        message = await asyncio.wait_for(context.read(), seconds)
    except asyncio.TimeoutError:
        raise RemoteError(f"the {who} was silent for {seconds:g} s") from None
    if message is EOF:
        return None
    if isinstance(message, Malformed):
        raise RemoteError(f"the {who} sent a message that does not decode")
    return message
