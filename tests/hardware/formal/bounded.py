"""Bounded proofs: Yosys's solver looks at every input of some cycles after reset."""

import subprocess
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Module, Signal

from vta.hardware.synthesis.yosys import find_yosys

_TOP = "proof"


def counterexample(m: Module, inputs: list[Signal], holds: Signal, cycles: int, directory: Path) -> str:
    """What the solver says if `holds` can be 0 in one of the first `cycles` cycles; empty if it cannot."""
    ports = {signal.name: (signal, None) for signal in (*inputs, holds)}
    (directory / "proof.il").write_text(str(rtlil.convert(m, name=_TOP, ports=ports, emit_src=False)), encoding="utf-8")
    steps = (
        "read_rtlil proof.il",
        f"hierarchy -top {_TOP}",
        "proc",
        "flatten",
        "memory -nordff",
        "opt_clean",
        f"sat -verify -set rst 0 -prove {holds.name} 1 -tempinduct -tempinduct-baseonly -maxsteps {cycles} {_TOP}",
    )
    (directory / "proof.ys").write_text("\n".join(steps) + "\n", encoding="utf-8")
    done = subprocess.run([*find_yosys(), "proof.ys"], cwd=directory, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout[-3000:] + done.stderr[-1000:]
