"""The JSON that `vta run` printed, read back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vta.errors import VTAError
from vta.files.json_file import parse_json
from vta.files.user_file import read_text
from vta.support.dataclass import dataclass
from vta.support.shorten import shown

__all__ = ["RunFile", "RunFileError", "RunLayer", "RunSpan", "load_run"]


class RunFileError(VTAError):
    """A file is not the JSON that `vta run` prints."""


@dataclass(frozen=True)
class RunLayer:
    """One layer of a run."""

    layer: str
    where: str
    region: str
    operators: tuple[str, ...]
    cycles: int
    macs: int
    why: str


@dataclass(frozen=True)
class RunSpan:
    """When an operator ran on the accelerator, and what its units did for it."""

    region: str
    operator: str
    first: int
    last: int
    compute: Mapping[str, int]
    """Cycles of the compute unit: ``busy``, ``token``, ``memory``."""


@dataclass(frozen=True)
class RunFile:
    """The numbers of one run on a device that counts cycles."""

    cycles: int
    clock_mhz: float
    preset: str
    layers: tuple[RunLayer, ...]
    spans: tuple[RunSpan, ...]
    units: Mapping[str, Mapping[str, int]]
    bytes_moved: Mapping[str, int]
    energy_pj: Mapping[str, float]
    area_um2: Mapping[str, float]
    technology: str
    advice: tuple[str, ...]


def load_run(path: str | Path) -> RunFile:
    """Read a run. Raises `RunFileError` naming the file and what is missing."""
    values = parse_json(read_text(Path(path), RunFileError), str(path), RunFileError)
    if not isinstance(values, dict) or "layers" not in values or "units" not in values:
        raise RunFileError(f"{path}: is not what 'vta run' prints for scripts: it has no layers and units")
    if values["layers"] is None or values.get("cycles") is None:
        raise RunFileError(f"{path}: is of a run on a device that does not count cycles; the cycle engine does")
    try:
        return _run(values)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunFileError(
            f"{path}: is not what 'vta run' prints for scripts: {type(error).__name__} {shown(str(error))}"
        ) from None


def _run(values: dict[str, Any]) -> RunFile:
    layers = tuple(
        RunLayer(
            str(row["layer"]),
            str(row["where"]),
            str(row["region"] or ""),
            tuple(map(str, row["operators"])),
            int(row["cycles"]),
            int(row["macs"]),
            str(row["why"]),
        )
        for row in values["layers"]
    )
    spans = tuple(_span(row) for row in values["operators"])
    return RunFile(
        int(values["cycles"]),
        float(values["clock_mhz"]),
        str(values["preset"]),
        layers,
        spans,
        {name: {key: int(count) for key, count in unit.items()} for name, unit in values["units"].items()},
        {name: int(count) for name, count in values["bytes"].items()},
        {name: float(value) for name, value in values["energy_pj"].items()},
        {name: float(value) for name, value in values["area_um2"].items()},
        str(values["technology"]),
        tuple(str(entry["text"]) for entry in values["advice"]),
    )


def _span(row: dict[str, Any]) -> RunSpan:
    total = row["total"]
    compute = {kind: int(total[kind]["compute"]) for kind in ("busy", "token", "memory")}
    return RunSpan(str(row["region"]), str(row["operator"]), int(total["first"]), int(total["last"]), compute)
