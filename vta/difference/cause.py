"""What made a difference: a pass of the compiler, an instruction of a program, or an operator of the host."""

from __future__ import annotations

from typing import Any

from vta.support.dataclass import dataclass

__all__ = ["Cause", "constant_cause", "instruction_cause", "operator_cause", "pass_cause"]


@dataclass(frozen=True)
class Cause:
    """What made two values differ."""

    kind: str
    """``pass``; ``instruction`` or ``constant`` of a program; ``operator`` of the host; ``file``: what compiling gives now is
    right, and something else than the file has."""
    name: str
    """Of the pass or operator; the text of the instruction; the symbol of the constant."""
    region: str = ""
    index: int | None = None
    """Of the instruction in its program."""
    detail: str = ""
    """What else is known, in words."""

    def to_json(self) -> dict[str, Any]:
        """The cause under names for scripts."""
        return {"kind": self.kind, "name": self.name, "region": self.region, "index": self.index, "detail": self.detail}

    def __str__(self) -> str:
        place = f" {self.index} of {self.region}" if self.index is not None else f" of {self.region}" if self.region else ""
        return f"{self.kind}{place}: {self.name}" + (f" ({self.detail})" if self.detail else "")


def pass_cause(name: str, detail: str = "") -> Cause:
    """A pass of the compiler gives another value than the one before it."""
    return Cause("pass", name, detail=detail)


def instruction_cause(text: str, region: str, index: int, detail: str) -> Cause:
    """After an instruction, memories differ that were equal before."""
    return Cause("instruction", text, region, index, detail)


def constant_cause(symbol: str, region: str, detail: str) -> Cause:
    """The image of a program holds something else."""
    return Cause("constant", symbol, region, detail=detail)


def operator_cause(name: str, detail: str) -> Cause:
    """An operator gives other values for the same inputs."""
    return Cause("operator", name, detail=detail)
