import pytest

from vta.support.on_cores import on_cores


@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_each_part_is_worked_on_once(count):
    done = []
    on_cores(done.append, range(count))
    assert sorted(done) == list(range(count))


def test_an_error_reaches_the_caller():
    def work(part):
        raise ValueError(f"part {part}")

    with pytest.raises(ValueError, match="part "):
        on_cores(work, range(10))
