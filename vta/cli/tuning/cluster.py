"""The options of commands that can use a cluster."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vta.autotune.cluster.cluster import Cluster

__all__ = ["add_cluster", "open_cluster"]


def add_cluster(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --cluster, on which a command may do `what`, and the certificates for it."""
    group = parser.add_argument_group("cluster")
    group.add_argument("--cluster", metavar="ADDRESS", help=f"{what} on the Dask cluster of this scheduler (docs/cluster.md)")
    group.add_argument(
        "--cluster-certs",
        type=Path,
        metavar="DIR",
        help="ca.pem, client.pem and client.key for a tls:// address (default: those of Dask's configuration)",
    )


def open_cluster(options: argparse.Namespace) -> Cluster | None:
    """The cluster that `options` ask for; None for none. Raises `UsageError` for options that exclude each other."""
    from vta.errors import UsageError

    if options.cluster is None:
        if options.cluster_certs:
            raise UsageError("--cluster-certs needs --cluster")
        return None
    if getattr(options, "jobs", None):
        raise UsageError("--jobs is for this machine: a cluster runs as much at a time as its workers have threads")
    from vta.autotune.cluster.cluster import Cluster

    return Cluster(options.cluster, options.cluster_certs)
