"""The `-symbol.json` file of MXNet: a list of nodes with attributes that are strings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import Any

from vta.errors import ImportModelError
from vta.files.json_file import parse_json
from vta.frontend._files import read_bytes
from vta.frontend.mxnet.attributes import Attributes
from vta.support.dataclass import dataclass

__all__ = ["VARIABLE", "Symbol", "SymbolNode", "parse_symbol", "read_symbol", "symbol_json"]

VARIABLE = "null"
"""Operator of the nodes that are inputs or parameters."""

_ATTRIBUTE_KEYS = ("param", "attr", "attrs")
"""Where the attributes are, oldest version of MXNet first."""


@dataclass(frozen=True)
class SymbolNode:
    """A node: `inputs` are (node index, output index) pairs."""

    op: str
    name: str
    inputs: tuple[tuple[int, int], ...] = ()
    attrs: Attributes = field(default_factory=Attributes)
    subgraphs: tuple[Symbol, ...] = ()
    """Networks that the operator stands for: their variables are its first inputs, in order."""


@dataclass(frozen=True)
class Symbol:
    """A network: its nodes in topological order and its outputs."""

    nodes: tuple[SymbolNode, ...]
    heads: tuple[tuple[int, int], ...]

    def needed(self) -> list[int]:
        """Indices of the nodes that the outputs depend on, ascending."""
        marked = {index for index, _ in self.heads}
        for index in range(len(self.nodes) - 1, -1, -1):
            if index in marked:
                marked.update(source for source, _ in self.nodes[index].inputs)
        return sorted(marked)


def read_symbol(path: Path) -> Symbol:
    """Return the network of a `-symbol.json` file; raises `ImportModelError` naming file and cause."""
    return parse_symbol(read_bytes(path), path)


def parse_symbol(content: bytes, path: object = "symbol") -> Symbol:
    """Parse the bytes of a `-symbol.json` file; `path` is only for messages."""
    return _symbol(parse_json(content, str(path), ImportModelError), path, nested=False)


def _symbol(document: Any, path: object, nested: bool) -> Symbol:
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list) or "heads" not in document:
        raise ImportModelError(f"{path}: not an MXNet symbol file (it has no 'nodes' and 'heads')")
    nodes = tuple(_node(entry, index, path, nested) for index, entry in enumerate(document["nodes"]))
    heads = _entries(document["heads"], len(nodes), f"{path}: heads")
    if not heads:
        raise ImportModelError(f"{path}: the symbol has no outputs")
    return Symbol(nodes, heads)


def _node(entry: Any, index: int, path: object, nested: bool) -> SymbolNode:
    where = f"{path}: node {index}"
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in ("op", "name")):
        raise ImportModelError(f"{where}: 'op' and 'name' must be there and be text")
    attrs: dict[str, str] = {}
    for key in _ATTRIBUTE_KEYS:
        values = entry.get(key, {})
        if not isinstance(values, dict):
            raise ImportModelError(f"{where} ({entry['name']}): {key!r} must be an object, got {values!r:.40}")
        attrs.update((name, str(value)) for name, value in values.items())
    inputs = _entries(entry.get("inputs", []), index, f"{where} ({entry['name']}): inputs")
    inner = entry.get("subgraphs", [])
    if not isinstance(inner, list) or (inner and nested):
        raise ImportModelError(f"{where} ({entry['name']}): 'subgraphs' must be a list, and not in a subgraph")
    subgraphs = tuple(_symbol(document, f"{where} ({entry['name']}): subgraph", nested=True) for document in inner)
    return SymbolNode(entry["op"], entry["name"], inputs, Attributes(attrs), subgraphs)


def _entries(entries: Any, limit: int, where: str) -> tuple[tuple[int, int], ...]:
    if not isinstance(entries, list):
        raise ImportModelError(f"{where}: must be a list, got {entries!r:.40}")
    return tuple(_entry(entry, limit, where) for entry in entries)


def _entry(entry: Any, limit: int, where: str) -> tuple[int, int]:
    if not isinstance(entry, list) or not entry or not all(type(number) is int for number in entry):
        raise ImportModelError(f"{where}: must be [node, output] pairs, got {entry!r:.40}")
    node, output = entry[0], entry[1] if len(entry) > 1 else 0
    if not 0 <= node < limit or output < 0:
        raise ImportModelError(f"{where}: {entry} does not refer to a node before it (0 to {limit - 1})")
    return node, output


def symbol_json(symbol: Symbol) -> str:
    """Return the text of a `-symbol.json` file for `symbol`."""
    nodes = [
        {"op": node.op, "name": node.name, "attrs": dict(node.attrs.text), "inputs": _triples(node.inputs)}
        for node in symbol.nodes
    ]
    variables = [index for index, node in enumerate(symbol.nodes) if node.op == VARIABLE]
    document = {
        "nodes": nodes,
        "arg_nodes": variables,
        "node_row_ptr": list(range(len(nodes) + 1)),
        "heads": _triples(symbol.heads),
        "attrs": {"mxnet_version": ["int", 10500]},
    }
    return json.dumps(document, indent=2)


def _triples(entries: Iterable[tuple[int, int]]) -> list[list[int]]:
    return [[node, output, 0] for node, output in entries]
