"""Every reason for the host has a remedy, and the page that collects them says nothing else."""

import argparse
import ast
from pathlib import Path

import pytest

from vta.cli.commands import compile as compile_command
from vta.cli.flags import OPTIONS, as_options
from vta.cli.host_page import host_page
from vta.partition.fused.support_rules import RULES
from vta.report.costs.bottlenecks import BOTTLENECKS
from vta.report.remedies import REMEDIES, remedy_of
from vta.report.settings import in_python, with_settings

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_what_the_remedies_say():
    written = (ROOT / "docs" / "my-layer-stays-on-the-host.md").read_text(encoding="utf-8")
    assert written == host_page(), "run: python -m vta.cli.host_page > docs/my-layer-stays-on-the-host.md"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_support_rule_has_its_section(rule):
    assert f"### {rule.text}\n" in host_page()
    assert remedy_of(rule.name).reason == rule.text


def test_identities_are_distinct_and_lead_back():
    assert len({remedy.rule for remedy in REMEDIES}) == len(REMEDIES)
    assert all(remedy_of(remedy.rule) is remedy for remedy in REMEDIES)


def test_old_files_that_keep_no_rule_get_no_advice():
    assert remedy_of("").remedy == ""


def test_options_that_advice_names_exist():
    parser = argparse.ArgumentParser()
    compile_command.register(parser.add_subparsers(), "")
    (command,) = parser._subparsers._group_actions[0].choices.values()
    assert set(OPTIONS.values()) <= set(command._option_string_actions)


@pytest.mark.parametrize("say", [as_options, in_python])
def test_all_settings_of_advice_have_words(say):
    texts = [*BOTTLENECKS.values(), *(remedy.remedy + remedy.cause for remedy in REMEDIES)]
    assert any("{" in text for text in texts)
    assert not any("{" in with_settings(text, say) for text in texts)


def test_settings_are_said_in_the_words_of_who_shows_them():
    text = "{skip_conv_layers=()} or {requantize='shift'} or {targets='vta, llvm'} with {tune}"
    assert (
        with_settings(text, as_options) == '`--quantize-first` or `--requantise shift` or `--target "vta, llvm"` with `vta tune`'
    )
    assert with_settings(text, in_python) == (
        '`skip_conv_layers=()` or `requantize="shift"` or `targets="vta, llvm"` with `vta.tune`'
    )


def rules_in(path):
    """Identities that a module gives its reasons, as far as it writes them down."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Reason" and isinstance(node.args[0], ast.Constant):
            yield node.args[0].value


@pytest.mark.parametrize(
    "module",
    [
        "partition/fused/find",
        "partition/fused/host_reasons",
        "partition/partition",
        "partition/fused/runnable",
        "compiler/veto",
        "compiler/profit",
    ],
)
def test_every_rule_of_the_compiler_has_a_remedy_of_its_own(module):
    found = list(rules_in(ROOT / "vta" / f"{module}.py"))
    assert found
    for rule in found:
        assert remedy_of(rule).rule == rule
