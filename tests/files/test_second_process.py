"""A second process makes some of what the first one asks for, and nothing depends on whether it does."""

import pytest

from tests.split_processes import run_program

START = """
import select, sys
from vta.files import second_process
from vta.files.second_process import Postponed, SecondProcess, made
digests = [bytes([number]) * 32 for number in range(8)]
reader, writer = os.pipe()

def block(make, wanted=True):
    found = []
    with SecondProcess(wanted):
        for digest in digests:
            try:
                found.append(made(digest, lambda digest=digest: make(digest)))
            except Postponed:
                found.append(None)
    return found
"""


def run(code):
    return run_program(START + code)


def test_each_half_makes_some():
    code = """
allow_second_process()
by = []
def make(digest):
    if os.getpid() != first:
        os.write(writer, digest[:1])
    elif not by:
        # Goes on when the other half began with the last one, and asks for that in the end.
        assert select.select([reader], [], [], 50)[0]
    by.append(digest)
    return digest[:1] * 100_000
assert block(make) == [digest[:1] * 100_000 for digest in digests]
assert os.read(reader, 1) == digests[-1][:1]
assert digests[0] in by and digests[-1] not in by, by
print("done", no_child_is_left())
"""
    assert run(code) == ["done", "True"]


@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), 9)", "raise ValueError"])
def test_if_the_second_half_dies_the_first_makes_all(end):
    code = f"""
allow_second_process()
def make(digest):
    if os.getpid() != first:
        os.close(writer)
        {end}
    if digest == digests[0]:
        os.close(writer)
        assert select.select([reader], [], [], 50)[0], "it is gone"
    return digest
assert block(make) == digests
print("done", no_child_is_left())
"""
    assert run(code) == ["done", "True"]


@pytest.mark.parametrize(
    "before",
    [
        "",
        "allow_second_process(); os.sched_getaffinity = lambda pid: {0}",
        "allow_second_process(); os.environ['OMP_NUM_THREADS'] = '1'",
        "allow_second_process(); wanted = False",
    ],
)
def test_without_leave_a_second_core_or_a_use_there_is_one_process(before):
    code = f"""
wanted = True
os.fork = None
{before}
assert block(lambda digest: digest, wanted) == digests
print("done")
"""
    assert run(code) == ["done"]


def test_the_first_things_can_be_made_before_anything_is_split():
    code = """
allow_second_process()
forks = []
split = os.fork
os.fork = lambda: forks.append(1) or split()
with SecondProcess(alone=3):
    assert [made(digest, lambda: b"alone") for digest in digests[:3]] == [b"alone"] * 3
    assert not forks
    try:
        assert made(digests[3], lambda: b"fourth") == b"fourth"
    except Postponed:
        assert os.getpid() != first
print("done", len(forks), no_child_is_left())
"""
    assert run(code) == ["done", "1", "True"]


@pytest.mark.parametrize("threads", [None, "2"])
def test_each_half_has_one_thread_as_long_as_there_are_two(threads):
    code = f"""
allow_second_process()
os.environ.update({{}} if {threads!r} is None else {{"OMP_NUM_THREADS": {threads!r}}})
def make(digest):
    # The first thing is asked for before anything is split, and made after.
    assert os.environ["OMP_NUM_THREADS"] == "1"
    return digest
assert block(make) == digests
print("done", os.environ.get("OMP_NUM_THREADS"))
"""
    assert run(code) == ["done", str(threads)]


def test_where_no_process_can_be_made_there_is_one():
    code = """
allow_second_process()
def fork():
    raise BlockingIOError("no more processes")
os.fork = fork
assert block(lambda digest: digest) == digests
print("done", len(os.listdir("/proc/self/fd")))
"""
    assert run(code)[0] == "done"


def test_an_error_of_the_block_ends_the_second_half():
    code = """
allow_second_process()
def make(digest):
    if os.getpid() != first:
        os.read(reader, 1)  # the second half stays at the last thing, however slow the first is
    if digest == digests[3]:
        raise KeyError(3)
    return digest
try:
    block(make)
except KeyError:
    print("done", no_child_is_left())
"""
    assert run(code) == ["done", "True"]


def test_outside_of_a_block_things_are_made_at_once():
    assert run("print(made(digests[0], lambda: b'x').decode())") == ["x"]


