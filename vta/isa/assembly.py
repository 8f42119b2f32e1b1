"""Programs as text that reads well and assembles back to the very same program.

Lines are directives, which start with a dot, or instructions; ``;`` starts a comment. A program begins with::

    .vta 1
    .config {"TARGET": "sim", ...}            the hardware config as in its JSON file
    .image BYTES INITIAL                      bytes of the DRAM image, and of its initial contents
    .symbol KIND OFFSET BYTES "NAME"          one for each symbol, in order
    .data OFFSET BASE64                       initial contents, compressed by zlib; what is not given is 0
    .uop OFFSET dst,src,wgt dst,src,wgt ...   micro-ops in the initial contents
    .operator "NAME"                          one for each operator, in order
    .origin OPERATOR TILE                     where the instructions that follow come from; -1: not known

Instructions name their operands; flags are ``pop=prev,next push=prev,next``, and what is not given is 0::

    load inp sram=0 dram=0x40 y=14 x=14 stride=16 pad=1,0,1,0 pop=next push=next
    gemm uop=0:9 loop=14,14 dst=14,1 src=16,1 push=next
    alu shr uop=0:1 loop=1,196 dst=0,1 src=0,1 imm=8
    alu requantize uop=1:2 loop=2,98 dst=98,1 src=1,4 flags=1
    store out sram=0 dram=0x400 y=1 x=196 stride=196 pop=prev push=prev
    finish
"""

from __future__ import annotations

import base64
import json
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from vta.config.hardware import HardwareConfig
from vta.errors import ConfigError, EncodingError
from vta.files.plain_values import check_plain
from vta.isa.encoding import decode_uops, encode_uops
from vta.isa.instruction import INSTRUCTION_DTYPE, UOP_DTYPE, Opcode, missing_stage_flags
from vta.isa.instruction_text import InstructionParser, format_instructions, parse_integer
from vta.isa.program import Program, Symbol, SymbolKind
from vta.support.shorten import shown

__all__ = ["assemble", "assemble_instructions", "disassemble", "disassemble_instructions"]

_VERSION = 1
_DATA_BYTES = 16384
_UOPS_A_LINE = 8


def disassemble(program: Program) -> str:
    """Return `program` as text that `assemble` turns back into an equal program."""
    header = [
        f".vta {_VERSION}",
        f".config {json.dumps(program.hw.to_json())}",
        f".image {program.image_bytes} {len(program.image)}",
        *(f".symbol {s.kind.value} {s.offset:#x} {s.nbytes} {json.dumps(s.name)}" for s in program.symbols),
        *(f".operator {json.dumps(name)}" for name in program.operators),
    ]
    return "\n".join(chain(header, _format_image(program), _format_body(program))) + "\n"


def disassemble_instructions(instructions: NDArray[np.void]) -> str:
    """Return a bare stream, shape (n,) of `INSTRUCTION_DTYPE`, as text, one line an instruction."""
    return "".join(f"{line}\n" for line in format_instructions(instructions))


def assemble(text: str) -> Program:
    """Read a program from text.

    Raises `EncodingError` naming the line, the word that is wrong and what is allowed there.
    """
    reader = _ProgramReader()
    for number, line in enumerate(text.splitlines(), 1):
        reader.read(line, number)
    return reader.program()


def assemble_instructions(text: str, hw: HardwareConfig) -> NDArray[np.void]:
    """Read a bare stream from text: instruction lines only. Returns shape (n,) of `INSTRUCTION_DTYPE`.

    Raises `EncodingError` as `assemble` does.
    """
    parser = InstructionParser(hw)
    lines = enumerate(text.splitlines(), 1)
    split = ((number, _words(line)) for number, line in lines)
    return np.array([parser.parse(words, number) for number, words in split if words], dtype=INSTRUCTION_DTYPE)


def _words(line: str) -> list[str]:
    return line.partition(";")[0].split()


def _format_image(program: Program) -> Iterator[str]:
    data = program.image.copy()
    uop_lines = []
    for symbol in program.symbols:
        words = _uop_words(program, symbol)
        if words is not None:
            data[symbol.offset : symbol.offset + symbol.nbytes] = 0
            uop_lines.append(_format_uops(words, symbol.offset, program.hw))
    for offset in range(0, len(data), _DATA_BYTES):
        piece = data[offset : offset + _DATA_BYTES]
        if piece.any():
            yield f".data {offset:#x} {base64.b64encode(zlib.compress(piece.tobytes(), 1)).decode()}"
    yield from chain.from_iterable(uop_lines)


def _uop_words(program: Program, symbol: Symbol) -> NDArray[np.uint32] | None:
    """The micro-ops of a symbol; None if it holds none or has bits that no micro-op has."""
    end = symbol.offset + symbol.nbytes
    if symbol.kind is not SymbolKind.UOP or symbol.offset < 0 or symbol.nbytes % 4 or end > len(program.image):
        return None
    words = program.image[symbol.offset : end].copy().view("<u4")
    same = np.array_equal(encode_uops(decode_uops(words, program.hw), program.hw), words)
    return words if same else None


