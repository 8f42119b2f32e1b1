"""The `.vta` file: exact round trip, and one kind of error for everything that is wrong with a file."""

import json

import numpy as np
import pytest

from vta.errors import ArtifactError
from vta.ir.interpreter import evaluate
from vta.isa import blank_instructions
from vta.runtime.artifact.container import read_container, write_container
from vta.runtime.compiled_module import load, save


@pytest.fixture
def saved(module_builder, tmp_path):
    path = tmp_path / "net.vta"
    save(module_builder(), path)
    return path


def assert_same_module(left, right):
    assert left.hw == right.hw
    assert left.placements == right.placements
    assert left.total_macs == right.total_macs
    positions = [{node: i for i, node in enumerate(module.graph.nodes())} for module in (left, right)]
    for a, b in zip(left.regions, right.regions, strict=True):
        assert (a.name, a.program.symbols, a.program.operators) == (b.name, b.program.symbols, b.program.operators)
        assert a.program.image_bytes == b.program.image_bytes
        for field in ("instructions", "image", "operator_index", "tile_index"):
            x, y = getattr(a.program, field), getattr(b.program, field)
            assert x.dtype == y.dtype
            np.testing.assert_array_equal(x, y)
        for x, y in zip((*a.inputs, *a.outputs), (*b.inputs, *b.outputs), strict=True):
            assert (positions[0][x.node], x.symbol, x.planes) == (positions[1][y.node], y.symbol, y.planes)
        for x, y in zip(a.operators, b.operators, strict=True):
            assert (x.name, x.kind, x.macs, x.end) == (y.name, y.kind, y.macs, y.end)
            assert positions[0][x.output.node] == positions[1][y.output.node]


def test_round_trip(module_builder, saved, sampler):
    module = module_builder()
    loaded = load(saved)
    assert_same_module(module, loaded)
    inputs, expected = sampler()
    np.testing.assert_array_equal(evaluate(loaded.graph, inputs)[0], expected)


def test_same_module_gives_same_bytes(module_builder, saved, tmp_path):
    save(load(saved), tmp_path / "again.vta")
    assert (tmp_path / "again.vta").read_bytes() == saved.read_bytes()


def load_damaged(path, data, original):
    """A damaged file is refused by name, or (where the damage is in bytes without meaning) loads as it was."""
    path.write_bytes(data)
    try:
        module = load(path)
    except ArtifactError as error:
        assert str(path) in str(error)  # noqa: PT017
    else:
        assert_same_module(original, module)


def test_truncated_files(saved, tmp_path):
    data, original = saved.read_bytes(), load(saved)
    for length in range(0, len(data), 97):
        with pytest.raises(ArtifactError, match=r"cut\.vta: "):
            (tmp_path / "cut.vta").write_bytes(data[:length]), load(tmp_path / "cut.vta")
    load_damaged(tmp_path / "cut.vta", data + b"tail", original)


def test_flipped_bits(saved, tmp_path):
    data, original = saved.read_bytes(), load(saved)
    rng = np.random.default_rng(1)
    tail = rng.integers(len(data) - 1500, len(data), 150)
    for position in (*rng.integers(0, len(data), 150), *tail):
        damaged = bytearray(data)
        damaged[position] ^= 1 << rng.integers(8)
        load_damaged(tmp_path / "flipped.vta", bytes(damaged), original)


def forge(path, change):
    """Change the manifest in place, checksums made good."""
    members = read_container(path)
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    write_container(path, {**members, "manifest.json": json.dumps(manifest).encode()})


