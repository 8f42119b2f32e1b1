"""What a step of a key does, with and without a board."""

from dataclasses import replace

import pytest

from tests.sweep.test_ranking import SPEC, result_of
from vta.boards.files import find_board
from vta.sweep.effects import effects_table, main_effects
from vta.sweep.ranking import rank


def effects_of(spec):
    return main_effects(rank(result_of(spec)), spec.axes)


def test_with_a_board_a_step_says_what_it_does_to_its_logic():
    spec = replace(SPEC, config={"REQUANTIZE_UNIT": (0, 1)}, timing={"bus_bits": (64,)}, board=find_board("pynq-z1"))
    (effect,) = effects_of(spec)
    assert effect.pairs == 1
    assert 0.05 < effect.lut < 0.15
    assert 0.2 < effect.ff < 0.6
    text = str(effects_table([effect]))
    assert "LUT" in text
    assert f"{effect.lut:+.1%}" in text


def test_without_a_board_there_is_no_logic():
    effects = effects_of(SPEC)
    assert effects
    assert all(effect.lut is None and effect.ff is None for effect in effects)
    assert "LUT" not in str(effects_table(effects))


def test_logic_that_is_not_known_is_a_dash():
    spec = replace(SPEC, config={"REQUANTIZE_UNIT": (0, 1)}, timing={"bus_bits": (64,)}, board=find_board("pynq-z1"))
    (effect,) = effects_of(spec)
    text = str(effects_table([effect, replace(effect, lut=None, ff=None)]))
    assert text.splitlines()[-1].split().count("-") == 2


@pytest.mark.parametrize("board", ["pynq-z1"])
def test_the_unit_takes_at_most_its_share_of_logic(board):
    """The requantize unit: 16 DSP slices and 15 % of the look-up tables of the plain core of 16 x 16."""
    spec = replace(SPEC, config={"REQUANTIZE_UNIT": (0, 1)}, timing={"bus_bits": (64,)}, board=find_board(board))
    plain, unit = sorted((entry.design.fit.resources for entry in rank(result_of(spec))), key=lambda found: found.lut)
    assert unit.dsp - plain.dsp <= 16
    assert unit.lut <= 1.15 * plain.lut
