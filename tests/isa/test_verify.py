from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from tests.isa.builders import PAGE, VECTOR_ADD, build, double_buffered_gemm, kinds, messages, shipped, vector_add
from vta.config.targets import MemoryType
from vta.errors import EncodingError, VerificationError
from vta.isa import INSTRUCTION_DTYPE, Program, Symbol, SymbolKind, Unit
from vta.isa.assembly import assemble_instructions
from vta.isa.findings import Finding, FindingKind, Queue
from vta.isa.verify import require_verified, verify, verify_stream

HW, RQ = shipped("sim"), shipped("sim_rq")
PORTABLE = ("sim", "cycle", "pynq", "ultra96", "zcu104", "de10nano", "intelfocl", "tsim")


def stream(text, tokens_before=None, hw=HW):
    memory = {0: np.zeros(16 * PAGE, dtype=np.uint8)}
    return verify_stream(assemble_instructions(text, hw), hw, memory, tokens_before)


@pytest.mark.parametrize("target", PORTABLE)
@pytest.mark.parametrize("program", [vector_add, double_buffered_gemm])
def test_correct_programs_have_no_findings(program, target):
    built = program(shipped(target))
    assert verify(built) == []
    require_verified(built)


def test_native_instruction_has_the_members_of_the_record():
    from vta.native import ffi

    struct = ffi.typeof("vta_verify_instruction")
    assert tuple(name for name, _ in struct.fields) == INSTRUCTION_DTYPE.names
    assert ffi.sizeof(struct) == INSTRUCTION_DTYPE.itemsize


LOADS = "load inp sram=0 dram=0 y=1 x=1 stride=1\nload wgt sram=0 dram=0 y=1 x=1 stride=1"


class TestDependencyCases:
    """Dependency tokens that go wrong: each is named with instruction, unit and queue."""

    def test_nothing_pushes_the_token_of_a_gemm(self):
        text = f"{LOADS}\ngemm uop=0:1 loop=1,1 pop=prev push=next\nstore out sram=0 dram=64 y=1 x=1 stride=1 pop=prev\nfinish"
        findings = stream(text)
        assert kinds(findings) == {"deadlock"}
        gemm, store = findings
        assert (gemm.instruction, gemm.unit, gemm.queue, gemm.other) == (2, Unit.COMPUTE, Queue.LOAD_TO_COMPUTE, None)
        assert (
            gemm.message == "instruction 2 (GEMM, compute unit): waits for ever for token 1 of queue load->compute, "
            "which nothing pushes"
        )
        assert (store.instruction, store.unit, store.queue, store.other) == (3, Unit.STORE, Queue.COMPUTE_TO_STORE, 2)

    def test_load_and_gemm_wait_for_each_other(self):
        text = "load inp sram=0 dram=0 y=1 x=1 stride=1 pop=next push=next\ngemm uop=0:1 loop=1,1 pop=prev push=prev\nfinish"
        load, gemm = stream(text)
        assert load.kind is gemm.kind is FindingKind.DEADLOCK
        assert (load.instruction, load.unit, load.queue, load.other) == (0, Unit.LOAD, Queue.COMPUTE_TO_LOAD, 1)
        assert (gemm.instruction, gemm.unit, gemm.queue, gemm.other) == (1, Unit.COMPUTE, Queue.LOAD_TO_COMPUTE, 0)
        assert "would push" in load.message

    def test_one_token_too_many(self):
        text = "load inp x=0 push=next\nload inp x=0 push=next\nload uop x=0 pop=prev\nfinish"
        (finding,) = stream(text)
        assert finding.kind is FindingKind.LEFTOVER_TOKEN
        assert (finding.instruction, finding.unit, finding.queue, finding.count) == (1, Unit.LOAD, Queue.LOAD_TO_COMPUTE, 1)

    @pytest.mark.parametrize(
        ("line", "flag"),
        [
            ("load inp x=0 pop=prev", "pop_prev"),
            ("load wgt x=0 push=prev", "push_prev"),
            ("store out x=0 pop=next", "pop_next"),
            ("store out x=0 push=next", "push_next"),
        ],
    )
    def test_stage_that_does_not_exist(self, line, flag):
        findings = stream(f"{line}\nfinish")
        assert kinds(findings) == {"header"}
        assert (findings[0].instruction, flag in findings[0].message) == (0, True)
        with pytest.raises(EncodingError, match=rf"instruction 0 .*{flag} names a stage that this unit does not have"):
            build(HW, f"{line}\nfinish", [(0, 0, 0)])


