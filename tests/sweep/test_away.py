"""How points are sent to the workers of a cluster: together where they are short, and alone where some of them were lost."""

from pathlib import Path

import pytest

from tests.sweep.test_session import SPEC
from vta.autotune.cluster.cluster import Lost
from vta.autotune.measure.workers import Finished
from vta.sweep.away import ClusterWorkplace, _Away, _Parcels, _room_for
from vta.sweep.evaluate import Job
from vta.sweep.points import expand, points_of
from vta.sweep.table import Status, row_of


@pytest.fixture
def jobs():
    points = points_of(expand(SPEC)[0], SPEC.works)
    return [Job(point, "ga", 0, 0, 60.0, Path(f"{point.number}.log")) for point in points]


def test_short_points_travel_together_and_the_last_ones_alone(jobs):
    parcels = _Parcels(jobs * 30)
    first = parcels.take(("a", 0), 2)
    assert len(first) == 1
    assert parcels.take(("a", 0), 2) == [], "nobody knows how long they take"
    parcels.took(("a", 0), first, 0.25)
    assert len(parcels.take(("a", 0), 2)) == 4
    parcels.took(("a", 0), first, 0.001)
    sizes = []
    while taken := parcels.take(("b", 0), 2):
        sizes.append(len(taken))
    assert sum(sizes) == 115
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1


def test_no_long_point_waits_behind_another(jobs):
    parcels = _Parcels(jobs)
    (first,) = parcels.take(("a", 0), 2)
    parcels.took(("a", 0), [first], 600.0)
    assert len(parcels.take(("a", 0), 2)) == len(parcels.take(("b", 0), 2)) == 1
    assert parcels.take(("a", 0), 2) == []
    parcels.took(("a", 0), [first], 600.0)
    assert len(parcels.take(("a", 0), 2)) == 1


class LosingCluster:
    """Loses whatever has several points, and one of them whenever it comes."""

    threads = 1

    def __init__(self, lost):
        self.lost, self.sent = lost, []

    def deal(self, function, take):
        while (work := take(("a", 0))) is not None:
            key, (jobs, _) = work
            self.sent.append(jobs)
            if len(jobs) > 1 or jobs[0].point.number == self.lost:
                yield key, Lost("the workers died")
            else:
                yield key, [_Away(Finished(row_of(jobs[0].point, Status.OK), 1e-3), "")]

    def close(self):
        pass


def test_of_points_that_are_lost_together_those_to_blame_are_found(jobs):
    cluster = LosingCluster(lost=2)
    rows = []
    ClusterWorkplace(cluster).run(jobs * 10, rows.append)
    assert max(map(len, cluster.sent)) > 1
    assert len(rows) == 40
    assert {row.point for row in rows if row.status is Status.CRASHED} == {2}
    assert {row.status for row in rows} == {Status.OK, Status.CRASHED}


def test_points_that_share_a_network_meet_in_one_room():
    with _room_for("a") as first, _room_for("b") as second:
        assert first is not second
    with _room_for("b") as again:
        assert again is second
    with _room_for("a") as again:
        assert again is first
