"""Two rewrites of quantised networks as patterns, and a pattern table; what they change is printed.

    python examples/quantized_rewrites.py MODEL

MODEL is a quantised .tflite or .onnx file.
"""

from __future__ import annotations

import argparse
from collections import Counter

from vta.frontend import load_model
from vta.ir.graph import Graph, Node, attrs_of, constant
from vta.ir.interpreter import evaluate_node
from vta.ir.ops.function import function_of
from vta.ir.ops.nn.activation import ClipAttributes
from vta.ir.ops.quantized.qnn import RequantizeAttributes
from vta.ir.transforms.functions import calls_of_functions
from vta.ir.transforms.pattern import Match, is_constant, is_op, rewrite_pattern, wildcard
from vta.partition.vta_patterns import partition_for_vta, quantized_patterns
from vta.passes.canonicalize import canonicalize


def fold_quantized_constants(graph: Graph) -> Graph:
    """Replace the quantisation of a constant by a quantised constant."""
    value = is_constant()

    def folded(found: Match) -> Node:
        return constant(evaluate_node(found.root, [found[value].value]), found.root.name)

    return rewrite_pattern(graph, is_op("qnn.quantize")(value), folded)


def drop_idle_clips(graph: Graph) -> Graph:
    """Drop a clip that leaves every int8 result of the requantisation before it as it is."""
    requantized = is_op("qnn.requantize")(wildcard()).has_dtype("int8")

    def dropped(found: Match) -> Node | None:
        low, high = attrs_of(found.root, ClipAttributes).bounds("int8")
        before = attrs_of(found[requantized], RequantizeAttributes)
        return found[requantized] if low <= before.a_min and before.a_max <= high else None

    return rewrite_pattern(graph, is_op("clip")(requantized), dropped)


def main() -> None:
    """Apply both, then partition for VTA, and print how many operators of each kind there are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    graph = canonicalize(load_model(parser.parse_args().model))
    rewritten = drop_idle_clips(fold_quantized_constants(graph))
    for title, shown in (("as imported", graph), ("rewritten", rewritten)):
        print(f"{title}:", ", ".join(f"{count} {op}" for op, count in sorted(Counter(n.op for n in shown.calls()).items())))
    regions = partition_for_vta(rewritten, quantized_patterns())
    for region in dict.fromkeys(function_of(node).body for node in calls_of_functions(regions)):
        inside = Counter(function_of(node).composite for node in calls_of_functions(region))
        print(f"{region.name}:", ", ".join(f"{count} {composite}" for composite, count in sorted(inside.items())))
    print("outside:", ", ".join(node.op for node in regions.calls() if node.op != "call") or "nothing")


if __name__ == "__main__":
    main()
