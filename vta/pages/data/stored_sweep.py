"""A sweep as its folder holds it, finished or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vta.boards.files import find_board
from vta.config.technology import Technology
from vta.errors import SweepError
from vta.files.json_file import parse_json
from vta.files.user_file import read_text
from vta.support.dataclass import dataclass
from vta.support.shorten import shown
from vta.sweep.points import Illegal, Point, expand, points_of
from vta.sweep.search.space import DesignSpace, SpacePoints
from vta.sweep.session import SweepResult
from vta.sweep.spec import WAY_KEY, Net, Spec
from vta.sweep.table import Status, Table

__all__ = ["StoredSweep", "load_sweep"]


@dataclass(frozen=True)
class StoredSweep:
    """The designs on which everything ran, and what is missing."""

    result: SweepResult
    """Of these designs alone."""
    searched: bool
    """Whether only those designs ran that a search proposed."""
    designs: int
    """All legal ones; of a search all combinations."""
    illegal: int
    """Combinations that are no design, as far as they are known."""
    failures: tuple[tuple[str, str, str, str], ...]
    """Config, workload, status and reason of each point that has a row without a result."""


def load_sweep(folder: str | Path) -> StoredSweep:
    """Read the folder of `vta sweep`. Raises `SweepError` naming what is wrong there."""
    folder = Path(folder)
    path = folder / "spec.json"
    if not path.exists():
        raise SweepError(f"{folder}: is no folder of a sweep: it has no spec.json")
    values = parse_json(read_text(path, SweepError), str(path), SweepError)
    spec = _spec(values, path)
    searched = bool(values.get("search", False))
    table = Table(folder / "sweep.csv")
    found = _Found.of_search(spec) if searched else _Found.of_grid(spec)
    rows = table.results(found.points)
    works = len(spec.works)
    whole = [
        number for number in sorted({row // works for row in rows}) if all(number * works + work in rows for work in range(works))
    ]
    kept = tuple(rows[number * works + work] for number in whole for work in range(works))
    failures = tuple(
        (row.config, row.workload, row.status.value, row.reason) for row in table.read() if row.status is not Status.OK
    )
    designs = tuple(found.points[number * works].design for number in whole)
    result = SweepResult(spec, designs, found.illegal, kept, table.path)
    return StoredSweep(result, searched, found.designs, sum(entry.combinations for entry in found.illegal), failures)


@dataclass(frozen=True)
class _Found:
    """What a sweep could run."""

    points: Sequence[Point]
    """By their numbers."""
    designs: int
    illegal: tuple[Illegal, ...] = ()

    @classmethod
    def of_grid(cls, spec: Spec) -> _Found:
        """The legal designs are numbered."""
        designs, illegal = expand(spec)
        return cls(points_of(designs, spec.works), len(designs), illegal)

    @classmethod
    def of_search(cls, spec: Spec) -> _Found:
        """All combinations are numbered, and made when they are asked for."""
        space = DesignSpace(spec)
        return cls(SpacePoints(space, spec.works), space.size)


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
            board=find_board(values["board"]) if "board" in values else None,
            technology=Technology() if technology is None else Technology.from_json(technology, str(path)),
            hints=values.get("hints", 0),
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
