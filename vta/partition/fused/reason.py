"""Why an operator runs on the host: the rule, in a sentence, with what broke it and what to do about it."""

from __future__ import annotations

from vta.ir.graph import Node
from vta.support.dataclass import dataclass

__all__ = ["Reason"]


@dataclass(frozen=True)
class Reason:
    """Why an operator does not run on VTA. `str()` gives the sentence that users read."""

    rule: str
    """The rule's identity, by which programs tell reasons apart; it does not change with the words."""
    text: str
    """The rule in a sentence, without its full stop."""
    node: Node | None = None
    """The operator that breaks the rule; None where the rule is about a whole fused operator or region."""
    value: str = ""
    """What was found there, where the sentence alone does not say it."""
    advice: str = ""
    """What lets it run on VTA, or costs less; "" where nothing does."""

    def __str__(self) -> str:
        return f"{self.text}: {self.value}" if self.value else self.text
