"""A stand-in for Proton Mail Bridge 3.21.1 on loopback, held to recordings of the real one.

    async with Simulator([GivenMessage(raw)]) as sim:
        ...  # IMAP on 127.0.0.1, sim.imap_port; sim.username, sim.password, sim.certificate_pem
        sim.deliver(raw, key="new"); sim.release_events(); sim.state()
        sim.faults.at("before STORE", action="drop")

It imports nothing else of this project.
"""

from __future__ import annotations

from mcp_proton.simulator.account import Account
from mcp_proton.simulator.certificate import Certificate, make_certificate
from mcp_proton.simulator.clock import HostClock, WoundClock
from mcp_proton.simulator.faults import ApiFault, FaultScript
from mcp_proton.simulator.given import GivenLabel, GivenMessage, GivenUser
from mcp_proton.simulator.lively import lively_user
from mcp_proton.simulator.replay import Difference, replay, replay_file
from mcp_proton.simulator.server import Simulator
from mcp_proton.simulator.settings import Settings

__all__ = [
    "Account",
    "ApiFault",
    "Certificate",
    "Difference",
    "FaultScript",
    "GivenLabel",
    "GivenMessage",
    "GivenUser",
    "HostClock",
    "Settings",
    "Simulator",
    "WoundClock",
    "lively_user",
    "make_certificate",
    "replay",
    "replay_file",
]