def _format_uops(words: NDArray[np.uint32], offset: int, hw: HardwareConfig) -> Iterator[str]:
    uops = decode_uops(words, hw).tolist()
    for start in range(0, len(uops), _UOPS_A_LINE):
        shown = " ".join(f"{dst},{src},{wgt}" for dst, src, wgt in uops[start : start + _UOPS_A_LINE])
        yield f".uop {offset + 4 * start:#x} {shown}"


def _format_body(program: Program) -> Iterator[str]:
    origins = _origin_pairs(program)
    notes = _address_notes(program)
    last: tuple[int, int] | None = None
    for index, line in enumerate(format_instructions(program.instructions)):
        if origins and origins[index] != last:
            last = origins[index]
            name = f"  ; {program.operators[last[0]]!a}" if 0 <= last[0] < len(program.operators) else ""
            yield f".origin {last[0]} {last[1]}{name}"
        yield f"{line}  ; {index}{notes(index)}"


def _origin_pairs(program: Program) -> list[tuple[int, int]]:
    operators, tiles = program.operator_index.tolist(), program.tile_index.tolist()
    if not operators and not tiles:
        return []
    unknown = [-1] * len(program.instructions)
    return list(zip(operators or unknown, tiles or unknown, strict=True))


def _address_notes(program: Program) -> Callable[[int], str]:
    """A function from instruction index to the symbol that the instruction moves, as text."""
    symbols = sorted(program.symbols, key=lambda symbol: symbol.offset)
    starts = [symbol.offset for symbol in symbols]
    opcodes = program.instructions["opcode"]
    moves = ((opcodes == Opcode.LOAD) | (opcodes == Opcode.STORE)) & (program.instructions["x_size"] != 0)
    shifts = np.zeros(8, dtype=np.int64)
    for memory, shift in program.hw.log_elem_bytes.items():
        shifts[memory] = shift
    addresses = program.instructions["dram_base"] << shifts[program.instructions["memory_type"] & 7]

    def note(index: int) -> str:
        address = int(addresses[index])
        position = bisect_right(starts, address) - 1
        if not moves[index] or position < 0 or address >= starts[position] + symbols[position].nbytes:
            return ""
        return f" {symbols[position].name!a}+{address - starts[position]:#x}"

    return note


