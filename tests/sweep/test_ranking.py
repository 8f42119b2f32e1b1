"""Order, Pareto front, table and picture."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from vta.bitstream import fits
from vta.bitstream.clock.estimate import KnownClock
from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.report.table import write_table
from vta.sweep.clock import Clock
from vta.sweep.effects import effects_table, main_effects
from vta.sweep.picture import draw, title_of
from vta.sweep.points import expand, points_of
from vta.sweep.ranking import entry_json, rank, ranking_table, write_ranking
from vta.sweep.session import SweepResult
from vta.sweep.spec import Spec, load_spec
from vta.sweep.table import Status, row_of

WORKS = ("elementwise.vta:1x1x4x4x1x16", "elementwise.vta:1x2x4x4x1x16")
SPEC = Spec(
    HardwareConfig.named("sim").to_json(),
    {"LOG_BLOCK": (4, 5), "LOG_INP_BUFF_SIZE": (14, 15)},
    {"bus_bits": (64, 128)},
    (),
    WORKS,
)
ENERGY = {"mac": 60.0, "alu": 40.0, "wgt": 200.0, "dram": 700.0}


def cycles_of(design, work):
    """A quarter with blocks of 32, half with the wide bus, and buffers that do nothing."""
    return (work == WORKS[0]) * 7000 + 1000 // (4 if design.hw.block == 32 else 1) // (design.timing.bus_bits // 64)


def result_of(spec=SPEC, cycles=cycles_of, failed=()):
    designs, illegal = expand(spec)
    rows = tuple(
        row_of(point, Status.TIMEOUT, reason="slow")
        if point.number in failed
        else row_of(point, Status.OK, cycles=cycles(point.design, point.work), roofline=50, macs=12_800, energy=ENERGY)
        for point in points_of(designs, spec.works)
    )
    return SweepResult(spec, designs, illegal, rows, Path("sweep.csv"))


def test_with_a_board_the_table_has_what_a_core_takes_of_it():
    spec = replace(
        SPEC, config={"LOG_INP_BUFF_SIZE": (14, 15)}, board=find_board("pynq-z1"), clock=Clock(limits={"bus_bits": {"128": 25.0}})
    )
    entries = rank(result_of(spec))
    assert "DSP" in str(ranking_table(entries))
    values = entry_json(1, entries[0])
    assert (values["dsp"], values["block_memories"] > 100) == (176, True)
    assert values["lut"] > values["ff"] > 10_000
    assert {entry.design.timing.bus_bits: entry_json(1, entry)["clock_mhz"] for entry in entries} == {64: 100.0, 128: 25.0}
    slow = next(entry for entry in entries if entry.design.timing.bus_bits == 128)
    assert slow.milliseconds == pytest.approx(slow.cycles / 25_000)


def test_the_clock_that_is_known_is_in_the_ranking(monkeypatch):
    monkeypatch.setattr(fits, "known_clock", lambda hw, board, timing: KnownClock(44.0, "estimated", 0.1))
    small = {key: (value,) for key, value in HardwareConfig.named("sim_1x8").to_json().items() if key.startswith("LOG_")}
    spec = replace(SPEC, config=small, timing={"bus_bits": (128,)}, board=find_board("ecpix5"))
    (entry,) = rank(result_of(spec))
    values = entry_json(1, entry)
    assert (values["clock_mhz"], values["fmax_mhz"], values["fmax_source"], values["fmax_error"]) == (
        44.0,
        44.0,
        "estimated",
        0.1,
    )
    assert entry.design.fit.slow
    assert entry.milliseconds == pytest.approx(entry.cycles / 44_000)


def test_fewest_cycles_first_then_least_area():
    entries = rank(result_of())
    assert [entry.cycles for entry in entries] == sorted(entry.cycles for entry in entries)
    assert [dict(entry.values) for entry in entries[:2]] == [
        {"LOG_BLOCK": 5, "LOG_INP_BUFF_SIZE": 14, "bus_bits": 128},
        {"LOG_BLOCK": 5, "LOG_INP_BUFF_SIZE": 15, "bus_bits": 128},
    ]
    best = entries[0]
    assert best.cycles == 7000 + 2 * 125
    assert best.milliseconds == pytest.approx(best.cycles / 100_000)
    assert best.tops_per_watt == pytest.approx(2 * 2 * 12_800 / (2 * 1000))
    assert (best.arithmetic_pj, best.sram_pj, best.dram_pj, best.energy_pj) == (200, 400, 1400, 2000)


@pytest.mark.parametrize(
    ("criteria", "front"),
    [
        (("cycles",), {(5, 14, 128), (5, 15, 128)}),
        (("cycles", "area"), {(5, 14, 128), (4, 14, 128)}),
        (("cycles", "bus"), {(5, 14, 128), (5, 15, 128), (5, 14, 64), (5, 15, 64)}),
        (("cycles", "area", "bus"), {(5, 14, 128), (4, 14, 128), (5, 14, 64), (4, 14, 64)}),
    ],
)
def test_the_front_is_in_the_criteria_of_the_sweep(criteria, front):
    entries = rank(result_of(replace(SPEC, pareto=criteria)))
    assert {tuple(entry.values.values()) for entry in entries if entry.pareto} == front


def test_weights_decide_how_often_a_workload_counts():
    plain, weighted = rank(result_of())[0], rank(result_of(replace(SPEC, weights={WORKS[1]: 3.0})))[0]
    assert weighted.cycles == plain.cycles + 2 * 125
    assert weighted.energy_pj == 2 * plain.energy_pj


def test_the_objective_decides_the_order():
    by_area = rank(result_of(replace(SPEC, objective={"area": 1.0})))
    assert [entry.area_um2 for entry in by_area] == sorted(entry.area_um2 for entry in by_area)
    product = rank(result_of(replace(SPEC, objective={"cycles": 2.0, "area": 1.0})))
    scores = [entry.cycles**2 * entry.area_um2 for entry in product]
    assert scores == sorted(scores)


def test_designs_that_leave_layers_to_the_host_come_last():
    result = result_of()
    rows = tuple(replace(row, macs=row.macs // 2, cycles=1) if row.point < 2 else row for row in result.rows)
    entries = rank(replace(result, rows=rows))
    assert [entry.whole for entry in entries] == [True] * 7 + [False]
    assert not entries[-1].pareto
    assert "in part" in ranking_table(entries).rows[-1][-1]


def test_designs_on_which_something_failed_have_no_rank():
    entries = rank(result_of(failed=(0, 3)))
    assert len(entries) == 6
    assert main_effects(entries, SPEC.axes)[-1].pairs < 4


def test_main_effects_are_those_that_were_put_in():
    entries = rank(result_of(cycles=lambda design, work: cycles_of(design, WORKS[1])))
    effects = {effect.key: effect for effect in main_effects(entries, SPEC.axes)}
    assert list(effects) == ["LOG_BLOCK", "bus_bits", "LOG_INP_BUFF_SIZE"]
    assert effects["LOG_BLOCK"].cycles == pytest.approx(-0.75)
    assert effects["bus_bits"].cycles == pytest.approx(-0.5)
    assert (effects["bus_bits"].area, effects["LOG_INP_BUFF_SIZE"].cycles) == (0.0, 0.0)
    assert effects["LOG_INP_BUFF_SIZE"].area > 0
    assert [effect.pairs for effect in effects.values()] == [4, 4, 4]


def text_of(table):
    stream = io.StringIO()
    write_table(table, stream)
    return stream.getvalue()


def test_a_row_fits_100_columns():
    spec = load_spec(Path(__file__).parents[2] / "tuning" / "sweep_24.yaml")
    entries = rank(result_of(spec, cycles=lambda design, work: 12_345_678))
    lines = text_of(ranking_table(entries)).splitlines()
    assert len(lines) == len(entries) + 7
    assert all(len(line) <= 100 for line in lines)


def test_tables_and_picture(tmp_path):
    result = result_of()
    entries = rank(result)
    text = text_of(ranking_table(entries))
    assert all(word in text for word in ("LOG_", "BLOCK", "7,250", "0.072", "TOPS", "Pareto"))
    assert "-75.0%" in text_of(
        effects_table(main_effects(rank(result_of(cycles=lambda d, w: cycles_of(d, WORKS[1]))), SPEC.axes))
    )
    assert title_of(entries, SPEC) == "2 workloads at 100 MHz; 45 nm, 0.9 V"
    draw(entries, SPEC, tmp_path / "a.png")
    draw([], SPEC, tmp_path / "b.png")
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in ("a.png", "b.png"))


def test_the_ranking_as_a_file_has_a_column_for_each_varied_key(tmp_path):
    write_ranking(rank(result_of()), tmp_path / "ranking.csv")
    with (tmp_path / "ranking.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["rank"] for row in rows] == [str(place) for place in range(1, 9)]
    assert (rows[0]["LOG_BLOCK"], rows[0]["bus_bits"], rows[0]["dram_pj"]) == ("5", "128", "1400")
    write_ranking([], tmp_path / "none.csv")
    assert (tmp_path / "none.csv").read_text() == "rank\n"
