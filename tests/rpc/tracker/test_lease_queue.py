import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vta.rpc.tracker.lease_queue import LeaseQueue
from vta.rpc.wire.queue import KeyCount, Listed, State

GRANT_SECONDS = 10.0


def free(address, ticket, key="k"):
    return Listed(address, key, State.FREE, ticket)


@pytest.fixture
def queue():
    return LeaseQueue(GRANT_SECONDS)


def test_a_waiter_gets_a_free_server_with_its_key(queue):
    queue.report(free("a:1", "t1", "other"))
    waiter = queue.enqueue("k", 0, 0.0)
    assert queue.match(0.0) == []
    assert queue.table() == [KeyCount("k", 0, 0, 1), KeyCount("other", 1, 1, 0)]
    queue.report(free("a:2", "t2"))
    assert queue.match(0.0) == [waiter]
    assert (waiter.granted.address, waiter.granted.ticket) == ("a:2", "t2")
    assert queue.table() == [KeyCount("k", 1, 0, 0), KeyCount("other", 1, 1, 0)]


def test_priorities_come_first_and_then_who_came_first(queue):
    waiters = [queue.enqueue("k", priority, 0.0) for priority in (0, 1, 0, 1)]
    assert [queue.position(waiter) for waiter in waiters] == [2, 0, 3, 1]
    order = []
    for number in range(4):
        queue.report(free("a:1", f"t{number}"))
        order += queue.match(0.0)
    assert order == [waiters[i] for i in (1, 3, 0, 2)]


def test_a_ticket_that_is_not_used_is_renewed(queue):
    queue.report(free("a:1", "t1"))
    queue.enqueue("k", 0, 0.0)
    queue.match(0.0)
    assert not queue.must_renew("a:1", GRANT_SECONDS - 1)
    assert queue.must_renew("a:1", GRANT_SECONDS)
    queue.report(free("a:1", "t1"))
    assert queue.table() == [KeyCount("k", 1, 0, 0)], "the same ticket is still out"
    queue.report(free("a:1", "t2"))
    assert queue.table() == [KeyCount("k", 1, 1, 0)]
    assert not queue.must_renew("a:1", 2 * GRANT_SECONDS)


def test_a_client_that_leaves_with_its_grant_gives_it_back(queue):
    queue.report(free("a:1", "t1"))
    waiter = queue.enqueue("k", 0, 0.0)
    queue.match(0.0)
    queue.cancel(waiter)
    assert queue.must_renew("a:1", 0.0)
    assert queue.match(0.0) == []


def test_a_busy_server_need_not_renew(queue):
    queue.report(free("a:1", "t1"))
    queue.enqueue("k", 0, 0.0)
    queue.match(0.0)
    queue.report(Listed("a:1", "k", State.BUSY))
    assert not queue.must_renew("a:1", 2 * GRANT_SECONDS)
    assert queue.table() == [KeyCount("k", 1, 0, 0)]


def test_a_server_that_is_down_does_not_count(queue):
    queue.report(Listed("a:1", "k", State.DOWN, reason="broken"))
    assert queue.table() == [KeyCount("k", 0, 0, 0)]
    assert queue.servers()[0].reason == "broken"
    queue.remove("a:1")
    assert queue.table() == []
    assert queue.is_known("k")


class Model:
    """Servers as they are, beside the queue that only hears of them."""

    def __init__(self):
        self.queue = LeaseQueue(GRANT_SECONDS)
        self.now = 0.0
        self.tickets = 0
        self.servers = {}
        self.waiting = []
        self.granted = []

    def report(self, address):
        state, ticket = self.servers[address]
        self.queue.report(Listed(address, "k", state, ticket))
        if self.queue.must_renew(address, self.now):
            self.free(address)

    def free(self, address):
        self.tickets += 1
        self.servers[address] = (State.FREE, f"t{self.tickets}")
        self.report(address)

    def step(self, action, number):
        address = f"a:{number}"
        if action == "up":
            self.free(address)
        elif action == "beat" and address in self.servers:
            self.report(address)
        elif action == "lost" and self.servers.pop(address, None):
            self.queue.remove(address)
        elif action == "down" and address in self.servers:
            self.servers[address] = (State.DOWN, "")
            self.report(address)
        elif action == "wait":
            self.waiting.append(self.queue.enqueue("k", number, self.now))
        elif action == "leave" and self.waiting:
            self.queue.cancel(self.waiting.pop(number % len(self.waiting)))
        elif action == "open" and self.granted:
            grant = self.granted.pop(number % len(self.granted)).granted
            if self.servers.get(grant.address) == (State.FREE, grant.ticket):
                self.servers[grant.address] = (State.BUSY, "")
                self.report(grant.address)
        elif action == "later":
            self.now += number
        for waiter in self.queue.match(self.now):
            self.waiting.remove(waiter)
            self.granted.append(waiter)


ACTIONS = st.sampled_from(["up", "beat", "lost", "down", "wait", "leave", "open", "later"])


@settings(max_examples=150)
@given(st.lists(st.tuples(ACTIONS, st.integers(0, 4)), max_size=40))
def test_no_device_is_lost_and_none_given_twice(steps):
    model = Model()
    tickets = []
    for action, number in steps:
        before = len(model.granted)
        model.step(action, number)
        tickets += [waiter.granted.ticket for waiter in model.granted[before:]] if action != "open" else []
        # Nobody waits beside a free server.
        for row in model.queue.table():
            assert not (row.free and row.pending)
    # With patience every server that is up is free again or in use.
    model.granted.clear()
    while model.waiting:
        model.queue.cancel(model.waiting.pop())
    model.now += GRANT_SECONDS
    for address in list(model.servers):
        model.report(address)
    states = [state for state, _ in model.servers.values()]
    expected = KeyCount("k", sum(s is not State.DOWN for s in states), states.count(State.FREE), 0)
    assert model.queue.table() == ([expected] if states else [])
