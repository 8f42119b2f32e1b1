"""What can be checked of a program without the C++ core: that it cannot harm a board, whatever it computes."""

from __future__ import annotations

from vta.errors import VerificationError
from vta.isa.program import Program
from vta.isa.rules import capability_findings, field_findings, finish_findings, header_findings
from vta.isa.transfers import first_transfer_outside

__all__ = ["require_contained"]


def require_contained(program: Program) -> None:
    """Raise `VerificationError` unless each instruction is one of its target's, and DRAM is touched inside the image only.

    That a program ends, and that no two units race, is for the verifier to prove; on a board a run that does not end is ended
    by its limit.
    """
    instructions, hw = program.instructions, program.hw
    findings = field_findings(instructions, hw)
    if not findings:
        findings = header_findings(instructions) + finish_findings(instructions) + capability_findings(instructions, hw)
    if findings:
        raise VerificationError(f"the program breaks {len(findings)} rules, the first: {findings[0]}")
    outside = first_transfer_outside(instructions, hw, [(0, program.image_bytes)])
    if outside is not None:
        raise VerificationError(
            f"instruction {outside.instruction} transfers bytes {outside.start} to {outside.end}; "
            f"the image has {program.image_bytes}"
        )
