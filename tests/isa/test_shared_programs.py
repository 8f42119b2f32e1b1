"""Streams of the published compiler, from the shared programs: verified, and as text and back."""

import json

import numpy as np
import pytest

from tests.isa.strategies import SHIPPED
from vta.config.hardware import load_config
from vta.isa import decode, encode
from vta.isa.assembly import assemble_instructions, disassemble_instructions
from vta.isa.findings import FindingKind, Queue
from vta.isa.verify import verify_stream

HW = load_config(next(path for path in SHIPPED if path.name == "sim.json"))
QUEUES = dict(zip(("l2g", "g2l", "g2s", "s2g"), Queue, strict=True))
LONGEST_AS_TEXT = 40_000


@pytest.fixture(scope="module")
def recorded(shared):
    paths = sorted((shared / "programs").glob("*.npz"))
    if not paths:
        pytest.skip("needs the shared programs")
    return paths


def test_only_the_left_over_token_is_found(recorded):
    for path in recorded:
        with np.load(path) as stored:
            meta = json.loads(str(stored["meta"]))
            instructions = decode(stored["insns"], HW)
            memory = {int(address): page for address, page in zip(stored["page_addr"], stored["page_before"], strict=True)}
        before = {QUEUES[name]: count for name, count in meta["tokens_before"].items()}
        findings = verify_stream(instructions, HW, memory, before)
        assert {finding.kind for finding in findings} <= {FindingKind.LEFTOVER_TOKEN}, path.stem
        left = {finding.queue: finding.count for finding in findings}
        assert left == {QUEUES[name]: count for name, count in meta["tokens_after"].items() if count}, path.stem


def test_a_program_that_carries_a_token_needs_it(recorded):
    (path,) = [path for path in recorded if path.stem.startswith("carry_")]
    with np.load(path) as stored:
        memory = {int(address): page for address, page in zip(stored["page_addr"], stored["page_before"], strict=True)}
        findings = verify_stream(decode(stored["insns"], HW), HW, memory)
    assert findings[0].kind is FindingKind.DEADLOCK
    assert findings[0].queue is Queue.STORE_TO_COMPUTE


def test_text_round_trips(recorded):
    for path in recorded:
        with np.load(path) as stored:
            instructions = decode(stored["insns"][-LONGEST_AS_TEXT:], HW)
        again = assemble_instructions(disassemble_instructions(instructions), HW)
        assert np.array_equal(again, instructions), path.stem
        assert np.array_equal(decode(encode(instructions, HW), HW), instructions), path.stem
