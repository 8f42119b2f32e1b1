import threading

from tests.rpc.support import LIMIT_SECONDS
from vta.rpc.client.connect import query

CLIENTS = 24
DEVICES = 4


def test_many_clients_share_a_few_devices(serve, take, devices, artifact, sample, tracker):
    for _ in range(DEVICES):
        serve()
    devices(DEVICES, DEVICES)
    lock = threading.Lock()
    held, most, done, errors = set(), [0], [], []

    def client(number):
        try:
            with take(priority=number % 3, timeout=2 * LIMIT_SECONDS) as session:
                with lock:
                    assert session.peer.address not in held, "two clients have one device"
                    held.add(session.peer.address)
                    most[0] = max(most[0], len(held))
                with session.load(artifact) as module:
                    module.run(sample)
                with lock:
                    held.remove(session.peer.address)
                    done.append(number)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=client, args=(number,), daemon=True) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * LIMIT_SECONDS)
    assert errors == []
    assert sorted(done) == list(range(CLIENTS))
    assert most[0] > 1
    devices(DEVICES, DEVICES)
    assert len(query(tracker.address).servers) == DEVICES
