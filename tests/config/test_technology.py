"""Figures of a technology: scaling, and files."""

import json

import pytest

from vta.config.technology import Technology, load_technology
from vta.errors import ConfigError

FORTY_FIVE = Technology()


def test_the_given_widths_have_the_given_figures():
    assert FORTY_FIVE.multiply_pj((8, 8)) == pytest.approx(0.2)
    assert FORTY_FIVE.multiply_pj((32, 32)) == pytest.approx(3.1)
    assert FORTY_FIVE.multiply_um2((32, 32)) == pytest.approx(3495)
    assert (FORTY_FIVE.add_pj(8), FORTY_FIVE.add_um2(32)) == (pytest.approx(0.03), pytest.approx(137))
    assert FORTY_FIVE.sram_access_pj(8, 8192) == pytest.approx(10)
    assert FORTY_FIVE.sram_access_pj(8, 32768) == pytest.approx(20)


def test_other_widths_lie_between():
    assert FORTY_FIVE.multiply_pj((8, 8)) < FORTY_FIVE.multiply_pj((8, 16)) < FORTY_FIVE.multiply_pj((32, 32))
    assert FORTY_FIVE.add_um2(8) < FORTY_FIVE.add_um2(16) < FORTY_FIVE.add_um2(32)


def test_a_file_changes_what_it_names(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"name": "mine", "dram_byte_pj": 32}))
    assert load_technology(path) == Technology(name="mine", dram_byte_pj=32)
    assert Technology.from_json(FORTY_FIVE.to_json()) == FORTY_FIVE


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "a JSON object is needed, not list"),
        ('{"dram": 1}', "unknown key dram; allowed keys: name, multiply_8_pj"),
        ('{"sram_pj": 0}', "technology sram_pj = 0; allowed: numbers above 0"),
        ('{"sram_pj": true}', "technology sram_pj = True"),
        ('{"sram_pj": NaN}', "technology sram_pj = nan"),
        ('{"add_8_pj": "1"}', "technology add_8_pj = '1'"),
        ('{"name": 3}', "technology name = 3; allowed: a string"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as error:
        load_technology(path)
    assert str(path) in str(error.value)
