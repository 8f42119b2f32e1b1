"""YAML that users write: plain values, each mapping's keys texts of their own, of bounded size however it refers to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vta.errors import VTAError
from vta.files.plain_values import check_plain, without_duplicates
from vta.support.shorten import printable, shown

if TYPE_CHECKING:
    import yaml

__all__ = ["parse_yaml"]

_MOST_CHARACTERS = 1 << 20
_MOST_VALUES = 100_000
_LONGEST_SCALAR = 10_000
_MERGE = "tag:yaml.org,2002:merge"


def parse_yaml(text: str, source: str, error: type[VTAError]) -> Any:
    """Return the value of a YAML document; `source` names it in messages.

    Raises `error` if it is none, too large, with aliases written out, or names a key twice in one mapping; and `ImportError`
    without PyYAML.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            own = [(key, value) for key, value in node.value if key.tag != _MERGE]
            pairs = ((_key(self.construct_object(key)), value.start_mark.line + 1) for key, value in own)
            without_duplicates(pairs, source, error, lambda line: f"in line {line}")
            self.flatten_mapping(node)
            return {_key(self.construct_object(key)): self.construct_object(value, deep) for key, value in node.value}

        def construct_undefined(self, node: yaml.Node) -> Any:
            raise yaml.constructor.ConstructorError(None, None, f"unknown tag {shown(node.tag)}", node.start_mark)

    Loader.add_constructor(None, Loader.construct_undefined)
    if len(text) > _MOST_CHARACTERS:
        raise error(f"{source}: has {len(text)} characters; the limit for YAML is {_MOST_CHARACTERS}")
    try:
        loader = Loader(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _check_size(node, source, error)
            value = loader.construct_document(node)
        finally:
            loader.dispose()
    except RecursionError:
        raise error(f"{source}: not YAML: nested too deeply") from None
    except VTAError:
        raise
    except Exception as problem:  # The reader's own, or what its conversions of scalars come upon.
        raise error(f"{source}: not YAML: {_cause(problem)}") from None
    check_plain(value, source, error)
    return value


def _key(value: Any) -> str:
    if value is not None and not isinstance(value, (str, bool, int, float)):
        raise ValueError(f"a key is a {type(value).__name__}; allowed: texts")
    return str(value)


def _cause(problem: Exception) -> str:
    text = printable(str(problem), 300)
    return text if type(problem).__module__.startswith("yaml") else f"a value is not what its form or tag says: {text}"


def _check_size(root: yaml.Node, source: str, error: type[VTAError]) -> None:
    """Count the values of a document as they would be with every alias written out."""
    sizes: dict[int, int] = {}
    stack, open_nodes = [root], set()
    while stack:
        node = stack[-1]
        parts = _parts(node)
        if id(node) not in open_nodes and id(node) not in sizes:
            open_nodes.add(id(node))
            if any(id(part) in open_nodes for part in parts):
                raise error(f"{source}: line {node.start_mark.line + 1}: a value holds itself")
            if len(str(node.value)) > _LONGEST_SCALAR if isinstance(node.value, str) else False:
                line = node.start_mark.line + 1
                raise error(f"{source}: line {line}: a value of {len(node.value)} characters; the limit is {_LONGEST_SCALAR}")
            stack += (part for part in parts if id(part) not in sizes)
            continue
        stack.pop()
        open_nodes.discard(id(node))
        sizes[id(node)] = 1 + sum(sizes[id(part)] for part in parts)
        if sizes[id(node)] > _MOST_VALUES:
            raise error(f"{source}: holds more than {_MOST_VALUES} values, with aliases written out; that is the limit")


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node.value, str):
        return []
    return [part for entry in node.value for part in (entry if isinstance(entry, tuple) else (entry,))]
