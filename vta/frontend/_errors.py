"""What importers share to report: nodes that cannot be imported, all at once, and faults inside one node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from vta.errors import GraphError, ImportModelError
from vta.support.dataclass import dataclass
from vta.support.shorten import printable

__all__ = ["MAX_ARRAY_BYTES", "MOST_SHARED", "Problem", "UnsupportedNodeError", "faults_of", "unsupported_nodes"]

MAX_ARRAY_BYTES = 1 << 29
"""Largest array that an importer computes itself; a damaged shape must not exhaust the memory."""

MOST_SHARED = 4
"""How many times the bytes of a file its constants may have in all: some share theirs, as tied weights do."""

_NAMES_SHOWN = 6
_GROUPS_SHOWN = 40

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
    for (kind, reason), members in islice(groups.items(), _GROUPS_SHOWN):
        where = [f"{printable(problem.name)} (node {problem.index})" for problem in members[:_NAMES_SHOWN]]
        if len(members) > _NAMES_SHOWN:
            where.append(f"and {len(members) - _NAMES_SHOWN} more")
        lines.append(f"  {printable(kind)}: {printable(reason, 400)}: {_nodes(len(members))}: {', '.join(where)}")
    if len(groups) > _GROUPS_SHOWN:
        lines.append(f"  and {len(groups) - _GROUPS_SHOWN} more operators or reasons")
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
