"""Tiles as knobs of records, and back."""

import pytest

from tests.autotune.host.test_space import CONVOLUTIONS, TARGET, task
from vta.errors import TuningError
from vta.records.host.knobs import entity_of_tile, tile_of
from vta.records.host.target import matches, target_text

LANES = TARGET.lanes(4)
PUBLISHED = (
    ("tile_co", "sp", (-1, LANES)),
    ("tile_oh", "sp", (-1, 2)),
    ("tile_ow", "sp", (-1, 4)),
    ("reorder_0", "re", tuple(range(10))),
    ("ann_reduce", "an", ("unroll", "none")),
    ("ann_spatial", "an", ("unroll", "unroll", "vec")),
)


@pytest.mark.parametrize("sizes", CONVOLUTIONS, ids=str)
def test_tiles_survive(sizes):
    found = task(**sizes)
    for number in range(0, found.space.size, 7):
        tile = found.space.schedule(number)
        assert tile_of(entity_of_tile(tile, found.shape, TARGET), found.shape, TARGET) == tile


def test_published_knobs_are_understood():
    tile = tile_of(PUBLISHED, task().shape, TARGET)
    assert (tile.columns, tile.blocks, tile.rows, tile.chunk) == (4, 1, 2, 0)


def changed(name, value):
    return tuple((knob, kind, value if knob == name else old) for knob, kind, old in PUBLISHED)


@pytest.mark.parametrize(
    ("entity", "words"),
    [
        (changed("tile_co", (-1, 3)), "tile_co is 3; this processor's vectors hold"),
        (changed("tile_ow", (-1, 1000)), "1000 columns"),
        (changed("tile_ow", ()), "tile_ow is"),
        (PUBLISHED[1:], "tile_co is None; allowed: a list of factors"),
        ((*PUBLISHED, ("tile_q", "sp", (1, 1))), "'tile_q' is unknown; allowed: tile_co"),
        ((*PUBLISHED, ("tile_ci", "sp", (-1, 64 * LANES))), "not added up 64 at a time"),
    ],
)
def test_knobs_that_make_no_tile_are_named(entity, words):
    with pytest.raises(TuningError, match=words):
        tile_of(entity, task().shape, TARGET)


def test_targets_of_records():
    text = target_text(TARGET)
    assert matches(text, TARGET)
    assert not matches(text.replace(f"-mcpu={TARGET.cpu}", "-mcpu=other"), TARGET)
    assert not matches("ext_dev -device=vta -keys=cpu -model=pynq", TARGET)
