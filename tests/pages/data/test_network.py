"""Operators in the groups that run together."""

from vta.pages.data.network import HOST, INPUT, VTA, network_graph


def test_each_operator_is_in_one_group_behind_what_it_needs(module):
    graph = network_graph(module)
    assert sum(len(group.ops) for group in graph.groups) == len(module.graph.calls())
    for index, group in enumerate(graph.groups):
        assert all(source < index for source in group.after)
    assert [group.name for group in graph.groups if group.where == INPUT] == [node.name for node in module.graph.inputs]


def test_a_group_on_the_accelerator_is_a_vta_operator(module):
    graph = network_graph(module)
    records = {record.name: region.name for region in module.regions for record in region.operators}
    assert {group.name: group.region for group in graph.groups if group.where == VTA} == records


def test_groups_on_the_host_say_why(module):
    host = [group for group in network_graph(module).groups if group.where == HOST]
    assert host
    reasons = {entry.reason for entry in module.placements if entry.where == HOST}
    assert {reason for group in host for reason in group.reasons} == reasons
