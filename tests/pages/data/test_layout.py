"""Boxes of a graph do not overlap, and edges go from box to box."""

from hypothesis import given, settings
from hypothesis import strategies as st

from vta.pages.data.layout import BOX_HEIGHT, BOX_WIDTH, lay_out


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 40))
    return [sorted(draw(st.sets(st.integers(0, index - 1), max_size=3))) if index else [] for index in range(count)]


@settings(max_examples=40)
@given(graphs())
def test_boxes_lie_apart_inside_the_drawing(after):
    layout = lay_out(after)
    assert len(layout.boxes) == len(after)
    for index, (x, y) in enumerate(layout.boxes):
        assert 0 <= x <= layout.width - BOX_WIDTH + 1e-6
        assert 0 <= y <= layout.height - BOX_HEIGHT + 1e-6
        assert all(abs(x - u) >= BOX_WIDTH or abs(y - v) >= BOX_HEIGHT for u, v in layout.boxes[:index])
    assert {(edge.source, edge.target) for edge in layout.edges} == {
        (source, target) for target, sources in enumerate(after) for source in sources
    }
    for edge in layout.edges:
        source, target = layout.boxes[edge.source], layout.boxes[edge.target]
        assert edge.points[0] == (source[0] + BOX_WIDTH / 2, source[1] + BOX_HEIGHT)
        assert edge.points[-1] == (target[0] + BOX_WIDTH / 2, target[1])


def test_long_graphs_are_folded():
    layout = lay_out([[index - 1] if index else [] for index in range(60)])
    assert 1 < layout.width / layout.height < 4
    assert lay_out([]).boxes == ()
