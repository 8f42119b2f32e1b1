"""What has to be the same on all machines that work on one sweep or log."""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import vta
from vta.errors import ClusterError
from vta.support.dataclass import dataclass

__all__ = ["Versions", "check_versions", "own_versions"]


@dataclass(frozen=True)
class Versions:
    """Of this package, by name and by its files, and of Python."""

    vta: str
    sources: str
    """Digest of the Python files of the package and of its native core."""
    python: str


@cache
def own_versions() -> Versions:
    """Those of this process."""
    package = Path(vta.__file__).parent
    digest = sha256()
    for path in sorted((*package.rglob("*.py"), *package.glob("_core*"))):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return Versions(vta.__version__, digest.hexdigest()[:12], "{}.{}".format(*sys.version_info))


def check_versions(theirs: Versions, where: str) -> None:
    """Raise `ClusterError` naming what differs, `where`, from what whoever asks has."""
    ours = own_versions()
    names = {"vta": "vta", "sources": "the files of vta", "python": "Python"}
    differing = [
        f"{words} {getattr(theirs, name)} there and {getattr(ours, name)} on the worker"
        for name, words in names.items()
        if getattr(theirs, name) != getattr(ours, name)
    ]
    if differing:
        raise ClusterError(f"{where}: another version: {'; '.join(differing)}; install the same on all machines")
