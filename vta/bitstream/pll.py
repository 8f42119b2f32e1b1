"""Dividers of the PLL of an ECP5 (Lattice FPGA-TN-02200, sysCLOCK PLL/DLL Design and User Guide)."""

from __future__ import annotations

from vta.errors import ConfigError
from vta.support.dataclass import dataclass

__all__ = ["PllSettings", "pll_for"]

_DETECTOR_MHZ = (3.125, 400.0)
_OSCILLATOR_MHZ = (400.0, 800.0)
_DIVIDERS = range(1, 129)
_TOLERANCE = 0.002
"""How far the clock may be from what was asked for."""


@dataclass(frozen=True)
class PllSettings:
    """One output: input / `reference` * `feedback`, from an oscillator that runs `output` times as fast."""

    reference: int
    feedback: int
    output: int
    input_mhz: float

    @property
    def mhz(self) -> float:
        """The clock that comes out."""
        return self.input_mhz / self.reference * self.feedback

    def instance(self, clock: str, result: str, locked: str) -> str:
        """The PLL in Verilog between the named wires."""
        parameters = {
            "PLLRST_ENA": '"DISABLED"',
            "INTFB_WAKE": '"DISABLED"',
            "STDBY_ENABLE": '"DISABLED"',
            "DPHASE_SOURCE": '"DISABLED"',
            "OUTDIVIDER_MUXA": '"DIVA"',
            "CLKOP_ENABLE": '"ENABLED"',
            "FEEDBK_PATH": '"CLKOP"',
            "CLKI_DIV": self.reference,
            "CLKFB_DIV": self.feedback,
            "CLKOP_DIV": self.output,
            "CLKOP_CPHASE": self.output // 2,
            "CLKOP_FPHASE": 0,
        }
        ports = {"CLKI": clock, "CLKOP": result, "CLKFB": result, "LOCK": locked, "CLKINTFB": ""}
        ports |= dict.fromkeys(("RST", "STDBY", "PHASESEL0", "PHASESEL1", "PHASEDIR", "PHASESTEP", "PHASELOADREG"), "1'b0")
        ports |= {"PLLWAKESYNC": "1'b0", "ENCLKOP": "1'b0"}
        listed = ", ".join(f".{name}({value})" for name, value in parameters.items())
        joined = ", ".join(f".{name}({value})" for name, value in ports.items())
        return f"  EHXPLLL #({listed}) pll ({joined});\n"


def pll_for(input_mhz: float, wanted_mhz: float) -> PllSettings:
    """The dividers that come nearest to `wanted_mhz`. Raises `ConfigError` if none come near enough."""
    best = min(_settings(input_mhz, wanted_mhz), key=lambda found: abs(found.mhz - wanted_mhz), default=None)
    if best is None or abs(best.mhz - wanted_mhz) > _TOLERANCE * wanted_mhz:
        near = f"; the nearest is {best.mhz:g} MHz" if best else ""
        raise ConfigError(f"no PLL makes {wanted_mhz:g} MHz of {input_mhz:g} MHz{near}")
    return best


def _settings(input_mhz: float, wanted_mhz: float) -> list[PllSettings]:
    found = []
    for reference in _DIVIDERS:
        if not _DETECTOR_MHZ[0] <= input_mhz / reference <= _DETECTOR_MHZ[1]:
            continue
        feedback = round(wanted_mhz * reference / input_mhz)
        if feedback not in _DIVIDERS:
            continue
        mhz = input_mhz / reference * feedback
        outputs = [output for output in _DIVIDERS if _OSCILLATOR_MHZ[0] <= mhz * output <= _OSCILLATOR_MHZ[1]]
        found += [PllSettings(reference, feedback, outputs[len(outputs) // 2], input_mhz)] if outputs else []
    return found
