"""Constants that an image holds as blocks of weights: found only where all of it is there once, and made again exactly."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.codegen.packed_constant import packed_constant, unpacked
from vta.tile.packing import weight_blocks

BLOCK = 4


def cuts(draw, count):
    """Where to cut a row of `count`: slices that together are all of it."""
    edges = sorted({0, count, *draw(st.lists(st.integers(0, count), max_size=2))})
    return [slice(first, end) for first, end in pairwise(edges)]


@st.composite
def images(draw):
    """A constant, its blocks, and an image that holds them box by box between other bytes."""
    counts = [draw(st.integers(1, 4)) for _ in range(4)]
    shape = counts[0] * BLOCK, counts[1] * BLOCK, counts[2], counts[3]
    value = np.random.default_rng(draw(st.integers(0, 99))).integers(-128, 128, shape, np.int8)
    blocks = weight_blocks(value, BLOCK)
    boxes = [
        blocks[out, inp, row, column]
        for out in cuts(draw, counts[0])
        for inp in cuts(draw, counts[1])
        for row in cuts(draw, counts[2])
        for column in cuts(draw, counts[3])
    ]
    places, image = [], np.full(value.size + 8 * len(boxes), 99, np.int8)
    at = 0
    for box in draw(st.permutations(boxes)):
        at += draw(st.integers(0, 8))
        image[at : at + box.size] = box.reshape(-1)
        places.append((box, at))
        at += box.size
    return value, blocks, places, image.view(np.uint8)


@settings(max_examples=80, deadline=None)
@given(images())
def test_a_constant_comes_out_of_the_image_as_it_went_in(given_image):
    value, blocks, places, image = given_image
    found = packed_constant(value, blocks, [(np.arange(3), 0), *places, (blocks[:1].copy(), 0)], image)
    assert found is not None
    assert found.value is value
    again = unpacked(image, value.shape, found.blocks, found.boxes)
    np.testing.assert_array_equal(again, value)
    assert not again.flags.writeable
    np.testing.assert_array_equal(
        unpacked(image, (len(value), value[0].size), found.blocks, found.boxes).reshape(value.shape), value
    )


@settings(max_examples=30, deadline=None)
@given(images(), st.data())
def test_what_is_missing_or_there_twice_is_not_found(given_image, data):
    value, blocks, places, image = given_image
    chosen = data.draw(st.integers(0, len(places) - 1))
    assert packed_constant(value, blocks, places[:chosen] + places[chosen + 1 :], image) is None
    assert packed_constant(value, blocks, [*places, places[chosen]], image) is None
    assert packed_constant(value.copy(), blocks, places, image) is None
    assert packed_constant(value, blocks.copy(), places, image) is None


def test_a_part_of_an_array_is_found_by_itself():
    both = np.arange(-64, 64, dtype=np.int8).reshape(2, 4, 4, 2, 2)
    image = np.zeros(128, np.uint8)
    places = []
    for number, value in enumerate(both):
        blocks = weight_blocks(value, BLOCK)
        image[64 * number : 64 * number + 64] = blocks.reshape(-1).view(np.uint8)
        places.append((blocks, 64 * number))
    for number, value in enumerate(both):
        found = packed_constant(value, places[number][0], places, image)
        assert found is not None
        np.testing.assert_array_equal(unpacked(image, value.shape, found.blocks, found.boxes), value)


GOOD = ((8, 4, 1, 1), (2, 1, 1, 1, 4, 4), [0, 0, 2, 0, 1, 0, 1, 0, 1], 32)


@pytest.mark.parametrize(
    ("shape", "blocks", "box", "size"),
    [
        ((8, 4, 1, 2), *GOOD[1:]),
        (GOOD[0], (2, 1, 1, 1, 2, 8), *GOOD[2:]),
        (GOOD[0], (2, 1, 1, 1, 16), *GOOD[2:]),
        ((-8, -4, 1, 1), *GOOD[1:]),
        (*GOOD[:3], 31),
        (*GOOD[:2], [1, 0, 2, 0, 1, 0, 1, 0, 1], 32),
        (*GOOD[:2], [-1, 0, 2, 0, 1, 0, 1, 0, 1], 32),
        (*GOOD[:2], [0, 1, 2, 0, 1, 0, 1, 0, 1], 32),
        (*GOOD[:2], [0, -1, 2, 0, 1, 0, 1, 0, 1], 32),
        (*GOOD[:2], [0, 0, 1, 0, 1, 0, 1, 0, 1], 32),
        (*GOOD[:2], [0, 0, 1 << 62, 0, 1, 0, 1, 0, 1], 32),
        (*GOOD[:2], [0, 1 << 62, 1 << 62, 0, 4, 0, 1, 0, 1], 32),
        (*GOOD[:2], [0, 0, 0, 0, 1, 0, 1, 0, 1], 32),
    ],
)
def test_boxes_that_no_image_has_are_refused(shape, blocks, box, size):
    assert unpacked(np.zeros(GOOD[3], np.uint8), *GOOD[:2], np.array([GOOD[2]])).shape == GOOD[0]
    with pytest.raises(ValueError, match=r"no constant of shape"):
        unpacked(np.zeros(size, np.uint8), shape, blocks, np.array([box]))