class TestTokens:
    def test_tokens_before_count(self):
        text = "load uop x=0 pop=next\nfinish"
        assert kinds(stream(text)) == {"deadlock"}
        assert stream(text, {Queue.STORE_TO_COMPUTE: 1}) == []
        (finding,) = stream(text, {Queue.STORE_TO_COMPUTE: 3})
        assert (finding.kind, finding.queue, finding.count) == (FindingKind.LEFTOVER_TOKEN, Queue.STORE_TO_COMPUTE, 2)

    @pytest.mark.parametrize("count", [255, 256])
    def test_queue_counts_255_tokens(self, count):
        text = "\n".join(["load inp x=0 push=next"] * count + ["load uop x=0 pop=prev"] * count + ["finish"])
        findings = stream(text)
        if count == 255:
            assert findings == []
        else:
            (finding,) = findings
            assert (finding.kind, finding.instruction, finding.count) == (FindingKind.TOKEN_OVERFLOW, 255, 256)
            assert "queue load->compute; it counts 255" in finding.message

    def test_tokens_that_are_surely_consumed_do_not_count(self):
        step = ["load inp x=0 pop=next push=next", "load uop x=0 pop=prev push=prev"]
        text = "\n".join(["load uop x=0 push=prev", *step * 400, "load inp x=0 pop=next", "finish"])
        assert stream(text) == []

    def test_fetch_stops_behind_a_full_unit(self):
        waiting = ["load inp x=0 pop=next", *["load inp x=0"] * 600]
        assert stream("\n".join(["load uop x=0 push=prev", *waiting, "finish"])) == []
        findings = stream("\n".join([*waiting, "load uop x=0 push=prev", "finish"]))
        assert kinds(findings) == {"deadlock"}
        assert any("never fetched: fetch stops at instruction 512" in finding.message for finding in findings)

    def test_transfers_must_complete_before_finish(self):
        text = VECTOR_ADD.replace("pop=prev push=prev", "pop=prev").replace("pop=prev,next", "pop=prev")
        program = replace(vector_add(HW), instructions=assemble_instructions(text, HW))
        (finding,) = verify(program)
        assert (finding.kind, finding.instruction, finding.other) == (FindingKind.UNFINISHED, 4, 7)


class TestFinish:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("load uop x=0", "does not end with FINISH"),
            ("finish\nload uop x=0", "instruction 0 (FINISH, compute unit): FINISH is not the last instruction"),
            ("load inp x=0 push=next\nfinish pop=prev", "FINISH carries pop_prev; allowed: none"),
        ],
    )
    def test_finish_ends_the_program(self, text, words):
        findings = stream(text)
        assert kinds(findings) == {"finish"}
        assert words in messages(findings)


