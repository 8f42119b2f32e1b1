from contextlib import suppress
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.isa.strategies import SHIPPED, configs, instruction_arrays, programs
from tests.isa.test_encoding import GOLDEN
from vta.config.hardware import load_config
from vta.errors import EncodingError
from vta.isa import Program, Symbol, SymbolKind, blank_instructions, decode
from vta.isa.assembly import assemble, assemble_instructions, disassemble, disassemble_instructions

HW = load_config(next(path for path in SHIPPED if path.name == "sim.json"))


def assert_same(left: Program, right: Program) -> None:
    for field in fields(Program):
        a, b = getattr(left, field.name), getattr(right, field.name)
        if isinstance(a, np.ndarray):
            assert np.array_equal(a, b), field.name
            assert a.dtype == b.dtype
        else:
            assert a == b, field.name


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_streams_round_trip(data):
    hw = data.draw(configs)
    instructions = data.draw(instruction_arrays(hw))
    assert np.array_equal(assemble_instructions(disassemble_instructions(instructions), hw), instructions)


@settings(deadline=None, max_examples=50)
@given(programs())
def test_programs_round_trip(program):
    text = disassemble(program)
    again = assemble(text)
    assert_same(again, program)
    assert disassemble(again) == text


def test_text_reads_well():
    text = "\n".join(
        [
            "load inp sram=0 dram=0x40 y=14 x=14 stride=16 pad=1,0,1,0 pop=next push=next",
            "load uop x=0 pop=prev,next",
            "gemm uop=0:9 loop=14,14 dst=14,1 src=16,1 wgt=0,3 push=prev,next",
            "gemm reset uop=0:1 loop=1,16 dst=0,1",
            "alu shr uop=0:1 loop=1,196 dst=0,1 src=0,1 imm=-8",
            "alu add uop=0:2 loop=1,1 unused_imm=3",
            "store out sram=0 dram=0x400 y=1 x=196 stride=196 pop=prev push=prev",
            "finish",
        ]
    )
    assert disassemble_instructions(assemble_instructions(text, HW)) == text + "\n"


@pytest.mark.parametrize("name", GOLDEN)
def test_published_encodings_as_text(name):
    word1, word0 = GOLDEN[name][0].split("_")
    data = np.array([int(word0, 16), int(word1, 16)], dtype="<u8").view(np.uint8)
    instructions = decode(data, HW)
    assert np.array_equal(assemble_instructions(disassemble_instructions(instructions), HW), instructions)


def test_comments_blank_lines_and_spacing_do_not_matter():
    text = "\n  ; a comment\n\tgemm   loop=1,1  uop=0:0x2 ; another\n\n"
    (instruction,) = assemble_instructions(text, HW)
    assert (instruction["uop_end"], instruction["iter_in"], instruction["push_next"]) == (2, 1, 0)


def sample() -> Program:
    instructions = blank_instructions(2)
    instructions["opcode"] = (0, 3)
    instructions["x_size"][0] = instructions["y_size"][0] = 1
    instructions["dram_base"][0] = 1
    image = np.arange(16, dtype=np.uint8)
    symbols = (Symbol("uops", SymbolKind.UOP, 0, 8), Symbol("bias; 1", SymbolKind.CONSTANT, 8, 8))
    origins = np.array([0, -1], dtype=np.int32), np.array([3, -1], dtype=np.int32)
    return Program(HW, instructions, image, 32, symbols, ("conv 1",), *origins)


def test_program_text_names_symbols_and_operators():
    lines = disassemble(sample()).splitlines()
    assert lines[0] == ".vta 1"
    assert '.symbol constant 0x8 8 "bias; 1"' in lines
    assert ".uop 0x0 256,64,12 1284,192,28" in lines
    assert ".origin 0 3  ; 'conv 1'" in lines
    assert "load uop sram=0 dram=0x1 y=1 x=1 stride=0  ; 0 'uops'+0x4" in lines


def test_uop_words_with_bits_beyond_the_fields_stay_data():
    small = next(load_config(path) for path in SHIPPED if sum_of_widths(load_config(path)) < 32)
    image = np.full(8, 0xFF, dtype=np.uint8)
    program = Program(small, blank_instructions(0), image, 8, (Symbol("u", SymbolKind.UOP, 0, 8),))
    assert ".uop" not in disassemble(program)
    assert_same(assemble(disassemble(program)), program)


