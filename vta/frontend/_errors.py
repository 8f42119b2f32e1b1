"""What importers share to report: nodes that cannot be imported, all at once, and faults inside one node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from vta.errors import GraphError, ImportModelError

__all__ = ["MAX_ARRAY_BYTES", "Problem", "UnsupportedNodeError", "faults_of", "unsupported_nodes"]

MAX_ARRAY_BYTES = 1 << 29
"""Largest array that an importer computes itself; a damaged shape must not exhaust the memory."""

_NAMES_SHOWN = 6

_FAULTS = (ArithmeticError, GraphError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


class UnsupportedNodeError(Exception):
    """Raised by a converter: the node is well formed, but nothing here computes it. The text is the reason."""


@dataclass(frozen=True)
class Problem:
    """A node that cannot be imported."""

    kind: str
    """Operator of the source format, with its domain where it is not the default one."""
    name: str
    index: int
    """Position in the node list of the file."""
    reason: str


def unsupported_nodes(path: object, problems: Iterable[Problem], supported: Iterable[str]) -> ImportModelError:
    """Return the error that lists every one of `problems`, grouped by kind and reason, and the operators that are supported.

    Names with a leading underscore are aliases or internal names of a format, and not listed.
    """
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        groups.setdefault((problem.kind, problem.reason), []).append(problem)
    total = sum(map(len, groups.values()))
    lines = [f"{path}: cannot import {_nodes(total)}:"]
    for (kind, reason), members in groups.items():
        where = [f"{problem.name} (node {problem.index})" for problem in members[:_NAMES_SHOWN]]
        if len(members) > _NAMES_SHOWN:
            where.append(f"and {len(members) - _NAMES_SHOWN} more")
        lines.append(f"  {kind}: {reason}: {_nodes(len(members))}: {', '.join(where)}")
    lines.append(f"Supported operators: {', '.join(sorted(op for op in supported if not op.startswith('_')))}")
    return ImportModelError("\n".join(lines))


def _nodes(count: int) -> str:
    return f"{count} node{'s' if count != 1 else ''}"


@contextmanager
def faults_of(where: str) -> Iterator[None]:
    """Turn what a malformed file makes Python, NumPy or the graph raise into an `ImportModelError` that names `where`."""
    try:
        yield
    except _FAULTS as error:
        cause = str(error).splitlines()[0] if str(error) else type(error).__name__
        if isinstance(error, KeyError):
            cause = f"{cause} is missing"
        raise ImportModelError(f"{where}: {cause}") from None