class _ProgramReader:
    """Collects the parts of a program line by line."""

    def __init__(self) -> None:
        self._line = 0
        self._hw: HardwareConfig | None = None
        self._parser: InstructionParser | None = None
        self._image: NDArray[np.uint8] | None = None
        self._image_bytes = 0
        self._symbols: list[Symbol] = []
        self._operators: list[str] = []
        self._records: list[tuple[int, ...]] = []
        self._lines: list[int] = []
        self._origin: tuple[int, int] | None = None
        self._origins: list[tuple[int, int]] = []
        self._versioned = False
        self._directives: dict[str, Callable[[str], None]] = {
            ".vta": self._read_version,
            ".config": self._read_config,
            ".image": self._read_image,
            ".symbol": self._read_symbol,
            ".data": self._read_data,
            ".uop": self._read_uops,
            ".operator": self._read_operator,
            ".origin": self._read_origin,
        }

    def read(self, line: str, number: int) -> None:
        self._line = number
        words = _words(line)
        if not words:
            return
        if not self._versioned and words[0] != ".vta":
            raise self._error(words[0], "the text does not start with its version", f".vta {_VERSION}")
        if not words[0].startswith("."):
            self._read_instruction(words)
        elif words[0] in self._directives:
            self._directives[words[0]](line.strip()[len(words[0]) :].strip())
        else:
            raise self._error(words[0], "unknown directive", ", ".join(self._directives))

    def program(self) -> Program:
        if self._hw is None or self._image is None:
            raise self._error("end of text", "something is missing", "a text with .vta, .config and .image")
        instructions = np.array(self._records, dtype=INSTRUCTION_DTYPE)
        for index, flag in missing_stage_flags(instructions):
            text = f"line {self._lines[index]}: {flag.replace('_', '=')} names a stage that this unit does not have"
            raise EncodingError(f"{text}; allowed: next for the load unit, prev for the store unit")
        operators, tiles = np.array(self._origins, dtype=np.int32).reshape(-1, 2).T.copy()
        return Program(
            self._hw, instructions, self._image, self._image_bytes, tuple(self._symbols), tuple(self._operators), operators, tiles
        )

    def _error(self, token: str, problem: str, allowed: str) -> EncodingError:
        return EncodingError(f"line {self._line}: {shown(token)}: {problem}; allowed: {allowed}")

    def _split(self, rest: str, count: int, form: str) -> list[str]:
        words = _words(rest)
        if len(words) != count:
            raise self._error(rest, f"expected {count} values, got {len(words)}", form)
        return words

    def _integer(self, word: str, low: int, high: int) -> int:
        value = parse_integer(word, word, self._line)
        if not low <= value <= high:
            raise self._error(word, "out of range", f"{low} to {high}")
        return value

    def _json(self, text: str, kind: type, form: str) -> object:
        try:
            value, end = json.JSONDecoder().raw_decode(text)
        except (ValueError, RecursionError) as error:
            cause = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise self._error(text, f"not JSON: {cause}", form) from None
        check_plain(value, f"line {self._line}", EncodingError)
        if not isinstance(value, kind) or _words(text[end:]):
            raise self._error(text, "malformed", form)
        return value

    def _require_hw(self, token: str) -> HardwareConfig:
        if self._hw is None:
            raise self._error(token, "the config is not known here", ".config first")
        return self._hw

    def _require_image(self, token: str) -> NDArray[np.uint8]:
        if self._image is None:
            raise self._error(token, "the image is not known here", ".image first")
        return self._image

    def _read_version(self, rest: str) -> None:
        (word,) = self._split(rest, 1, f".vta {_VERSION}")
        if word != str(_VERSION):
            raise self._error(word, "unknown version", str(_VERSION))
        self._versioned = True

    def _read_config(self, rest: str) -> None:
        form = '.config {"TARGET": ...}'
        values = self._json(rest, dict, form)
        assert isinstance(values, dict)
        try:
            self._hw = HardwareConfig.from_json(values, f"line {self._line}")
        except ConfigError as error:
            raise EncodingError(str(error)) from None
        self._parser = InstructionParser(self._hw)

    def _read_image(self, rest: str) -> None:
        total, initial = self._split(rest, 2, ".image BYTES INITIAL")
        self._image_bytes = self._integer(total, 0, 1 << 40)
        self._image = np.zeros(self._integer(initial, 0, 1 << 32), dtype=np.uint8)

    def _read_symbol(self, rest: str) -> None:
        form = '.symbol KIND OFFSET BYTES "NAME"'
        words = rest.split(maxsplit=3)
        if len(words) != 4:
            raise self._error(rest, f"expected 4 values, got {len(words)}", form)
        kinds = {kind.value: kind for kind in SymbolKind}
        if words[0] not in kinds:
            raise self._error(words[0], "unknown kind of symbol", ", ".join(kinds))
        offset, nbytes = (self._integer(word, 0, 1 << 40) for word in words[1:3])
        name = str(self._json(words[3], str, form))
        self._symbols.append(Symbol(name, kinds[words[0]], offset, nbytes))

    def _read_data(self, rest: str) -> None:
        image = self._require_image(".data")
        word, text = self._split(rest, 2, ".data OFFSET BASE64")
        offset = self._integer(word, 0, len(image))
        room = len(image) - offset
        stream = zlib.decompressobj()
        try:
            data = stream.decompress(base64.b64decode(text, validate=True), room + 1)
        except (ValueError, zlib.error) as error:
            raise self._error(text[:16] + "...", str(error), "base64 of zlib data") from None
        if len(data) <= room and not stream.eof:
            raise self._error(text[:16] + "...", "the compressed data are cut short", "base64 of zlib data")
        self._place(word, offset, np.frombuffer(data, dtype=np.uint8))

    def _read_uops(self, rest: str) -> None:
        hw = self._require_hw(".uop")
        words = _words(rest)
        if not words:
            raise self._error(".uop", "no offset", ".uop OFFSET dst,src,wgt ...")
        uops = np.array([self._uop(word) for word in words[1:]], dtype=UOP_DTYPE)
        try:
            data = encode_uops(uops, hw)
        except EncodingError as error:
            raise EncodingError(f"line {self._line}: {error}") from None
        offset = self._integer(words[0], 0, len(self._require_image(".uop")))
        self._place(words[0], offset, data.astype("<u4").view(np.uint8))

    def _uop(self, word: str) -> tuple[int, ...]:
        parts = word.split(",")
        if len(parts) != 3:
            raise self._error(word, "not a micro-op", "dst,src,wgt")
        return tuple(self._integer(part, 0, 2**32 - 1) for part in parts)

    def _place(self, token: str, offset: int, data: NDArray[np.uint8]) -> None:
        image = self._require_image(token)
        if offset + len(data) > len(image):
            raise self._error(token, "the contents run past the end", f"{len(image)} initial bytes (.image)")
        image[offset : offset + len(data)] = data

    def _read_operator(self, rest: str) -> None:
        self._operators.append(str(self._json(rest, str, '.operator "NAME"')))

    def _read_origin(self, rest: str) -> None:
        operator, tile = self._split(rest, 2, ".origin OPERATOR TILE")
        if len(self._origins) != len(self._records):
            raise self._error(".origin", "the instructions before it have none", "an .origin before the first instruction")
        self._origin = (self._integer(operator, -1, len(self._operators) - 1), self._integer(tile, -1, 2**31 - 1))

    def _read_instruction(self, words: list[str]) -> None:
        self._require_hw(words[0])
        assert self._parser is not None
        self._records.append(self._parser.parse(words, self._line))
        self._lines.append(self._line)
        if self._origin is not None:
            self._origins.append(self._origin)
