"""The symbol file: versions of its layout, attributes, and malformed files."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.errors import ImportModelError
from vta.frontend._errors import UnsupportedNodeError
from vta.frontend.mxnet import SeededParameters, import_symbol, parse_symbol, symbol_json
from vta.frontend.mxnet.attributes import Attributes
from vta.frontend.zoo import resnet_symbol


def document(**changes):
    nodes = [
        {"op": "null", "name": "data", "inputs": []},
        {"op": "null", "name": "w", "attr": {"lr_mult": "2"}, "inputs": []},
        {"op": "FullyConnected", "name": "fc", "param": {"num_hidden": "3", "no_bias": "True"}, "inputs": [[0, 0], [1, 0, 0]]},
    ]
    return {"nodes": nodes, "arg_nodes": [0, 1], "heads": [[2, 0, 0]], **changes}


def parse(value):
    return parse_symbol(json.dumps(value).encode(), "net-symbol.json")


@pytest.mark.parametrize("key", ["param", "attr", "attrs"])
def test_attributes_of_every_age(key):
    entry = document()
    entry["nodes"][2][key] = entry["nodes"][2].pop("param")
    symbol = parse(entry)
    assert symbol.nodes[2].attrs.integer("num_hidden") == 3
    assert symbol.nodes[2].inputs == ((0, 0), (1, 0))
    assert symbol.nodes[1].attrs.integer("lr_mult") == 2


def test_what_is_written_reads_back():
    symbol = resnet_symbol(18, 2)
    again = parse_symbol(symbol_json(symbol).encode())
    assert again == symbol


def test_only_what_the_outputs_need():
    entry = document()
    entry["nodes"].append({"op": "Unknown", "name": "aside", "inputs": [[2, 0, 0]]})
    assert parse(entry).needed() == [0, 1, 2]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe\xfd", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not an MXNet symbol file"),
        (b'{"nodes": []}', "not an MXNet symbol file"),
        (json.dumps(document(heads=[])).encode(), "no outputs"),
        (json.dumps(document(heads=[[7, 0, 0]])).encode(), r"heads: \[7, 0, 0\] does not refer"),
        (json.dumps(document(heads=3)).encode(), "heads: must be a list"),
        (json.dumps(document(nodes=[{"op": 3, "name": "x"}])).encode(), "node 0: 'op' and 'name'"),
        (json.dumps(document(nodes=[{"op": "a", "name": "x", "attrs": []}])).encode(), "'attrs' must be an object"),
        (json.dumps(document(nodes=[{"op": "a", "name": "x", "inputs": [[0, 0]]}])).encode(), "does not refer to a node before"),
        (json.dumps(document(nodes=[{"op": "a", "name": "x", "inputs": [["0"]]}])).encode(), "pairs"),
    ],
)
def test_malformed_files(content, message):
    with pytest.raises(ImportModelError, match=f"net-symbol.json: .*{message}"):
        parse_symbol(content, "net-symbol.json")


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_damaged_files_raise_nothing_else(data):
    content = bytearray(json.dumps(document()).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        import_symbol(parse_symbol(bytes(content), "net"), SeededParameters(0), {"data": (1, 4)}, "net")
    except ImportModelError as error:
        assert str(error).startswith("net: ")  # noqa: PT017


@pytest.mark.parametrize(
    ("text", "value"), [("(3, 4)", (3, 4)), ("[3,4]", (3, 4)), ("(3L, 4L)", (3, 4)), ("(3,)", (3,)), ("3", (3,)), ("()", ())]
)
def test_integer_lists(text, value):
    assert Attributes({"a": text}).integers("a") == value


def test_attribute_values():
    attrs = Attributes({"t": "True", "z": "0", "n": "None", "f": "1e-3", "p": "(1, 2)", "o": "(None, 3)", "s": "(1, 2, 3)"})
    assert attrs.boolean("t", False)
    assert not attrs.boolean("z", True)
    assert attrs.integer("n", 7) == 7
    assert attrs.number("f") == 1e-3
    assert attrs.pair("p", 0) == (1, 2)
    assert attrs.pair("absent", 1) == (1, 1)
    assert attrs.optional_integers("o") == (None, 3)
    with pytest.raises(UnsupportedNodeError, match="3-D"):
        attrs.pair("s", 0)
    with pytest.raises(ImportModelError, match="'f' must be an integer, got '1e-3'"):
        attrs.integer("f")
    with pytest.raises(ImportModelError, match="'f' must be True or False"):
        attrs.boolean("f", False)
    with pytest.raises(ImportModelError, match="'gone' is missing"):
        attrs.integers("gone")
