"""Machine code of kernels, kept where it was made before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vta.files.cache import Arrays, remembered

__all__ = ["kept_binary"]


def kept_binary(text: str, compiler: str, make: Callable[[], bytes]) -> bytes:
    """The code of a text by a compiler, from the cache or made now."""

    def arrays() -> Arrays:
        return {"code": np.frombuffer(make(), np.uint8)}

    return remembered("gpu-kernels", f"{compiler}\n{text}".encode(), arrays)["code"].tobytes()
