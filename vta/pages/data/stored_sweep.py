"""A sweep as its folder holds it, finished or not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vta.boards.files import find_board
from vta.config.technology import Technology
from vta.errors import SweepError
from vta.files.json_file import parse_json
from vta.files.user_file import read_text
from vta.support.dataclass import dataclass
from vta.support.shorten import shown
from vta.sweep.points import Design, Illegal, expand, points_of
from vta.sweep.search.space import DesignSpace, SpacePoints
from vta.sweep.session import SweepResult
from vta.sweep.spec import WAY_KEY, Net, Spec
from vta.sweep.table import Row, Status, Table

__all__ = ["StoredSweep", "load_sweep"]


@dataclass(frozen=True)
class StoredSweep:
    """The designs on which everything ran, and what is missing."""

    result: SweepResult
    """Of these designs alone."""
    designs: int
    """All legal ones."""
    illegal: int
    """Combinations that are no design."""
    failures: tuple[tuple[str, str, str, str], ...]
    """Config, workload, status and reason of each point that has a row without a result."""


def load_sweep(folder: str | Path) -> StoredSweep:
    """Read the folder of `vta sweep`. Raises `SweepError` naming what is wrong there."""
    folder = Path(folder)
    path = folder / "spec.json"
    if not path.exists():
        raise SweepError(f"{folder}: is no folder of a sweep: it has no spec.json")
    values = parse_json(read_text(path, SweepError), str(path), SweepError)
    spec, table = _spec(values, path), Table(folder / "sweep.csv")
    if values.get("search"):
        rows, designs, illegal = _searched(spec, table)
    else:
        designs, illegal = expand(spec)
        rows = table.results(points_of(designs, spec.works))
    works = len(spec.works)
    whole = [index for index in range(len(designs)) if all(index * works + work in rows for work in range(works))]
    kept = tuple(rows[index * works + work] for index in whole for work in range(works))
    failures = tuple(
        (row.config, row.workload, row.status.value, row.reason) for row in table.read() if row.status is not Status.OK
    )
    result = SweepResult(spec, tuple(designs[index] for index in whole), illegal, kept, table.path)
    return StoredSweep(result, len(designs), sum(entry.combinations for entry in illegal), failures)


def _searched(spec: Spec, table: Table) -> tuple[dict[int, Row], tuple[Design, ...], tuple[Illegal, ...]]:
    """The rows of a search, as if its designs were all there are, and these designs."""
    space, works = DesignSpace(spec), len(spec.works)
    found = table.results(SpacePoints(space, spec.works))
    numbers = sorted({number // works for number in found})
    places = {number: index for index, number in enumerate(numbers)}
    rows = {places[number // works] * works + number % works: row for number, row in found.items()}
    designs = (space.design(number) for number in numbers)
    return rows, tuple(design for design in designs if isinstance(design, Design)), ()


def _spec(values: Any, path: Path) -> Spec:
    """What `Spec.identity` was made of, as far as results follow from it."""
    try:
        axes = {part: {key: tuple(entries) for key, entries in _mapping(values[part]).items()} for part in ("config", "timing")}
        nets = tuple(_NamedNet(model=name) for name, _ in values["nets"])
        technology = values.get("technology")
        return Spec(
            _mapping(values["base"]),
            axes["config"],
            axes["timing"],
            nets,
            tuple(values["workloads"]),
            values["tuner"],
            values["trials"],
            values["seed"],
            technology=Technology() if technology is None else Technology.from_json(technology, str(path)),
            board=find_board(values["board"]) if "board" in values else None,
            requantize=tuple(values.get(WAY_KEY, ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SweepError(f"{path}: is no description that a sweep wrote: {type(error).__name__} {shown(str(error))}") from None


class _NamedNet(Net):
    """A network of which the name is known, not the file."""

    @property
    def name(self) -> str:
        """As the table has it."""
        way = self.requantize
        return self.model if way == Net.requantize else f"{self.model}~{way}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return dict(value.items())
