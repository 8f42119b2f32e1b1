"""What is wrong with a text is said with its place, what is there, and what may be."""

import pytest

from tests.integer_graphs import BASELINE
from vta.codegen.tile_text import parse_region, print_region
from vta.errors import TileTextError
from vta.schedule.choose import choose_schedule

TEXT = """region "r" {
  tensor %x : 1x1x8x8
  tensor %y : 1x1x4x4
  inputs %x
  outputs %y

  max_pool2d "pool" {
    read %x
    with pool_size=2x2 strides=2x2 padding=0x0
    store %y
  }
  gemm conv2d "conv" macs=9 {
    digit shift=8 {
      dot %x i8[1x1x3x3x16x16]#0123456789ab padding=1x1 kept=3
    }
    add i64[16]#ba9876543210
    max branch slot=0 {
      shr 3
    }
    store %y
  }
}
"""


def test_the_text_itself_is_read():
    region = parse_region(TEXT).region
    assert [operator.kind for operator in region.operators] == ["max_pool2d", "conv2d"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('region "r"', "region r", "1:8: found 'r'; allowed: a name in quotes"),
        ("%x : 1x1x8x8", "%x : 1x1x8", "2:15: found '1x1x8'; allowed: 4 sizes above 0: batch, channel blocks, rows and columns"),
        ("tensor %y", "tensor %x", "3:10: found '%x'; allowed: a name that no tensor has yet"),
        ("inputs %x", "inputs %z", "4:10: found '%z'; allowed: a tensor that is declared above"),
        (
            "max_pool2d",
            "max_pool3d",
            "7:3: found 'max_pool3d'; allowed: 'gemm', 'masked_softmax_shares', 'masked_softmax_terms', ",
        ),
        ("pool_size=2x2", "pool_size=2", "9:20: found '2'; allowed: 2 whole numbers"),
        ("strides=2x2", "stride=2x2", "9:24: found 'stride'; allowed: 'strides'"),
        ("shift=8", "shift=-8", "13:17: found '-8'; allowed: a whole number of at least 0"),
        ("i8[1x1x3x3x16x16]", "i8[3x3]", "14:17: found '3x3'; allowed: 6 sizes above 0"),
        ("#0123456789ab", "#0123", "14:31: found '#'; allowed: '#' and the 12 hexadecimal digits of a digest"),
        ("16x16]#", "999999999999x16]#", "14:14: found 'i8'; allowed: a smaller array (143,999,999,999,856 elements"),
        ("padding=1x1 ", "pad=1x1 ", "14:45: found 'pad'; allowed: 'diagonal', 'transfer', 'strides', "),
        ("add i64", "sub i64", "16:5: found 'sub'; allowed: 'min', 'max', 'add', 'shr', 'mul', 'requantize', 'store'"),
        ("add i64[16]#ba9876543210", "add", "17:5: found 'max'; allowed: a whole number, 'i64', 'products', 'branch', 'join'"),
        ("  }\n}\n", "  }\n", "22:1: the text ends; allowed: 'gemm', "),
        ('"pool"', r'"p\ool"', r"allowed: a string with the escapes of JSON"),
    ],
)
def test_an_error_names_the_place_and_what_is_allowed(old, new, message):
    with pytest.raises(TileTextError) as error:
        parse_region(TEXT.replace(old, new, 1), source="net.tile")
    assert f"net.tile:{message}" in str(error.value) or message in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (" tile_h=", " tile_height=", "the schedule lacks tile_h; allowed: tile_co, "),
        ("flat=1", "flat=1 tall=1", "the schedule has tall; allowed: tile_co, "),
        ("flat=1", "flat=2", "flat of the schedule is 2; allowed: 0 or 1"),
        ("flat=1", "flat=1 flat=1", "found 'flat'; allowed: each field once"),
        ("acc_slots=2", "acc_slots=0", "acc_slots of the schedule is 0; allowed: at least 1"),
    ],
)
def test_a_schedule_has_its_fields(two_layers, old, new, message):
    schedules = [choose_schedule(operator.scheduled, BASELINE) for operator in two_layers.operators]
    with pytest.raises(TileTextError, match=message):
        parse_region(print_region(two_layers, schedules, BASELINE).replace(old, new, 1))


def test_branches_do_not_nest_without_end():
    inner = "max branch slot=0 {\n" * 1000
    with pytest.raises(TileTextError, match="at most 64 branches within each other"):
        parse_region(TEXT.replace("max branch slot=0 {", inner, 1))
