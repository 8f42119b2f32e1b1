"""Order and Pareto front."""

from rich.console import Console

from vta.sweep.ranking import draw, rank, ranking_table
from vta.sweep.table import Row, Status


def row(number, config, cycles, onchip_bytes, peak_macs=256, status=Status.OK):
    return Row(
        number,
        config,
        64,
        16,
        f"w{number}",
        status,
        cycles,
        cycles // 2,
        cycles * 64,
        onchip_bytes,
        peak_macs,
        cycles * 10,
        onchip_bytes * 6,
        0,
    )


ROWS = [
    row(0, "slow small", 300, 1024),
    row(1, "slow large", 400, 4096),
    row(2, "fast large", 100, 4096),
    row(3, "fast wide", 100, 4096, 512),
    row(4, "lame", 50, 1024, status=Status.TIMEOUT),
]


def test_fewest_cycles_first_and_the_front_is_marked():
    entries = rank(ROWS)
    assert [entry.config for entry in entries] == ["fast large", "fast wide", "slow small", "slow large"]
    assert [entry.config for entry in entries if entry.pareto] == ["fast large", "slow small"]
    assert (entries[0].macs_per_cycle, entries[0].share) == (64.0, 0.5)


def test_all_workloads_of_a_design_add_up_and_all_must_have_run():
    more = [row(5, "slow small", 30, 1024), row(6, "fast large", 1, 4096, status=Status.CRASHED)]
    entries = {entry.config: entry.cycles for entry in rank([*ROWS, *more])}
    assert entries["slow small"] == 330
    assert "fast large" not in entries


def test_equal_designs_are_both_on_the_front():
    assert [entry.pareto for entry in rank([row(0, "a", 10, 10), row(1, "b", 10, 10)])] == [True, True]


def test_table_and_picture(tmp_path):
    console = Console(width=200)
    with console.capture() as captured:
        console.print(ranking_table(rank(ROWS)))
    text = captured.get()
    for word in ("fast large", "4,096", "64.0", "25.0%", "50.0%", "Pareto"):
        assert word in text
    draw(rank(ROWS), tmp_path / "a.png")
    draw([], tmp_path / "b.png")
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in ("a.png", "b.png"))