FORGERIES = [
    (lambda m: m.update(version=6), r"format version 6; this program reads versions 1 to 5"),
    (lambda m: m.update(version=2), r"member .host.constants. is missing"),
    (lambda m: m.update(format="x"), r"not a \.vta module"),
    (lambda m: m.update(extra=1), r"manifest: unknown field 'extra'"),
    (lambda m: m.pop("placements"), r"manifest: field 'placements' is missing"),
    (lambda m: m.update(total_macs="many"), r"manifest\.total_macs is of type str, expected int"),
    (lambda m: m.update(total_macs=True), r"manifest\.total_macs is of type bool, expected int"),
    (lambda m: m["hw"].update(LOG_BLOCK=99), r"LOG_BLOCK = 99 is out of range"),
    (lambda m: m["hw"].update(OTHER=1), r"unknown key OTHER"),
    (lambda m: m["regions"][0].update(image_bytes=3), r"8 initial bytes in an image of 3"),
    (lambda m: m["regions"][0]["symbols"][1].update(offset=1 << 40), r"symbol 'a' .*is outside the image"),
    (lambda m: m["regions"][0]["symbols"][1].update(kind="odd"), r"symbols\[1\]\.kind = 'odd'; allowed: uop, constant"),
    (lambda m: m["regions"][0]["symbols"][1].update(name="b"), r"symbol 'b' is there twice"),
    (lambda m: m["regions"][0]["inputs"][0].update(node=10_000), r"'a' holds node 10000 of a graph"),
    (lambda m: m["regions"][0]["inputs"][0].update(node=-1), r"'a' holds node -1 of a graph"),
    (lambda m: m["regions"][0]["inputs"][0].update(symbol="none"), r"there is no symbol 'none'"),
    (lambda m: m["regions"][0]["inputs"][0].update(planes=4), r"'a' has 4 planes; int8 has 1"),
    (lambda m: m["regions"][0]["symbols"][1].update(nbytes=4), r"'a' has 4 bytes; int8\[2, 20, 3, 3\] takes 576"),
    (lambda m: m["regions"][0]["records"][1].update(end=3), r"operator 'floor' ends at instruction 3; allowed: 7 to 12"),
    (lambda m: m["regions"][0].update(operators=["one"]), r"operator_index names operator 1 of 1"),
    (lambda m: m["regions"].append(m["regions"][0]), r"member 'regions/1/image' is missing"),
    (lambda m: m["regions"].clear(), r"member 'regions/0/image' is unknown"),
    (lambda m: m["arrays"][0].update(dtype="object"), r"arrays of dtype object cannot be stored"),
    (lambda m: m["arrays"][0].update(shape=[77]), r"has 1 elements; its shape is \(77,\)"),
    (lambda m: m["arrays"][0].update(shape=[-1, -1]), r"its shape is \(-1, -1\)"),
]


@pytest.mark.parametrize(("change", "message"), FORGERIES)
def test_wrong_manifests_are_refused_naming_file_and_field(saved, change, message):
    forge(saved, change)
    with pytest.raises(ArtifactError, match=rf"net\.vta: .*{message}"):
        load(saved)


def test_wrong_members_are_refused(saved):
    members = read_container(saved)
    changes = {
        "manifest.json": (b"{", r"member 'manifest\.json': not JSON"),
        "graph.json": (b"[]", r"net\.vta: "),
        "regions/0/instructions": (b"\0" * 15, r"has 15 bytes, not a whole number"),
        "regions/0/operator_index": (b"\0" * 8, r"12 instructions with 2 operator and 12 tile indices"),
    }
    for name, (data, message) in changes.items():
        write_container(saved, {**members, name: data})
        with pytest.raises(ArtifactError, match=message):
            load(saved)
    write_container(saved, {**members, "extra": b""})
    with pytest.raises(ArtifactError, match=r"member 'extra' is unknown"):
        load(saved)
    unknown = bytes([7]) + bytes(15)
    write_container(saved, {**members, "regions/0/instructions": unknown})
    with pytest.raises(ArtifactError, match=r"net\.vta: instruction 0: opcode 7 is unknown"):
        load(saved)


def test_a_program_that_breaks_the_rules_is_refused(module_builder, tmp_path):
    module = module_builder()
    module.regions[0].program.instructions["pop_prev"][6] = 0
    save(module, tmp_path / "race.vta")
    with pytest.raises(ArtifactError, match=r"race\.vta: the program breaks"):
        load(tmp_path / "race.vta")
    assert_same_module(load(tmp_path / "race.vta", verified=False), module)


def test_a_deeply_nested_manifest_is_one_more_artifact_error(saved):
    members = read_container(saved)
    write_container(saved, {**members, "manifest.json": b"[" * 100_000})
    with pytest.raises(ArtifactError, match=r"net\.vta: "):
        load(saved)


def test_an_empty_program_survives(module_builder, tmp_path):
    from dataclasses import replace

    module = module_builder()
    region = module.regions[0]
    empty = np.zeros(0, np.int32)
    program = replace(region.program, instructions=blank_instructions(0), operator_index=empty, tile_index=empty)
    save(replace(module, regions=(replace(region, program=program, operators=()),)), tmp_path / "empty.vta")
    assert len(load(tmp_path / "empty.vta", verified=False).regions[0].program.instructions) == 0
    with pytest.raises(ArtifactError, match=r"empty\.vta: the program breaks"):
        load(tmp_path / "empty.vta")
