"""The explanation of a halt."""

from vta.config.targets import MemoryType
from vta.devices.device import Tokens
from vta.devices.engine.halt import halt_text
from vta.isa import Opcode, Unit, blank_instructions


def stream():
    """Two loads, a load of micro-ops, a store."""
    rows = blank_instructions(4)
    rows["opcode"] = [Opcode.LOAD, Opcode.LOAD, Opcode.LOAD, Opcode.STORE]
    rows["memory_type"] = [MemoryType.INP, MemoryType.INP, MemoryType.UOP, MemoryType.OUT]
    rows["pop_next"][:3] = rows["pop_prev"][2:] = 1
    return rows


def test_every_unit_is_explained():
    assert halt_text(stream(), dict(zip(Unit, (1, 0, 0), strict=True)), Tokens()) == (
        "load unit: instruction 1 waits for a compute-to-load token; "
        "compute unit: instruction 2 waits for a load-to-compute token and a store-to-compute token; "
        "store unit: instruction 3 waits for a compute-to-store token"
    )


def test_tokens_that_are_there_are_not_waited_for():
    text = halt_text(stream(), dict(zip(Unit, (2, 0, 0), strict=True)), Tokens(load_to_compute=1, compute_to_store=1), first=10)
    assert text == (
        "load unit: no instruction left; "
        "compute unit: instruction 12 waits for a store-to-compute token; "
        "store unit: instruction 13 is held up in the fetch unit by a full queue"
    )
