"""Every reason for the host has a remedy, and the page that collects them says nothing else."""

import ast
import re
from pathlib import Path

import pytest

from vta.partition.fused.support_rules import RULES
from vta.report.remedies import REMEDIES, host_page, remedy_called, remedy_of

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_the_remedies_say():
    written = (ROOT / "docs" / "my-layer-stays-on-the-host.md").read_text(encoding="utf-8")
    assert written == host_page(), "run: python -m vta.report.remedies > docs/my-layer-stays-on-the-host.md"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_support_rule_has_its_section(rule):
    assert f"### {rule.text}\n" in host_page()
    assert remedy_of(rule.text).rule == remedy_of(f"{rule.text}: 35").rule == rule.name


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


def rules_in(path):
    """Identities that a module gives its reasons, as far as it writes them down."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Reason" and isinstance(node.args[0], ast.Constant):
            yield node.args[0].value


@pytest.mark.parametrize(
    "module",
    ["partition/find", "partition/host_reasons", "partition/partition", "partition/runnable", "compiler/veto", "compiler/profit"],
)
def test_every_rule_of_the_compiler_has_a_remedy_of_its_own(module):
    found = list(rules_in(ROOT / "vta" / f"{module}.py"))
    assert found
    for rule in found:
        assert remedy_called(rule).rule == rule
