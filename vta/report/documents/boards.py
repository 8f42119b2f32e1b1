"""Which shipped config fits which shipped board, by our count: the table of docs/boards-day-one.md."""

from __future__ import annotations

from vta.boards.description import Board, load_board
from vta.boards.files import shipped_boards
from vta.config.files import shipped_configs
from vta.config.hardware import HardwareConfig
from vta.config.timing import TimingParameters
from vta.hardware.need import Need, described, need_of, shortfalls
from vta.support.dataclass import dataclass

__all__ = ["Fit", "fit_table", "fits"]


@dataclass(frozen=True)
class Fit:
    """The core of this package, made for a config, on a board."""

    board: str
    bitstream: str
    need: Need
    shortfalls: tuple[str, ...]
    """What there is too little of, in words; () if it fits."""
    family: str

    @property
    def words(self) -> str:
        """What it needs, or why it does not fit."""
        return f"no: {', '.join(self.shortfalls)}" if self.shortfalls else f"yes: {described(self.need, self.family)}"


def fits() -> list[Fit]:
    """Every shipped board with every geometry of the shipped configs, at the bus of the board's core design."""
    boards = [load_board(path) for path in shipped_boards().values()]
    geometries = {hw.bitstream: hw for hw in (HardwareConfig.named(name) for name in shipped_configs())}
    return [fit for board in boards for hw in geometries.values() for fit in _fit(board, hw)]


def _fit(board: Board, hw: HardwareConfig) -> list[Fit]:
    if board.capacity is None:
        return []
    need = need_of(hw, TimingParameters(bus_bits=board.core_design().bus_bits), board.family, board.capacity)
    return [Fit(board.name, hw.bitstream, need, tuple(shortfalls(need, board.capacity, board.family)), board.family)]


def fit_table() -> str:
    """The fits as a table of Markdown: a row a geometry, a column a board."""
    found = fits()
    boards = list(dict.fromkeys(fit.board for fit in found))
    words = {(fit.bitstream, fit.board): fit.words for fit in found}
    geometries = dict.fromkeys(fit.bitstream for fit in found)
    rows = [
        ["geometry", *boards],
        ["---"] * (len(boards) + 1),
        *([f"`{bitstream}`", *(words[bitstream, board] for board in boards)] for bitstream in geometries),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    print(fit_table())