class TestFields:
    def test_values_that_do_not_fit_are_all_reported(self):
        program = vector_add(HW)
        broken = program.instructions.copy()
        broken["sram_base"][0], broken["imm"][3] = 1 << 16, -40000
        findings = verify(replace(program, instructions=broken))
        assert kinds(findings) == {"field"}
        assert "instruction 0 (LOAD, compute unit): sram_base = 65536 does not fit; allowed: 0 to 65535" in messages(findings)
        assert "imm = -40000 does not fit" in messages(findings)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("load out sram=0 dram=0 y=1 x=1 stride=1", "memory_type = 4; LOAD takes UOP (0), WGT (1)"),
            ("load memory7 x=0", "memory_type = 7"),
            ("store inp sram=0 dram=0 y=1 x=1 stride=1", "STORE takes OUT (4)"),
            ("store out sram=0 dram=0 y=1 x=1 stride=1 pad=0,0,1,0", "STORE has no padding"),
            ("alu op6 uop=0:1 loop=1,1", "alu_opcode = 6; allowed: 0 to 4"),
            ("load inp x=0 pad=1,0,0,0", "pads around x_size = 0"),
            ("load inp x=3 y=0 stride=3 pad=1,0,0,0", "pads around x_size = 0 or y_size = 0"),
        ],
    )
    def test_values_without_a_meaning(self, line, words):
        findings = stream(f"{line}\nfinish")
        assert kinds(findings) == {"field"}
        assert words in messages(findings)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            (
                "alu requantize uop=0:1 loop=1,1 flags=3",
                "imm = 3; REQUANTIZE takes 1 (wide), 4 (keep), 2 (table), 6 (keep and table), or 0",
            ),
            ("alu requantize uop=0:1 loop=1,1 flags=-4", "imm = -4; REQUANTIZE takes"),
            ("alu requantize uop=0:1 loop=1,1 imm=0", "use_imm = 1; REQUANTIZE takes 0"),
            ("alu requantize reset uop=0:1 loop=1,1", "reset = 1; REQUANTIZE takes 0"),
            ("alu op6 uop=0:1 loop=1,1", "alu_opcode = 6; allowed: 0 to 5"),
            ("depthwise reset uop=0:1 loop=1,1", "reset = 1; DEPTHWISE takes 0"),
            ("alu requantize uop=0:1 loop=1,1 flags=5", "imm = 5; REQUANTIZE takes"),
            ("gemm reset uop=0:1 loop=1,1 flags=1", "reset = 1; a GEMM that requantizes takes 0"),
            ("gemm uop=0:1 loop=1,1 flags=1", "imm = 1; the last REQUANTIZE before it must be there, and not be wide"),
            (
                "alu requantize uop=0:1 loop=1,1 flags=4\nalu requantize uop=0:1 loop=1,1 flags=1\ngemm uop=0:1 loop=1,1 flags=1",
                "the last REQUANTIZE before it must be there",
            ),
            (
                "alu requantize uop=0:1 loop=0,1 flags=4\ngemm uop=0:1 loop=1,1 flags=1",
                "the last REQUANTIZE before it must be there",
            ),
        ],
    )
    def test_fields_of_requantize(self, line, words):
        findings = verify_stream(assemble_instructions(f"{line}\nfinish", RQ), RQ, {})
        assert kinds(findings) == {"field"}
        assert words in messages(findings)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("alu requantize uop=0:1 loop=1,1", "alu_opcode = 5; allowed: 0 to 4"),
            ("load table sram=0 dram=0 y=1 x=64 stride=64", "memory_type = 6; LOAD takes UOP (0)"),
        ],
    )
    def test_options_that_the_config_lacks(self, line, words):
        assert words in messages(stream(f"{line}\nfinish"))

    def test_unknown_opcode(self):
        instructions = assemble_instructions("finish", HW)
        instructions["opcode"] = 7
        assert "opcode = 7; allowed: LOAD (0)" in messages(verify_stream(instructions, HW, {}))


