"""Which operators there are, when they run on VTA, and which front ends make them: docs/supported-operators.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from vta.config.targets import TARGETS, Capabilities
from vta.ir.operator import operator_names
from vta.partition.fused.operator_support import on_vta_when
from vta.partition.fused.support_rules import all_rules
from vta.report.documents.front_ends import FRONT_ENDS, operators_by_front_end
from vta.support.dataclass import dataclass
from vta.support.table import Table, make_table

__all__ = [
    "OperatorRow",
    "RuleRow",
    "as_json",
    "operator_rows",
    "operator_table",
    "rule_rows",
    "rule_table",
    "supported_operators",
]


@dataclass(frozen=True)
class OperatorRow:
    """One operator of the graph."""

    operator: str
    on_vta: str | None
    """When it runs on VTA; None: never."""
    front_ends: dict[str, tuple[str, ...]]
    """For each front end, the operators of model files that it makes this one of, with others or alone."""


@dataclass(frozen=True)
class RuleRow:
    """One condition that every fused operator must meet to run on VTA."""

    condition: str
    operators: tuple[str, ...]
    """The operators that it can stop; () for any."""
    targets: tuple[str, ...]
    """The targets on which it can stop something."""
    by_config: bool


def operator_rows() -> list[OperatorRow]:
    """One row for each operator that is declared, sorted by name."""
    made = operators_by_front_end()
    return [
        OperatorRow(
            op,
            on_vta_when(op),
            {front_end: tuple(sorted(name for name, ops in names.items() if op in ops)) for front_end, names in made.items()},
        )
        for op in operator_names()
    ]


def rule_rows() -> list[RuleRow]:
    """One row for each support rule, in the order in which they are checked."""
    return [
        RuleRow(
            rule.text,
            rule.operators,
            tuple(name for name, target in TARGETS.items() if rule.can_break(target.capabilities)),
            rule.by_config,
        )
        for rule in all_rules()
    ]


def operator_table(rows: Sequence[OperatorRow]) -> Table:
    """Show when each operator runs on VTA."""
    return make_table(("operator", "on VTA"), [(row.operator, row.on_vta or "no") for row in rows], "Operators")


def rule_table(rows: Sequence[RuleRow]) -> Table:
    """Show the conditions on fused operators."""
    values = [(row.condition, ", ".join(row.operators) or "any", _targets(row.targets)) for row in rows]
    return make_table(("condition", "can stop", "on targets"), values, "What a fused operator must meet")


def as_json() -> dict[str, Any]:
    """The rows under the names of their fields."""
    return {"operators": [asdict(row) for row in operator_rows()], "conditions": [asdict(row) for row in rule_rows()]}


def supported_operators() -> str:
    """Return docs/supported-operators.md."""
    operators = [
        (f"`{row.operator}`", row.on_vta or "no", *(_names(row.front_ends[front_end]) for front_end in FRONT_ENDS))
        for row in operator_rows()
    ]
    rules = [(row.condition, ", ".join(f"`{op}`" for op in row.operators) or "any", _targets(row.targets)) for row in rule_rows()]
    sentences = [(f"`{name}`", *(_yes(test(target.capabilities)) for _, test in _NOTES)) for name, target in TARGETS.items()]
    return _DOCUMENT.format(
        operators=_markdown(("operator", "on VTA", *FRONT_ENDS), operators),
        rules=_markdown(("condition", "can stop", "on targets"), rules),
        targets=_markdown(("target", *(title for title, _ in _NOTES)), sentences),
    )


_NOTES: tuple[tuple[str, Callable[[Capabilities], bool]], ...] = (
    ("MUL: requantisation by multipliers, exact TFLite rounding", lambda target: target.multiply),
    ("left shift by a different amount for each channel", lambda target: target.register_shift_left or target.multiply),
    ("int8 tensors loaded into the accumulator", lambda target: target.acc8_load),
)

_DOCUMENT = """\
# Supported operators

Written by `vta operators -o docs/supported-operators.md`: edit the rules, not this file.

*On VTA* says when the accelerator can run an operator; everything else runs on the host. `nn.` operators of float networks become
int8 ones by quantisation, `qnn.` operators of networks that came quantised become integer steps ([arithmetic.md](arithmetic.md)).
The columns of the front ends name the operators of model files that this one is made of, alone or with others. MXNet's names with
an underscore in front are left out. `vta compile` prints for each operator of a network where it runs, and why it does not run on
the accelerator.

{operators}

## Conditions

VTA runs *fused operators*: a product, a window sum or an int8 tensor, then steps on int32 values, up to a value that is stored.
One must meet every condition; the one that it does not meet is the reason that `vta compile` prints. It must also fit the
memories on the chip, in tiles of some size.

{rules}

## Targets

{targets}

A fused operator that breaks a condition in its steps runs in part: what comes before, from its product or window sum on, runs on
VTA and stores int32 values, and the host goes on. So it is without MUL for networks that came quantised, whose requantisations
multiply: all products run on VTA and the results are the same, byte for byte, but each layer is a run of its own. A float network
is quantised with scales for which shifts are enough.
"""


def _targets(names: Sequence[str]) -> str:
    return "all" if len(names) == len(TARGETS) else ", ".join(names)


def _names(names: Sequence[str]) -> str:
    return ", ".join(name for name in names if not name.startswith("_"))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _markdown(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
