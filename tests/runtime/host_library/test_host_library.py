"""Compiled code for the host in a file: what it gives, who may run it, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from tests.demo_network import demo_image
from tests.integer_graphs import BASELINE
from vta.devices.sim import SimDevice
from vta.errors import ArtifactError, CompileError
from vta.host import processors
from vta.host.llvm import link
from vta.host.llvm.target import cpu_target, host_target
from vta.host.processors import ARCHITECTURES, architecture_of
from vta.ir.graph import Graph, call, graph_input
from vta.runtime import Module, load, save
from vta.runtime.artifact.check_host_plan import check_plan
from vta.runtime.artifact.host_plan import PlannedProcessor, PlannedStep
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_library import load as loading
from vta.runtime.host_library.build import build_host_library
from vta.runtime.host_library.trust import is_trusted, trust
from vta.runtime.host_part.host_options import HostOptions
from vta.runtime.host_part.plan import KernelStep


@pytest.fixture(name="plain")
def _plain(demo_plain):
    return demo_plain


@pytest.fixture(name="compiled")
def _compiled(demo_compiled):
    return demo_compiled


def outputs(module, **host):
    with Module(module, SimDevice(module.hw), host=HostOptions(**host)) as loaded:
        return loaded.run({"image": demo_image()}).outputs[0]


def test_a_file_gives_back_what_was_compiled(compiled, tmp_path):
    for name in ("one.vta", "two.vta"):
        save(compiled, tmp_path / name)
    assert (tmp_path / "one.vta").read_bytes() == (tmp_path / "two.vta").read_bytes()
    assert load(tmp_path / "one.vta").host == compiled.host


def test_without_a_host_part_files_are_as_before(plain, compiled, tmp_path):
    save(plain, tmp_path / "plain.vta")
    save(replace(compiled, host=None), tmp_path / "stripped.vta")
    assert (tmp_path / "plain.vta").read_bytes() == (tmp_path / "stripped.vta").read_bytes()


def test_the_library_gives_the_bytes_of_kernels_compiled_at_run_time(plain, compiled):
    wanted = outputs(plain, compiled=True)
    for threads in (1, 2):
        np.testing.assert_array_equal(outputs(compiled, compiled=True, threads=threads), wanted)
    np.testing.assert_allclose(outputs(compiled), wanted, rtol=1e-5, atol=1e-5)


def test_every_kernel_of_the_plan_is_run_from_the_library(compiled):
    plan = loading.plan_of_library(compiled, compiled.host)
    kernels = [node for step in plan.steps if isinstance(step, KernelStep) for node in step.nodes]
    assert len(kernels) == compiled.host.plan.kernel_count > 0


def test_code_that_others_made_is_run_only_on_demand(compiled, tmp_path, monkeypatch):
    assert is_trusted(compiled.host)
    monkeypatch.setenv("VTA_CACHE_PATH", str(tmp_path))
    assert not is_trusted(compiled.host)
    loaded = []
    monkeypatch.setattr(loading, "plan_of_library", lambda *_: loaded.append(1) or (_ for _ in ()).throw(ArtifactError("run")))
    outputs(compiled, compiled=True)
    assert not loaded
    with pytest.raises(ArtifactError, match="run"):
        outputs(compiled, compiled=True, trusted=True)
    trust(compiled.host)
    assert is_trusted(compiled.host)
    assert not is_trusted(replace(compiled.host, code=compiled.host.code + b"\0"))


def for_processor(compiled, **changes):
    processor = replace(compiled.host.plan.processor, **changes)
    return replace(compiled, host=replace(compiled.host, plan=replace(compiled.host.plan, processor=processor)))


def test_code_for_another_processor_is_refused(compiled, monkeypatch):
    other = for_processor(compiled, machine="riscv64", triple="riscv64-unknown-linux-gnu")
    with pytest.raises(ArtifactError, match=r"compiled for riscv64 \(riscv64-unknown-linux-gnu\); this machine is"):
        outputs(other, compiled=True, refuses_foreign=True)
    np.testing.assert_array_equal(outputs(other, compiled=True), outputs(compiled, compiled=True))
    monkeypatch.setattr(processors, "_flags", set)
    lacking = for_processor(compiled, cpu="skylake", requires=next(iter(ARCHITECTURES.values())).features and ("avx2",))
    with pytest.raises(ArtifactError, match=r"compiled for skylake; the processor of this machine lacks avx2"):
        outputs(lacking, compiled=True, refuses_foreign=True)


@pytest.mark.parametrize("damage", [lambda code: code[: len(code) // 2], lambda code: b"", lambda code: b"\0" * len(code)])
def test_a_damaged_or_missing_library_is_refused(compiled, damage):
    bad = replace(compiled, host=replace(compiled.host, code=damage(compiled.host.code)))
    with pytest.raises(ArtifactError, match=r"host library: (damaged|no shared|there is no function)"):
        outputs(bad, compiled=True, trusted=True)


def damaged(plan, path, value):
    """The plan with another value at a path of fields and indices."""
    if not path:
        return value
    first, *rest = path
    if isinstance(first, int):
        return (*plan[:first], damaged(plan[first], rest, value), *plan[first + 1 :])
    return replace(plan, **{first: damaged(getattr(plan, first), rest, value)})


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["version"], 9, "version 9; this program reads versions 1 to 3"),
        (["values", 0, "dtype"], "complex64", "values.0..dtype = 'complex64'; allowed: bool"),
        (["values", 0, "place"], "heap", "values.0..place = 'heap'; allowed: arena, constants"),
        (["values", 0, "offset"], 1 << 40, "values.0..offset is"),
        (["values", 0, "shape"], (-1,), "values.0..shape is -1"),
        (["outputs", 0, "value"], 1000, "value is 1000"),
        (["kernels", 0, "table", 0, "kind"], "stack", "table.0..kind = 'stack'"),
        (["kernels", 0, "calls", 0, "buffers"], (99,), "calls.0.: buffer is 99"),
        (["kernels", 0, "calls", 0, "extent"], 0, "extent is 0; allowed: 1 to"),
        (["regions", 0, "index"], 7, "regions.0..index is 7; allowed: 0 to 0"),
        (["steps", 0], PlannedStep("thought", 0), "kind = 'thought'; allowed: kernels, region, operator"),
        (["steps", 0, "index"], 5, "steps.0..index is 5"),
    ],
)
def test_plans_that_do_not_fit_together_are_refused(compiled, path, value, message):
    library = compiled.host
    nodes, regions = len(compiled.graph.nodes()), len(compiled.regions)
    check_plan(library.plan, len(library.constants), nodes, regions)
    with pytest.raises(ArtifactError, match=message):
        check_plan(damaged(library.plan, path, value), len(library.constants), nodes, regions)


@pytest.mark.parametrize(
    ("triple", "cpu", "attributes", "message"),
    [
        ("mips-linux-gnu", None, None, "target triple 'mips-linux-gnu' is not known; allowed are those like x86_64"),
        ("aarch64-apple-darwin", None, None, "allowed are those of Linux, such as aarch64-unknown-linux-gnu"),
        ("armv7-linux-gnueabi", None, None, "floats go through registers, as in armv7-unknown-linux-gnueabihf"),
        (
            "aarch64-linux-gnu",
            "cortex-a99",
            None,
            "'cortex-a99' is not known for aarch64; allowed: generic, cortex-a35",
        ),
        ("armv7-linux-gnueabihf", None, "+mmx", "feature '\\+mmx' of armv7 is not of the form \\+name or -name; names: neon"),
    ],
)
def test_targets_that_are_not_known_are_refused(triple, cpu, attributes, message):
    with pytest.raises(CompileError, match=message):
        cpu_target(triple, cpu, attributes)


def test_targets_have_what_their_processors_have():
    assert cpu_target() == host_target()
    board = cpu_target("armv7l-linux-gnueabihf", "cortex-a9")
    assert (board.triple, board.vector_bytes, board.requires) == ("armv7-unknown-linux-gnueabihf", 16, ("neon",))
    assert cpu_target("arm64-linux-gnu", attributes="+dotprod").requires == ("dotprod",)
    assert cpu_target("x86_64-linux-gnu", "skylake-avx512").lanes(4) == 16
    assert cpu_target("x86_64-linux-gnu").requires == ()


def test_without_a_linker_it_is_said_how_to_get_one(plain, monkeypatch):
    monkeypatch.setattr(link.shutil, "which", lambda _: None)
    monkeypatch.setattr(link, "has_ziglang", lambda: False)
    with pytest.raises(CompileError, match=r"nothing here links for aarch64: looked for ld.lld.*pip install 'vta\[cross\]'"):
        link.link_library([b""], architecture_of("aarch64-linux-gnu"))


def test_what_does_not_link_is_said(monkeypatch):
    with pytest.raises(CompileError, match="linking for x86_64: "):
        link.link_library([b"no object"], architecture_of("x86_64-linux-gnu"))


def test_operators_without_a_kernel_are_steps_of_the_plan():
    x = graph_input("x", (3, 0), "int32")
    total = call("sum", [call("nn.relu", [x], "first")], "middle", axis=(1,))
    graph = Graph((x,), (call("nn.relu", [total], "last"),))
    library = build_host_library(CompiledModule(graph, BASELINE, (), (), 0), host_target())
    assert [step.kind for step in library.plan.steps] == ["kernels", "operator", "kernels"]
    assert [(item.name, item.op) for item in library.plan.operators] == [("middle", "sum")]


def test_the_processor_is_named_by_its_machine(compiled):
    assert isinstance(compiled.host.plan.processor, PlannedProcessor)
    assert compiled.host.plan.processor.machine in ARCHITECTURES
