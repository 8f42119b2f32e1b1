"""Searches against the whole list, stopped and resumed, tuned, and with constraints."""

from dataclasses import replace

import pytest

pytest.importorskip("optuna", reason="needs the packages of the extra search")
pytest.importorskip("moocore", reason="needs the packages of the extra search")

from vta.boards.files import find_board
from vta.config.hardware import HardwareConfig
from vta.errors import SweepError
from vta.sweep.ranking import rank
from vta.sweep.search.session import run_search
from vta.sweep.session import run_sweep
from vta.sweep.spec import Spec
from vta.sweep.table import Status, Table

WORKLOAD = "conv2d_packed.vta:1x2x6x6x1x16:2x2x3x3x16x16:1x1:1x1x1x1:1x1"
SPEC = Spec(
    HardwareConfig.named("sim").to_json(),
    {"LOG_BLOCK": (4, 5, 7), "LOG_INP_BUFF_SIZE": (10, 12, 14), "LOG_WGT_BUFF_SIZE": (12, 14)},
    {"bus_bits": (64, 128)},
    (),
    (WORKLOAD,),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return run_sweep(SPEC, tmp_path_factory.mktemp("sweep") / "whole", jobs=1)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return run_search(SPEC, tmp_path_factory.mktemp("search") / "found", 16, jobs=1)


def costs_of_front(result):
    return {entry.costs(result.spec.pareto) for entry in rank(result) if entry.pareto}


def test_a_search_of_everything_finds_the_front(whole, tmp_path):
    found = run_search(SPEC, tmp_path, 1000, jobs=1)
    assert found.evaluated + found.discarded + found.broken >= found.combinations == 36
    assert costs_of_front(found.sweep) == costs_of_front(whole)


def test_rows_are_those_of_the_sweep(whole, found):
    assert (found.evaluated, found.ran, len(found.sweep.rows)) == (16, 16, 16)
    assert list(found.hypervolumes) == sorted(found.hypervolumes)
    rows = {(row.config, row.bus_bits): row for row in whole.rows}
    for row in found.sweep.rows:
        assert replace(row, point=0) == replace(rows[row.config, row.bus_bits], point=0)


def test_killed_and_resumed_it_ends_the_same(found, tmp_path):
    ran = []

    def stop(row, done, total):
        ran.append(row.point)
        if len(ran) == 11:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_search(SPEC, tmp_path, 16, jobs=1, watch=stop)
    resumed = run_search(SPEC, tmp_path, 16, jobs=1, resume=True)
    assert resumed.ran == 5
    assert resumed.sweep.table.read_bytes() == found.sweep.table.read_bytes()
    assert resumed.hypervolumes == found.hypervolumes


def test_seeds_differ(found, tmp_path):
    other = run_search(replace(SPEC, seed=1), tmp_path, 16, jobs=1)
    assert {row.point for row in other.sweep.rows} != {row.point for row in found.sweep.rows}


def test_the_best_are_tuned(tmp_path):
    found = run_search(replace(SPEC, trials=4), tmp_path, 10, jobs=1)
    assert (found.evaluated, found.ran) == (10, 12)
    assert [row.trials for row in found.sweep.rows] == [4, 4]
    untuned = {row.point: row for row in Table(tmp_path / "untuned.csv").read()}
    assert len(untuned) == 10
    for row in found.sweep.rows:
        assert row.cycles <= untuned[row.point].cycles
        assert (tmp_path / "records" / f"{row.point}.log").exists()


def test_what_does_not_fit_the_board_is_never_run(tmp_path):
    spec = replace(SPEC, config={"LOG_BLOCK": (4, 5), "LOG_INP_BUFF_SIZE": (12, 14)}, board=find_board("pynq-z1"))
    found = run_search(spec, tmp_path, 100, jobs=1)
    assert found.broken == 4
    assert {(skipped.values["LOG_BLOCK"], "of 220" in skipped.reason) for skipped in found.skipped} == {(5, True)}
    assert {design.hw.block for design in found.sweep.designs} == {16}
    with pytest.raises(SweepError, match=r"none of the 2 configs is legal: does not fit pynq-z1: .* DSP of 220"):
        run_search(replace(spec, config={"LOG_BLOCK": (5,)}), tmp_path / "none", 4, jobs=1)


def test_layers_that_do_not_fit_break_a_design(tmp_path):
    """A layer on the host costs VTA nothing, which is not what is looked for."""
    spec = replace(SPEC, config={"LOG_ACC_BUFF_SIZE": (7, 17), "LOG_UOP_BUFF_SIZE": (3, 15)}, timing={})
    found = run_search(spec, tmp_path, 100, jobs=1)
    assert found.broken + len([row for row in found.sweep.rows if row.status is Status.OK]) >= 4
    assert all(entry.macs == 36 * 9 * 32 * 32 for entry in rank(found.sweep) if entry.pareto)


def test_a_sweep_does_not_go_on_with_a_search(found):
    with pytest.raises(SweepError, match="begun with search = true, now null"):
        run_sweep(SPEC, found.sweep.table.parent, resume=True)
