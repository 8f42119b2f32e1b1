"""The read port: earlier clients first, a choice that holds, and beats that find their client."""

import pytest

pytest.importorskip("amaranth", reason="needs the extra `rtl`: pip install '.[rtl]'")

from amaranth.sim import Simulator

from tests.hardware.programs import small_config
from tests.hardware.refusal import assert_refused
from vta.config.timing import TimingParameters
from vta.hardware.geometry import Geometry
from vta.hardware.ports.read_port import ReadPort

GEOMETRY = Geometry(small_config(0, 2, 5), TimingParameters(bus_bits=128))


def simulate(port, process):
    simulator = Simulator(port)
    simulator.add_clock(1e-6)
    simulator.add_testbench(process)
    simulator.run()


def test_earlier_clients_go_first_and_a_choice_holds():
    port = ReadPort(GEOMETRY, clients=3)

    async def process(ctx):
        async def offered(valid, ready):
            """Let the clients ask as `valid` says; returns the id of what is asked for, its address, and who is granted."""
            for client, asks in zip(port.clients, valid, strict=True):
                ctx.set(client.bursts.valid, asks)
            ctx.set(port.axi.arready, ready)
            assert ctx.get(port.axi.arvalid) == any(valid)
            found = ctx.get(port.axi.arid), ctx.get(port.axi.araddr), ctx.get(port.axi.arlen)
            granted = [index for index, client in enumerate(port.clients) if valid[index] and ctx.get(client.bursts.ready)]
            await ctx.tick()
            return found, granted

        for index, client in enumerate(port.clients):
            ctx.set(client.bursts.payload, {"word": 100 + index, "beats": 1 + index})
        asked = [(index, 16 * (100 + index), index) for index in range(3)]
        assert await offered((0, 0, 1), 0) == (asked[2], [])
        assert await offered((1, 1, 1), 0) == (asked[2], [])
        assert await offered((1, 1, 1), 1) == (asked[2], [2])
        assert await offered((1, 1, 1), 1) == (asked[0], [0])
        assert await offered((0, 1, 1), 1) == (asked[1], [1])

    simulate(port, process)


def test_beats_go_to_the_client_of_their_id():
    port = ReadPort(GEOMETRY, clients=3)

    async def process(ctx):
        for valid, index, answer in ((1, 0, 0), (1, 2, 0), (0, 1, 0), (1, 1, 2)):
            for signal, value in zip((port.axi.rvalid, port.axi.rid, port.axi.rresp), (valid, index, answer), strict=True):
                ctx.set(signal, value)
            ctx.set(port.axi.rdata, 1000 + index)
            found = [ctx.get(client.beats.valid) for client in port.clients]
            assert found == [int(valid and place == index) for place in range(3)]
            assert ctx.get(port.clients[index].beats.payload) == 1000 + index
            assert ctx.get(port.axi.rready)
            assert ctx.get(port.failed) == (answer == 2)
            await ctx.tick()

    simulate(port, process)


@pytest.mark.parametrize("clients", [0, 5])
def test_clients_have_an_id_each(clients):
    assert_refused(f"clients of a read port = {clients}; allowed: 1 to 4", lambda: ReadPort(GEOMETRY, clients=clients))
