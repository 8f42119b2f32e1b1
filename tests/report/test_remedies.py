"""Every reason for the host has a remedy, and the page that collects them says nothing else."""

import ast
import re
from pathlib import Path

import pytest

from vta.partition.support_rules import RULES
from vta.report.remedies import REMEDIES, host_page, remedy_called, remedy_of

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_the_remedies_say():
    written = (ROOT / "docs" / "my-layer-stays-on-the-host.md").read_text(encoding="utf-8")
    assert written == host_page(), "run: python -m vta.report.remedies > docs/my-layer-stays-on-the-host.md"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.reason)
def test_each_support_rule_has_its_section(rule):
    assert f"### {rule.reason}\n" in host_page()
    assert remedy_of(rule.reason).rule == rule.holds.__name__


def test_identities_are_distinct_and_lead_back():
    assert len({remedy.rule for remedy in REMEDIES}) == len(REMEDIES)
    assert all(remedy_called(remedy.rule) is remedy for remedy in REMEDIES)


def test_a_reason_with_names_in_it_finds_its_rule():
    assert remedy_of("no VTA template for transpose on int8").rule == "no_template"
    assert remedy_of("too little to pay for the transfer: about 10 cycles with VTA (5 of them its own), 3 on the host").rule == (
        "does_not_pay"
    )
    assert remedy_of("acc_buffer: 9000 rows, holds 2048").rule == "does_not_fit"


def options_of_compile():
    return (ROOT / "vta" / "cli" / "options.py").read_text() + (ROOT / "vta" / "cli" / "compile.py").read_text()


def test_options_that_remedies_name_exist():
    known = options_of_compile()
    named = {option for remedy in REMEDIES for option in re.findall(r"--[a-z-]+", remedy.remedy + remedy.cause)}
    assert named
    assert all(f'"{option}"' in known for option in named), named


def reasons_in(path):
    """Texts that functions of a module return as reasons: whole sentences of constants and of names between them."""
    for node in ast.walk(ast.parse(path.read_text())):
        values = [node.value] if isinstance(node, ast.Return) and node.value else []
        for value in values:
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and " " in value.value:
                yield value.value
            elif isinstance(value, ast.JoinedStr):
                yield "".join(part.value if isinstance(part, ast.Constant) else "x" for part in value.values)


@pytest.mark.parametrize("module", ["fused_operator", "runnable"])
def test_every_reason_of_the_partitioner_has_a_remedy_of_its_own(module):
    found = list(reasons_in(ROOT / "vta" / "partition" / f"{module}.py"))
    assert found
    assert [reason for reason in found if remedy_of(reason).rule == "does_not_fit"] == []
