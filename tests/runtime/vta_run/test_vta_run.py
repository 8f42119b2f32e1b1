"""Networks without Python: the same bytes as with it, and one line for whatever is wrong."""

import hashlib
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from tests.demo_network import demo_image
from tests.integer_graphs import BASELINE
from vta.codegen.region_program import RegionProgram
from vta.devices.sim import SimDevice
from vta.errors import GraphError
from vta.host.llvm.target import host_target
from vta.ir.graph import Graph, call, constant, graph_input
from vta.ir.interpreter import evaluate
from vta.runtime import Module, save
from vta.runtime.compiled_module import CompiledModule
from vta.runtime.host_library.build import build_host_library
from vta.runtime.host_part.host_options import HostOptions


def python_outputs(module, inputs):
    with Module(module, SimDevice(module.hw), host=HostOptions(compiled=True)) as loaded:
        return loaded.run(inputs).outputs


def test_it_gives_the_bytes_of_python(vta_run, artifact, demo_compiled, tmp_path):
    wanted = python_outputs(demo_compiled, {"image": demo_image()})
    image = artifact.with_name("image.npy")
    status, printed, _ = vta_run(
        artifact, "--input", f"image={image}", "--output", tmp_path / "out.npz", "--device", "sim", "--json"
    )
    figures = json.loads(printed)
    assert status == 0
    assert figures["device_runs"] == 1
    assert figures["seconds"] == pytest.approx(figures["host_seconds"] + figures["device_seconds"], abs=1e-8)
    with np.load(tmp_path / "out.npz") as found:
        assert found.files == list(wanted.names)
        np.testing.assert_array_equal(found[wanted.names[0]], wanted[0])
    assert vta_run(artifact, "--input", image, "--output", tmp_path / "out.npy", "--threads", 3, "--repeat", 5)[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), wanted[0])


def test_paths_hold_any_character(vta_run, artifact, tmp_path):
    image, folder = artifact.with_name("image.npy"), tmp_path / "a=b"
    folder.mkdir()
    (folder / "x=1.npy").write_bytes(image.read_bytes())
    for words in ("{}", "image={}"):
        assert vta_run(artifact, "--input", words.format(folder / "x=1.npy"))[0] == 0
    longest = tmp_path / ("n" * 251 + ".npz")
    assert vta_run(artifact, "--input", image, "--output", longest)[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a=b", longest.name]


def test_what_is_read_is_not_written_over(vta_run, artifact, tmp_path):
    image, link, network = tmp_path / "image.npy", tmp_path / "link.npy", tmp_path / "net.npz"
    image.write_bytes(artifact.with_name("image.npy").read_bytes())
    link.symlink_to(image)
    network.write_bytes(artifact.read_bytes())
    for output in (image, link, network):
        status, _, complaint = vta_run(network, "--input", image, "--output", output)
        assert (status, "would write over what is read; name another file" in complaint) == (2, True)
    assert image.read_bytes() == artifact.with_name("image.npy").read_bytes()
    assert network.read_bytes() == artifact.read_bytes()


def test_names_of_inputs_hold_any_character(vta_run, tmp_path):
    inputs = [graph_input(name, (2,), "float32") for name in ("a", "a=b")]
    host_network(Graph(tuple(inputs), (call("subtract", inputs, "left"),)), tmp_path / "net.vta")
    for name, value in (("one", 1), ("two", 2)):
        np.save(tmp_path / f"{name}.npy", np.full(2, value, np.float32))
    given = ("--input", f"a={tmp_path}/one.npy", "--input", f"a=b={tmp_path}/two.npy", "--output", tmp_path / "out.npy")
    assert vta_run(tmp_path / "net.vta", *given)[0] == 0
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), [-1, -1])


def host_network(graph, path):
    module = CompiledModule(graph, BASELINE, (), (), 0)
    save(replace(module, host=build_host_library(module, host_target())), path)
    return module


def test_several_inputs_and_outputs_of_other_shapes(vta_run, tmp_path):
    a, b = graph_input("a", (2, 3), "float32"), graph_input("b", (2, 3), "float32")
    total = call("add", [a, b], "total")
    flat = call("reshape", [call("nn.relu", [total], "relu")], "flat", newshape=(6,))
    graph = Graph((a, b), (flat, total, constant(np.arange(3, dtype=np.int32))))
    host_network(graph, tmp_path / "net.vta")
    rng = np.random.default_rng(0)
    values = {name: rng.standard_normal((2, 3)).astype(np.float32) for name in "ab"}
    for name, value in values.items():
        np.save(tmp_path / f"{name}.npy", value)
    given = [f"--input={name}={tmp_path / name}.npy" for name in values]
    assert vta_run(tmp_path / "net.vta", *given, f"--output={tmp_path / 'out.npz'}")[0] == 0
    with np.load(tmp_path / "out.npz") as found:
        results = [found[name] for name in found.files]
    want = values["a"] + values["b"]
    np.testing.assert_array_equal(results[0], np.maximum(want, 0).reshape(6))
    np.testing.assert_array_equal(results[1], want)
    np.testing.assert_array_equal(results[2], [0, 1, 2])


