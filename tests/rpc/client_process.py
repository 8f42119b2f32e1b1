"""A client in a process of its own, to be killed: ``TRACKER KEY ARTIFACT [run]``."""

import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from tests.rpc.support import FAST
from vta.rpc.client.connect import lease
from vta.rpc.server.worker import end_with_parent

end_with_parent()
tracker, key, artifact, *run = sys.argv[1:]
with lease(tracker, key, limits=FAST) as session:
    module = session.load(artifact)
    if run:
        module.run({node.name: np.zeros(node.shape, node.dtype) for node in module.compiled.graph.inputs})
    threading.Event().wait(120)