AHEAD = """
from vta.files.second_process import ahead
allow_second_process()
by = []

def make(digest):
    if os.getpid() != first:
        os.write(writer, digest[:1])
    elif not by:
        # Goes on when the other half, which is here already, began with the last one.
        assert select.select([reader], [], [], 50)[0]
    by.append(digest)
    return digest[:1] * 100_000
"""


def test_a_second_half_that_goes_ahead_makes_some():
    code = """
with ahead(lambda: block(make)):
    assert os.environ["OMP_NUM_THREADS"] == "1"
    assert block(make) == [digest[:1] * 100_000 for digest in digests]
    assert os.read(reader, 1) == digests[-1][:1] and digests[-1] not in by, by
    # The next block splits by itself.
    by.clear()
    assert block(make) == [digest[:1] * 100_000 for digest in digests]
    assert os.read(reader, 1) and digests[-1] not in by, by
print("done", no_child_is_left(), os.environ.get("OMP_NUM_THREADS"))
"""
    assert run(AHEAD + code) == ["done", "True", "None"]


@pytest.mark.parametrize("work", ["None", "print('unseen', flush=True)", "block(None)", "1 / 0", "os.kill(os.getpid(), 9)"])
def test_without_a_use_for_what_goes_ahead_all_is_made_here(work):
    code = f"""
by.append(None)  # nothing to wait for
def work():
    {work}
    os.close(writer)
with ahead(work):
    os.close(writer)
    assert select.select([reader], [], [], 50)[0], "it is gone, or closed it"
    with SecondProcess(wanted=False):
        assert [made(digest, lambda: digest) for digest in digests] == digests
print("done", no_child_is_left())
"""
    assert run(AHEAD + code) == ["done", "True"]


def test_a_block_that_asks_for_nothing_leaves_what_goes_ahead_to_the_next():
    code = """
def blocks():
    with SecondProcess(hands_on=True):
        pass
    return block(make)
with ahead(blocks):
    assert blocks() == [digest[:1] * 100_000 for digest in digests]
    assert os.read(reader, 1) == digests[-1][:1] and digests[-1] not in by, by
print("done", no_child_is_left(), os.environ.get("OMP_NUM_THREADS"))
"""
    assert run(AHEAD + code) == ["done", "True", "None"]


def test_a_block_splits_by_itself_where_what_went_ahead_ended_before_it_made_anything():
    code = """
forks = []
split = os.fork
os.fork = lambda: forks.append(1) or split()
by.append(None)  # nothing to wait for
with ahead(lambda: None):
    os.waitid(os.P_PID, second_process._Now.ahead._child, os.WEXITED | os.WNOWAIT)
    with SecondProcess(hands_on=True):
        pass
    assert block(make) == [digest[:1] * 100_000 for digest in digests]
    assert len(forks) == 2
print("done", no_child_is_left(), os.environ.get("OMP_NUM_THREADS"))
"""
    assert run(AHEAD + code) == ["done", "True", "None"]


def test_an_error_in_a_block_that_hands_on_ends_what_goes_ahead():
    code = """
with ahead(lambda: os.read(os.pipe()[0], 1)):
    try:
        with SecondProcess(hands_on=True):
            raise KeyError(3)
    except KeyError:
        print("done", no_child_is_left())
"""
    assert run(AHEAD + code) == ["done", "True"]


def test_what_goes_ahead_ends_with_the_block():
    code = """
with ahead(lambda: os.read(os.pipe()[0], 1)):
    pass
print("done", no_child_is_left())
try:
    with ahead(lambda: os.read(os.pipe()[0], 1)):
        raise KeyError(3)
except KeyError:
    print(no_child_is_left())
"""
    assert run(AHEAD + code) == ["done", "True", "True"]


@pytest.mark.parametrize("before", ["second_process._Now.allowed = False", "os.environ['OMP_NUM_THREADS'] = '1'"])
def test_where_a_process_may_not_split_nothing_goes_ahead(before):
    code = f"""
{before}
os.fork = None
with ahead(lambda: block(make)):
    assert block(lambda digest: digest) == digests
print("done")
"""
    assert run(AHEAD + code) == ["done"]


def test_only_one_goes_ahead():
    code = """
with ahead(lambda: os.read(os.pipe()[0], 1)):
    split, os.fork = os.fork, None
    with ahead(lambda: None):
        pass
    os.fork = split
print("done", no_child_is_left())
"""
    assert run(AHEAD + code) == ["done", "True"]
