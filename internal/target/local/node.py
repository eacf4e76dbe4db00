"""Runs `ray start` for a node of a cluster that stays on this machine.

Every address that Ray would look up is 127.0.0.1: Ray replaces a loopback
address by one that other machines can reach, so that its ports would be open
to the network. The environment variable RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0
makes the processes below this one use 127.0.0.1; `ray start` itself then
refuses a second node, which this program allows again for its own process.

Ray's client server is left out: jobs come through the job server, and it would
take port 10001.

With TRAINYARD_AWAIT set, the node begins when that file, the head's socket,
exists. A node that asks for the head too early sleeps for seconds, or gives up
on a busy machine; waiting here, it has its imports behind it when its turn
comes.
"""

import os
import sys
import time

from ray._private import node, ray_constants, services

ray_constants.ENABLE_RAY_CLUSTER = True
services.get_node_ip_address = lambda address=None: "127.0.0.1"
node.Node.start_ray_client_server = lambda self: None

from ray.scripts.scripts import main  # noqa: E402

awaited = os.environ.pop("TRAINYARD_AWAIT", "")
while awaited and not os.path.exists(awaited):
    time.sleep(0.05)

sys.argv[0] = "ray"
main()
