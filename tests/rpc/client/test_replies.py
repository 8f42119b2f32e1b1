"""Reports as messages and back, where the devices of other tests do not get to."""

import math

import numpy as np
import pytest

from vta.errors import RemoteError
from vta.rpc.client.replies import check_from_reply, report_from_reply
from vta.rpc.wire import vta_rpc_pb2 as pb


def test_a_mismatch():
    reply = pb.CheckReply(compared=3)
    reply.mismatch.CopyFrom(pb.Mismatch(operator="o", layer="l", index=[0, 2], expected=5, got=math.nan, differing=1, total=9))
    found = check_from_reply(None, reply)
    assert (found.bit_exact, found.compared) == (False, 3)
    assert str(found.mismatch) == "operator 'o' (layer 'l'): element [0, 2] is nan, expected 5; 1 of 9 elements differ"


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (pb.RunReply(outputs=2), "the server sent 2 outputs; the module has 1"),
        (pb.RunReply(outputs=1), r"the server sent no output 0 of type int8\[1, 16, 4, 4\]"),
    ],
)
def test_replies_that_do_not_fit_the_module(compiled, reply, message):
    with pytest.raises(RemoteError, match=message):
        report_from_reply(compiled, reply, {})


def test_details_that_do_not_fit_the_module(compiled):
    arrays = {"0": np.zeros((1, 16, 4, 4), np.int8), "0.timeline": np.zeros(3, np.uint8)}
    with pytest.raises(RemoteError, match="the server ran region 7; the module has 1"):
        report_from_reply(compiled, pb.RunReply(outputs=1, runs=[pb.DeviceRun(region=7)]), arrays)
    with pytest.raises(RemoteError, match="a timeline of 3 bytes, which is none"):
        report_from_reply(compiled, pb.RunReply(outputs=1, runs=[pb.DeviceRun()]), arrays)
