"""The memory of what tokens were last used for is bounded."""

from __future__ import annotations

import json

from mcp_proton.mcp.http.bearers import Bearer
from mcp_proton.mcp.http.introspecting import TOKENS, Introspection


def bearer(number: int) -> Bearer:
    return Bearer(f"client {number}", f"mcpp_{number}", f"{number:016x}")


def last_use(introspection: Introspection, number: int) -> dict[str, object] | None:
    return json.loads(bytes(introspection.answer(bearer(number)).body)).get("last_used")


def test_of_more_than_1024_tokens_the_longest_unused_are_forgotten() -> None:
    """J-91: a flood of tokens costs no memory, and takes from none in use what is known of it."""
    clock = iter(range(10_000))
    introspection = Introspection(now=lambda: next(clock))
    for number in range(TOKENS):
        introspection.used(bearer(number), "192.0.2.1")
    introspection.used(bearer(0), "192.0.2.2")
    introspection.used(bearer(TOKENS), "unix")
    assert last_use(introspection, 0) == {"at_unix": TOKENS, "ip": "192.0.2.2"}
    assert last_use(introspection, 1) is None
    assert last_use(introspection, 2) == {"at_unix": 2, "ip": "192.0.2.1"}
    assert last_use(introspection, TOKENS) == {"at_unix": TOKENS + 1, "ip": "unix"}
