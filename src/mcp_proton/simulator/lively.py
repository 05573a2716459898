"""A user whose mailbox looks lived in, for demos, benchmarks and tests of what is to be found in it."""

from __future__ import annotations

import datetime as dt
from email.utils import parseaddr

from mcp_proton.simulator.correspondence import FOLDERS, LABELS, Generated, generate
from mcp_proton.simulator.given import GivenLabel, GivenMessage, GivenUser

OWNER = "Alice Example <alice@proton.local>"


def lively_user(count: int = 300, *, seed: int = 0, now: dt.datetime | None = None, owner: str = OWNER) -> GivenUser:
    """A user with `count` messages in several places; the same arguments make the same mail."""
    moment = now or dt.datetime.now(dt.UTC)
    address = parseaddr(owner)[1]
    return GivenUser(
        name=address.partition("@")[0],
        addresses=[address],
        labels=[GivenLabel.from_path(path) for path in (*FOLDERS, *LABELS)],
        messages=[_given(generated) for generated in generate(seed, count, moment, owner)],
    )


def _given(generated: Generated) -> GivenMessage:
    star = ("starred",) if generated.starred else ()
    return GivenMessage(
        raw=generated.write,
        places=(generated.place, *generated.labels, *star),
        flags=(generated.kind,),
        unread=generated.unread,
        time=generated.received.timestamp(),
        origin="imported" if generated.imported else "delivered",
    )
