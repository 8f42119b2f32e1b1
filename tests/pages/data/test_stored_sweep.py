"""Folders of sweeps, finished or not."""

import shutil

import pytest

from vta.errors import SweepError
from vta.pages.data.stored_sweep import load_sweep
from vta.sweep.ranking import rank


def test_a_finished_sweep_ranks_as_it_did(sources):
    stored = load_sweep(sources["sweep"])
    entries = rank(stored.result)
    assert (stored.designs, stored.illegal, stored.failures) == (8, 0, ())
    assert [entry.cycles for entry in entries] == sorted(row.cycles for row in stored.result.rows)
    assert set(stored.result.spec.axes) == {"LOG_INP_BUFF_SIZE", "LOG_WGT_BUFF_SIZE", "bus_bits"}


def test_a_sweep_that_stopped_shows_the_designs_that_are_done(sources, tmp_path):
    folder = shutil.copytree(sources["sweep"], tmp_path / "cut")
    lines = (folder / "sweep.csv").read_text().splitlines(keepends=True)
    (folder / "sweep.csv").write_text("".join(lines[:4]) + lines[4][:9])
    stored = load_sweep(folder)
    assert (len(stored.result.designs), stored.designs) == (3, 8)
    assert len(rank(stored.result)) == 3


def test_a_search_shows_what_it_ran(sources, tmp_path):
    pytest.importorskip("optuna", reason="needs the extra search")
    pytest.importorskip("moocore", reason="needs the extra search")
    from vta.sweep.search.session import run_search

    spec = load_sweep(sources["sweep"]).result.spec
    found = run_search(spec, tmp_path / "found", 3, jobs=1)
    stored = load_sweep(tmp_path / "found")
    assert stored.searched
    assert stored.designs == 8
    assert [row.cycles for row in stored.result.rows] == [row.cycles for row in found.sweep.rows]
    assert [design.values for design in stored.result.designs] == [design.values for design in found.sweep.designs]


@pytest.mark.parametrize(("text", "words"), [("[]", "is no description"), ("{}", "is no description"), ("{", "not JSON")])
def test_a_broken_description_is_named(text, words, tmp_path):
    with pytest.raises(SweepError, match="is no folder of a sweep"):
        load_sweep(tmp_path)
    (tmp_path / "spec.json").write_text(text)
    with pytest.raises(SweepError, match=words) as caught:
        load_sweep(tmp_path)
    assert "spec.json" in str(caught.value)


def test_a_search_is_ranked_as_when_it_ran(tmp_path):
    pytest.importorskip("optuna", reason="needs the packages of the extra search")
    from tests.sweep.search.test_search import SPEC
    from vta.sweep.search.session import run_search

    found = run_search(SPEC, tmp_path, 4, jobs=1).sweep
    stored = load_sweep(tmp_path)
    assert len(stored.result.designs) == len(found.designs) == 4
    assert [entry.cycles for entry in rank(stored.result)] == [entry.cycles for entry in rank(found)]
