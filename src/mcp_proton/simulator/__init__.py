"""A stand-in for Proton Mail Bridge 3.21.1 on loopback, held to recordings of the real one.

    async with Simulator([GivenMessage(raw)]) as sim:
        ...  # on 127.0.0.1: IMAP sim.imap_port, SMTP sim.smtp_port; sim.username, sim.password, sim.certificate_pem
        sim.deliver(raw, key="new"); sim.release_events(); sim.state(); sim.sent
        sim.faults.at("before STORE", action="drop"); sim.settings.suppresses_repeats = False

It imports nothing else of this project.
"""

from __future__ import annotations

from mcp_proton.simulator.certificate import Certificate, make_certificate
from mcp_proton.simulator.clock import HostClock, WoundClock
from mcp_proton.simulator.faults import ApiFault, FaultScript
from mcp_proton.simulator.given import GivenLabel, GivenMessage, GivenUser
from mcp_proton.simulator.lively import lively_user
from mcp_proton.simulator.proton.account import Account
from mcp_proton.simulator.proton.departures import Departure
from mcp_proton.simulator.replaying.replay import Difference, replay, replay_file
from mcp_proton.simulator.server import Simulator
from mcp_proton.simulator.settings import Settings

__all__ = [
    "Account",
    "ApiFault",
    "Certificate",
    "Departure",
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