class TestRequantize:
    """Rows 0 to 9 are loaded; micro-op 0 is dst 0, src 4."""

    MEMORY: ClassVar = {0: np.zeros(4096, np.uint8), 4096: np.array([4 << 11], "<u4").view(np.uint8)}
    LOADS = "load acc sram=0 dram=0 y=1 x=10 stride=10\nload uop sram=0 dram=0x400 y=1 x=1 stride=1\n"

    def findings(self, line: str) -> list[Finding]:
        return verify_stream(assemble_instructions(f"{self.LOADS}{line}\nfinish", RQ), RQ, self.MEMORY)

    @pytest.mark.parametrize(
        ("line", "words"),
        [
            ("uop=0:1 loop=2,2 dst=2,1 src=1,2 flags=1", ""),
            ("uop=0:1 loop=1,4 dst=0,0 src=0,1", ""),
            ("uop=0:1 loop=1,4 dst=0,0 src=0,1 flags=1", "REQUANTIZE with wide results writes a row twice"),
            ("uop=0:1 loop=1,6 dst=0,1 src=0,1", "REQUANTIZE writes ACC row 4 and 1 more, which holds its parameters"),
            ("uop=0:1 loop=1,4 dst=0,1 src=0,3", "reads ACC row 10, which nothing has written"),
            ("uop=0:1 loop=1,4 dst=0,1 src=0,1022", "ACC rows 4 to 2048 (micro-op 0); allowed: 0 to 2047"),
            ("uop=0:1 loop=1,4 dst=0,1 src=0,1 flags=2", "reads TABLE row 0 and 63 more, which nothing has written"),
        ],
    )
    def test_rows(self, line, words):
        findings = self.findings(f"alu requantize {line}")
        assert (words in messages(findings)) if words else findings == []

    @pytest.mark.parametrize(
        ("rows", "step", "words"),
        [(8, 1, ""), (7, 1, "reads INP row 7, which nothing has written"), (8, 2042, "INP rows 2046 to 2048 (micro-op 0)")],
    )
    def test_depthwise_reads_three_rows(self, rows, step, words):
        lines = [
            f"load inp sram=0 dram=0 y=1 x={rows} stride={rows}",
            "load wgt sram=0 dram=0 y=1 x=1 stride=1 push=next",
            self.LOADS.strip(),
            f"depthwise uop=0:1 loop=1,2 dst=0,1 src=0,{step} pop=prev",
            "finish",
        ]
        findings = verify_stream(assemble_instructions("\n".join(lines), RQ), RQ, self.MEMORY)
        assert (words in messages(findings)) if words else findings == []

    def test_a_table_that_is_there(self):
        load = "load table sram=0 dram=0 y=1 x=64 stride=64"
        assert self.findings(f"{load}\nalu requantize uop=0:1 loop=1,4 dst=0,1 src=0,1 flags=2") == []
        assert "TABLE rows 1 to 64; allowed: 0 to 63" in messages(self.findings(load.replace("sram=0", "sram=1")))


