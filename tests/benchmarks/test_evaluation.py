"""The benchmark of evaluations: what it takes from runs."""

from benchmarks.evaluation import least


def run(wall, cpu, **stages):
    found = {"top1": {"float": 0.5}, "outputs": [{"snr_db": 20.0}], "wall": wall, "cpu": cpu}
    return found | ({"stages": {"seconds": stages, "cpu_seconds": stages}} if stages else {})


def test_of_each_figure_the_least_counts():
    found = least([run(5.0, 4.0, importing=1.0, device=2.0), run(6.0, 3.5, importing=0.5, device=2.5)])
    assert (found["wall"], found["cpu"]) == (5.0, 3.5)
    assert found["seconds"] == {"importing": 0.5, "device": 2.0, "starting and ending": 2.0}
    assert found["cpu_seconds"] == {"importing": 0.5, "device": 2.0, "starting and ending": 0.5}


def test_a_tree_that_tells_no_stages():
    old = run(5.0, 4.0)
    del old["outputs"]
    assert least([old]) == {"top1": {"float": 0.5}, "snr_db": None, "wall": 5.0, "cpu": 4.0}