def sum_of_widths(hw):
    from vta.isa.encoding import uop_fields

    return sum(field.width for field in uop_fields(hw))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("jump", "line 1: 'jump' is not a known instruction; allowed: load, store, gemm, finish, alu"),
        ("load", "line 1: 'load' lacks its memory_type; allowed: uop, wgt, inp"),
        ("load cache", "line 1: 'cache' is not a known kind of load; allowed: uop, wgt"),
        ("alu sub", "line 1: 'sub' is not a known kind of alu; allowed: min, max, add, shr, mul"),
        ("load inp sram=x", "line 1: 'sram=x': 'x' is not a number; allowed: decimal or 0x hexadecimal"),
        ("load inp sram=65536", "line 1: 'sram=65536': sram_base = 65536 does not fit; allowed: 0 to 65535"),
        ("load inp pad=1,2", "line 1: 'pad=1,2' has 2 numbers; allowed: pad=y_pad_0,y_pad_1,x_pad_0,x_pad_1"),
        ("load inp pop=both", "line 1: 'pop=both': 'both' is unknown; allowed: prev, next"),
        (
            "load inp width=3",
            "line 1: 'width=3' is not an operand of load; allowed: sram=, dram=, y=, x=, stride=, pad=, pop=, push=",
        ),
        ("\n\nload inp y=1 y=1", "line 3: 'y=1': y is given twice"),
        ("gemm imm=3", "line 1: 'imm=3' is not an operand of gemm; allowed: uop=, loop=, dst=, src=, wgt=, pop=, push=, reset"),
        ("gemm uop=1", "line 1: 'uop=1' has 1 numbers; allowed: uop=uop_bgn:uop_end"),
        ("alu add imm=1 unused_imm=2", "line 1: 'unused_imm=2': imm is given twice; allowed: once"),
        ("alu add imm=40000", "line 1: 'imm=40000': imm = 40000 does not fit; allowed: -32768 to 32767"),
        ("finish reset", "line 1: 'reset' is not an operand of finish; allowed: pop=, push="),
        (".image 1 2", "line 1: '.image' is not a known instruction"),
    ],
)
def test_errors_name_line_word_and_what_is_allowed(line, words):
    with pytest.raises(EncodingError) as caught:
        assemble_instructions(line, HW)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (".vta 1", ".vta 2", "line 1: '2': unknown version; allowed: 1"),
        (".vta 1", "", "the text does not start with its version; allowed: .vta 1"),
        (".image 32", ".picture 32", "'.picture': unknown directive; allowed: .vta, .config, .image"),
        (".image 32 16", ".image 32", "expected 2 values, got 1; allowed: .image BYTES INITIAL"),
        (".image 32 16", ".image 32 12", "the contents run past the end; allowed: 12 initial bytes"),
        (".symbol uop", ".symbol code", "'code': unknown kind of symbol; allowed: uop, constant, input, state, output, scratch"),
        ('"uops"', "uops", "not JSON"),
        ('"uops"', '"\\ud800"', "holds a text with half a character"),
        ('"uops"', "9" * 5000, "not JSON: Exceeds the limit"),
        ('"uops"', "[" * 100_000, "not JSON: maximum recursion"),
        ('"LOG_BLOCK": 4', '"LOG_BLOCK": 9', "line 2: LOG_BLOCK = 9 is out of range; allowed: 2 to 6"),
        (".data 0x0 ", ".data 0x0 !", "allowed: base64 of zlib data"),
        (".uop 0x0 256", ".uop 0x0 2560", "micro-op 0: dst = 2560 does not fit; allowed: 0 to 2047"),
        (".uop 0x0 256,64", ".uop 0x0 256", "not a micro-op; allowed: dst,src,wgt"),
        (".origin 0 3", ".origin 5 3", "'5': out of range; allowed: -1 to 0"),
        ("load uop", "load inp push=prev", "push=prev names a stage that this unit does not have; allowed: next"),
    ],
)
def test_program_errors_name_line_word_and_what_is_allowed(old, new, words):
    text = disassemble(sample())
    assert old in text
    with pytest.raises(EncodingError) as caught:
        assemble(text.replace(old, new, 1))
    assert words in str(caught.value)


@pytest.mark.parametrize("missing", [".config", ".image"])
def test_missing_parts_are_named(missing):
    text = "\n".join(line for line in disassemble(sample()).splitlines() if not line.startswith(missing))
    with pytest.raises(EncodingError, match=missing):
        assemble(text)


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_damaged_text_parses_or_fails_with_a_clear_error(data):
    text = disassemble(data.draw(programs()))
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 10)))
    damaged = text[:start] + data.draw(st.text(max_size=5)) + text[stop:]
    with suppress(EncodingError):
        assert isinstance(assemble(damaged), Program)