class TestMemory:
    def edited(self, line: int, **changes: int) -> Program:
        program = vector_add(HW)
        instructions = program.instructions.copy()
        for name, value in changes.items():
            instructions[name][line] = value
        return replace(program, instructions=instructions)

    @pytest.mark.parametrize(
        ("line", "changes", "kind", "words"),
        [
            (0, {"sram_base": 2047}, "sram-bounds", "ACC rows 2047 to 2110; allowed: 0 to 2047"),
            (2, {"sram_base": 8192}, "sram-bounds", "UOP rows 8192 to 8192; allowed: 0 to 8191"),
            (3, {"src_factor_in": 32}, "sram-bounds", "ACC rows 64 to 2080 (micro-op 0); allowed: 0 to 2047"),
            (3, {"uop_end": 2}, "uninitialised-sram", "reads UOP row 1, which nothing has written"),
            (4, {"sram_base": 2000}, "sram-bounds", "OUT rows 2000 to 2063"),
            (0, {"dram_base": 160}, "dram-bounds", "4096 bytes of DRAM from 0x2800 (b+0x800): no symbol covers them"),
            (0, {"dram_base": 1 << 30}, "dram-bounds", "0x1000000000: no symbol covers them"),
            (4, {"dram_base": 769}, "dram-bounds", "1024 bytes of DRAM from 0x3010 (c+0x10)"),
            (4, {"dram_base": 512}, "read-only-store", "stores 1024 bytes of DRAM from 0x2000 (b+0x0), which is read-only"),
            (4, {"dram_base": 0, "x_size": 0}, "unwritten-output", "1024 bytes of DRAM from 0x3000 (c+0x0) belong to an output"),
            (4, {"x_size": 63}, "unwritten-output", "16 bytes of DRAM from 0x33f0 (c+0x3f0)"),
            (1, {"x_size": 63}, "uninitialised-sram", "reads ACC row 127, which nothing has written"),
            (3, {"iter_in": 60}, "uninitialised-sram", "reads OUT row 60 and 3 more, which nothing has written"),
            (
                0,
                {"dram_base": 192},
                "uninitialised-dram",
                "reads 1024 bytes of DRAM from 0x3000 (c+0x0), which nothing has stored",
            ),
            (2, {"dram_base": 1024}, "unknown-uops", "loads 1 micro-ops from 0x1000 (a+0x0), whose contents are not known"),
        ],
    )
    def test_ranges(self, line, changes, kind, words):
        changes = dict(changes)
        if kind == "uninitialised-dram":
            changes |= {"x_size": 16, "y_size": 1}
        findings = verify(self.edited(line, **changes))
        assert kind in kinds(findings)
        assert words in messages(findings)

    def test_symbols_must_fit_the_image(self):
        program = vector_add(HW)
        symbols = (*program.symbols, Symbol("late", SymbolKind.CONSTANT, 4096, 16), Symbol("a", SymbolKind.SCRATCH, 0, 1 << 20))
        text = messages(verify(replace(program, symbols=symbols)))
        assert "symbol late (constant): bytes 4096 to 4112 outside the initial contents of 4096 bytes" in text
        assert "symbol a (scratch): bytes 0 to 1048576 outside the image of 16384 bytes" in text
        assert "symbol a is defined twice" in text
        assert "have 4096 bytes, the image 100" in messages(verify(replace(program, image_bytes=100)))

    def test_symbols_that_shrink_are_noticed(self):
        program = vector_add(HW)
        for place, symbol in enumerate(program.symbols):
            symbols = list(program.symbols)
            symbols[place] = replace(symbol, nbytes=symbol.nbytes - 4)
            assert "dram-bounds" in kinds(verify(replace(program, symbols=tuple(symbols))))

    def test_out_is_undefined_after_a_reset(self):
        text = VECTOR_ADD.replace("alu add uop=0:1 loop=1,64 dst=0,1 src=0,1", "gemm reset uop=0:1 loop=1,64 dst=0,1")
        (finding,) = verify(replace(vector_add(HW), instructions=assemble_instructions(text, HW)))
        assert (finding.kind, finding.memory, finding.count) == (FindingKind.UNINITIALIZED_SRAM, MemoryType.OUT, 64)
        assert "undefined since the reset of instruction 3 (GEMM)" in finding.message

    def test_uops_that_a_store_wrote_are_unknown(self):
        text = """
            load uop sram=0 dram=0 y=1 x=1 stride=1
            gemm reset uop=0:1 loop=1,1
            alu add uop=0:1 loop=1,1 imm=1 push=next
            store out sram=0 dram=16 y=1 x=1 stride=1 pop=prev push=prev
            load uop sram=1 dram=64 y=1 x=2 stride=2 pop=next
            gemm reset uop=1:3 loop=1,1
            finish
        """
        (finding,) = stream(text)
        assert (finding.kind, finding.instruction, finding.first, finding.count) == (FindingKind.UNKNOWN_UOPS, 4, 256, 2)

    def test_pad_rows_count_as_written(self):
        text = """
            load uop sram=0 dram=0 y=1 x=1 stride=1
            load acc sram=0 dram=16 y=1 x=1 stride=1 pad=1,1,2,3
            alu shr uop=0:1 loop=1,{rows} dst=0,1 src=0,1 imm=1
            finish
        """
        assert stream(text.format(rows=18)) == []
        (finding,) = stream(text.format(rows=19))
        assert (finding.kind, finding.first, finding.count) == (FindingKind.UNINITIALIZED_SRAM, 18, 1)


def test_findings_name_the_operator():
    program = vector_add(HW)
    count = len(program.instructions)
    origins = np.zeros(count, dtype=np.int32), np.arange(count, dtype=np.int32)
    broken = program.instructions.copy()
    broken["sram_base"][4] = 2000
    named = replace(program, instructions=broken, operators=("add1",), operator_index=origins[0], tile_index=origins[1])
    assert any(finding.message.endswith("[operator add1, tile 4]") for finding in verify(named))


def test_require_verified_lists_the_first_findings():
    program = vector_add(HW)
    broken = program.instructions.copy()
    broken["pop_prev"][4] = 0
    with pytest.raises(VerificationError, match=r"the program breaks \d rules:\n  .*\n  ") as caught:
        require_verified(replace(program, instructions=broken))
    assert "leftover-token: instruction 3 (ALU, compute unit)" in str(caught.value)


def test_bare_streams_stay_inside_the_memory_given():
    text = "load uop sram=0 dram=0 y=1 x=1 stride=1\nfinish"
    instructions = assemble_instructions(text, HW)
    (finding,) = verify_stream(instructions, HW, {PAGE: np.zeros(PAGE, dtype=np.uint8)})
    assert finding.kind is FindingKind.DRAM_BOUNDS
    assert "no memory given covers them" in finding.message


def test_empty_stream():
    assert kinds(stream("")) == {"finish"}