def test_boxes_and_positions_that_are_computed(vta_run, tmp_path):
    """What follows values, not shapes; a position outside is an error here as it is there."""
    boxes, scores = graph_input("boxes", (1, 40, 4)), graph_input("scores", (1, 3, 40))
    shift = graph_input("shift", (), "int64")
    kept = call("nn.non_max_suppression", [boxes, scores], "kept", most=5, iou_threshold=0.4)
    best = call("top_k", [call("reshape", [call("max", [scores], axis=(1,))], newshape=(40,))], "best", k=9)
    picked = call("take", [boxes, call("add", [best, shift])], "picked", axis=1)
    graph = Graph((boxes, scores, shift), (kept, picked))
    module = host_network(graph, tmp_path / "net.vta")
    rng = np.random.default_rng(4)
    values = {node.name: rng.random(node.shape, np.float32) for node in (boxes, scores)} | {"shift": np.int64(0)}
    given = [f"--input={name}={tmp_path / name}.npy" for name in values]
    for name, value in values.items():
        np.save(tmp_path / f"{name}.npy", value)
    assert vta_run(tmp_path / "net.vta", *given, f"--output={tmp_path / 'out.npz'}")[0] == 0
    with np.load(tmp_path / "out.npz") as found:
        results = [found[name] for name in found.files]
    for got, want in zip(results, evaluate(graph, values), strict=True):
        np.testing.assert_array_equal(got, want)
    values["shift"] = np.int64(1000)
    np.save(tmp_path / "shift.npy", values["shift"])
    with pytest.raises(GraphError, match=r"picked: take: positions must be in -40\.\.39, got ") as there:
        python_outputs(module, values)
    status, _, complaint = vta_run(tmp_path / "net.vta", *given)
    assert status == 1
    assert complaint.endswith(f"{there.value}\n")


def test_networks_that_need_python_are_refused_by_name(vta_run, tmp_path):
    x = graph_input("x", (3, 0), "float32")
    host_network(Graph((x,), (call("sum", [x], "middle", axis=(1,)),)), tmp_path / "net.vta")
    status, _, complaint = vta_run(tmp_path / "net.vta")
    assert status == 1
    assert complaint.endswith("net.vta: no kernel for 'middle' (sum): this network runs in Python only\n")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "no network is given"),
        (["{net}", "--speed", "9"], 2, "unknown option '--speed'"),
        (["{net}", "{net}"], 2, "one network at a time"),
        (["{net}", "--input"], 2, "--input needs a value"),
        (["{net}", "--threads", "0"], 2, "--threads '0'; allowed: 1 to 256"),
        (["{net}", "--memory", "12X"], 2, "--memory '12X'; allowed are sizes such as 64M"),
        (["{net}", "--limit", "-1"], 2, "--limit '-1'; allowed are seconds above 0"),
        (["{net}"], 2, r"input 'image' (float32 (1, 1, 8, 8)) is not given"),
        (["{net}", "--input", "other={npy}"], 2, "no input 'other'; inputs: image"),
        (["{net}", "--input", "{npy}", "--input", "{npy}"], 2, "input 'image' is given twice"),
        (["{net}", "--input", "{npy}", "--output", "out.txt"], 2, "allowed are names that end with .npz or .npy"),
        (["{net}", "--input", "{dir}/long.npy"], 1, "float32 (1, 1, 8, 9); input 'image' is float32 (1, 1, 8, 8)"),
        (["{net}", "--input", "{dir}/wide.npy"], 1, "float64 (1, 1, 8, 8); input 'image' is float32 (1, 1, 8, 8)"),
        (["{net}", "--input", "{net}"], 1, "not a .npy file"),
        (["{net}", "--input", "{dir}"], 1, "it is no regular file"),
        (["{dir}/none.vta"], 1, "none.vta: cannot be read: No such file or directory"),
        (["{npy}"], 1, "not a .vta file, or damaged"),
        (["{net}", "--memory", "16K"], 1, "out of device memory: "),
        (["{net}", "--device", "{npy}"], 1, "expected a value"),
        (["{net}", "--input", "{npy}", "--output", "{dir}/none/out.npz"], 1, "cannot be written: No such file or directory"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(vta_run, artifact, tmp_path, arguments, status, message):
    np.save(tmp_path / "long.npy", np.zeros((1, 1, 8, 9), np.float32))
    np.save(tmp_path / "wide.npy", np.zeros((1, 1, 8, 8)))
    words = [word.format(net=artifact, npy=artifact.with_name("image.npy"), dir=tmp_path) for word in arguments]
    found, _, complaint = vta_run(*words)
    assert found == status
    assert complaint.startswith("vta-run: error: ")
    assert message in complaint
    assert len(complaint.splitlines()) == (2 if status == 2 else 1)


def changed(artifact, path, changes, checksums=True):
    """The file with other members, and checksums that are right again."""
    with zipfile.ZipFile(artifact) as archive:
        members = {name: archive.read(name) for name in archive.namelist() if name != "sha256"}
        sums = archive.read("sha256")
    for name, change in changes.items():
        members[name] = change(members[name])
    members = {name: content for name, content in members.items() if content is not None}
    if checksums:
        sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in members.items()).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {"sha256": sums, **members}.items():
            archive.writestr(name, content)


def with_plan(**changes):
    def change(content):
        return json.dumps({**json.loads(content), **changes}).encode()

    return {"host/plan.json": change}


PROCESSOR = {"machine": "riscv64", "triple": "riscv64-linux-gnu", "cpu": "generic", "requires": []}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"host/library.so": lambda code: code[: len(code) // 2]}, "host library: damaged"),
        ({"host/library.so": lambda code: None}, "member 'host/library.so' is missing"),
        ({"host/plan.json": lambda text: text[:-2]}, "host/plan.json: byte"),
        ({"regions/0/instructions": lambda code: code[:-16]}, "is the last one, and not FINISH"),
        (
            {"regions/0/instructions": lambda code: b"\x07" * 16 + code},
            "region 'region0': instruction 0 (compute unit)",
        ),
        (with_plan(version=4), "= 4; this program reads versions 1 to 3"),
        (with_plan(processor=PROCESSOR), "its host part was compiled for 'riscv64' ('riscv64-linux-gnu'); this machine is"),
        (with_plan(arena_bytes=64), "offset lies outside of its place"),
        (with_plan(arena_bytes=1 << 40), "arena_bytes = 1099511627776; allowed: 0 to 2147483648"),
        (with_plan(steps=[{"kind": "kernels", "index": 9}]), "index = 9; allowed: 0 to 1"),
        ({**with_plan(), "regions/0/image": lambda image: image * 2}, "its constants do not fit its image"),
    ],
)
def test_damaged_files_are_refused(vta_run, artifact, tmp_path, changes, message):
    changed(artifact, tmp_path / "bad.vta", changes)
    status, _, complaint = vta_run(tmp_path / "bad.vta", "--input", artifact.with_name("image.npy"))
    assert status == 1
    assert complaint.startswith(f"vta-run: error: {tmp_path / 'bad.vta'}: ")
    assert message in complaint


def test_a_checksum_that_is_wrong_is_seen(vta_run, artifact, tmp_path):
    changed(artifact, tmp_path / "bad.vta", {"host/constants": lambda data: data[:-1] + b"\x55"}, checksums=False)
    status, _, complaint = vta_run(tmp_path / "bad.vta")
    assert (status, "member 'host/constants' is damaged: its checksum does not match" in complaint) == (1, True)


def test_files_without_a_host_part_are_refused(vta_run, demo_plain, tmp_path):
    save(demo_plain, tmp_path / "plain.vta")
    status, _, complaint = vta_run(tmp_path / "plain.vta")
    assert status == 1
    assert "holds nothing compiled for a host: compile it with llvm among the targets" in complaint


def test_transfers_out_of_the_image_are_refused(vta_run, demo_compiled, tmp_path):
    region = demo_compiled.regions[0]
    plan = demo_compiled.host.plan
    small = replace(plan.regions[0], image_bytes=region.program.image_bytes - 4096)
    bad = replace(demo_compiled, host=replace(demo_compiled.host, plan=replace(plan, regions=(small,))))
    assert isinstance(region, RegionProgram)
    save(bad, tmp_path / "bad.vta")
    status, _, complaint = vta_run(tmp_path / "bad.vta")
    assert status == 1
    assert "outside of the image" in complaint or "transfers up to byte" in complaint


def test_help(vta_run):
    status, printed, _ = vta_run("--help")
    assert (status, printed.startswith("usage: vta-run OUT.vta --input")) == (0, True)
