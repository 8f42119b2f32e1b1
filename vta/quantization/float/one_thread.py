"""Matrix products on one thread of the linear algebra library.

Calibration multiplies many small matrices, for which threads wait for each other more than they compute: on a machine that is
busy they take several times as long. On one thread, results do not depend on the number of cores either.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["on_one_thread"]


@cache
def _libraries() -> ThreadpoolController:
    """The linear algebra libraries that are loaded; finding them takes some milliseconds."""
    return ThreadpoolController()


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Within it, matrix products of the whole process take one thread."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield
