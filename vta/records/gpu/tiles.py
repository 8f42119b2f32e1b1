"""Tiles of kernels of GPUs out of records: those of a log, and those that come with the package."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from vta.records.gpu.workload import WORKLOADS
from vta.records.knobs import Entity
from vta.records.log import ranked_records, read_log
from vta.records.record import Record

__all__ = ["best_entities", "device_text", "is_of", "recorded_entities", "shipped_entities"]

_SHIPPED = Path(__file__).with_name("tiles.log")


def device_text(kind: str, model: str) -> str:
    """A device as records write it."""
    return f"{kind} -keys={kind},gpu -model={'-'.join(model.split())}"


def is_of(text: str, target: str) -> bool:
    """Whether a record's target begins with another: is the same, or one of its models."""
    return text == target or text.startswith(f"{target} ")


def best_entities(records: Iterable[Record], target: str) -> dict[str, Entity]:
    """The knobs of the best record of each workload, of targets that begin with `target`."""
    found: dict[str, Entity] = {}
    for (name, workload), ranked in ranked_records(records).items():
        if workload.name in WORKLOADS and is_of(name, target):
            found.setdefault(workload.identity, ranked[0].entity)
    return found


def recorded_entities(logs: Sequence[Path], kind: str) -> dict[str, Entity]:
    """The knobs that logs have for a kind of device, those of the first log first. Raises `TuningError` if one cannot be read."""
    found: dict[str, Entity] = {}
    for path in logs:
        found = {**best_entities((line.record for line in read_log(path) if line.record is not None), kind), **found}
    return found


@lru_cache(maxsize=4)
def shipped_entities(kind: str, model: str) -> Mapping[str, Entity]:
    """The knobs that the package has for a device."""
    records = (line.record for line in read_log(_SHIPPED) if line.record is not None) if _SHIPPED.exists() else ()
    return best_entities(records, device_text(kind, model))
