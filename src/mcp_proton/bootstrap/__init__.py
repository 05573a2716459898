"""The only place that builds the world: the owner's (`real`), and the demonstration's (`demonstration`).

Heavy modules are loaded where a world is built, not where this one is imported: an agent's `initialize` is answered first.
"""

from mcp_proton.bootstrap.accounts import backend, endpoint, outlet, submission, tls_mode
from mcp_proton.bootstrap.demo import DEMO_CLIENT, DEMO_MESSAGES, demonstration, fingerprint, simulated
from mcp_proton.bootstrap.logins import places as secret_places
from mcp_proton.bootstrap.owner import (
    InForce,
    Settings,
    findings,
    policy_check,
    policy_in_force,
    read_policy,
    settings,
    switches_now,
)
from mcp_proton.bootstrap.running import Running, real
from mcp_proton.bootstrap.store import client_tokens, signing_in, switched

__all__ = [
    "DEMO_CLIENT",
    "DEMO_MESSAGES",
    "InForce",
    "Running",
    "Settings",
    "backend",
    "client_tokens",
    "demonstration",
    "endpoint",
    "findings",
    "fingerprint",
    "outlet",
    "policy_check",
    "policy_in_force",
    "read_policy",
    "real",
    "secret_places",
    "settings",
    "signing_in",
    "simulated",
    "submission",
    "switched",
    "switches_now",
    "tls_mode",
]
