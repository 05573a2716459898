"""The fault matrix of sending on JMAP: each HTTP request of a mail × each fault (N-16, P-92).

Whatever goes wrong, the mail leaves once or not at all, the journal says in the end which, and no draft is left behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.jmap.protocol import patience
from tests.contract.letters import letter
from tests.servers.jmap.methods import Limits
from tests.servers.jmap.server import USER
from tests.servers.relay import Over, Passage, Step, Trap, When

from .jmap_house import relayed_house

if TYPE_CHECKING:
    from tests.servers.jmap import JmapServer

    from .conftest import House

BOB = "bob@example.net"
MAIL: dict[str, Any] = {"to": [BOB], "subject": "Report", "text": "Here it is."}
PLAIN, CARRYING = Limits(), Limits(blob=1 << 20)
HANDING = "Email/import EmailSubmission/set Email/query"
STEPS = {
    "plain": [
        "session",
        "Identity/get Mailbox/get",
        "Email/query Email/get Email/query Email/get",
        "upload",
        HANDING,
    ],
    "carrying": [
        "session",
        "Identity/get Mailbox/get",
        "Email/query Email/get Email/query Email/get",
        f"Blob/upload {HANDING}",
    ],
}
_LIMITS = {"plain": PLAIN, "carrying": CARRYING}
_HTTP = b"HTTP/1.1 %d x\r\nContent-Length: 0\r\n\r\n"


async def lost(_: Passage, __: bytes) -> bytes:
    raise Over


async def torn(passage: Passage, answer: bytes) -> bytes:
    passage.client_writer.write(passage.torn(answer))
    raise Over


async def refused(passage: Passage, answer: bytes) -> bytes:
    return passage.refused(answer)


async def gone(passage: Passage, _: bytes) -> bytes:
    return passage.goodbye()


async def shut_out(_: Passage, __: bytes) -> bytes:
    return _HTTP % 401


async def broken(_: Passage, __: bytes) -> bytes:
    return _HTTP % 500


async def nonsense(_: Passage, __: bytes) -> bytes:
    body = b'{"methodResponses": [[1]], "sessionState": "s1"}'
    return b"HTTP/1.1 200 x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


FAULTS = [
    *((act, when) for act in (lost, refused, gone, broken) for when in ("before", "after")),
    (torn, "after"),
    (nonsense, "after"),
    (shut_out, "before"),
]
CELLS = [
    pytest.param(kind, step, act, when, id=f"{kind}-{step.split()[0]}-{act.__name__}-{when}")
    for kind, steps in STEPS.items()
    for step in (steps if kind == "plain" else steps[-1:])
    for act, when in FAULTS
]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that failed is asked again at once."""
    monkeypatch.setattr(patience, "FIRST", 0.0)
    monkeypatch.setattr(patience, "REFUSED", 0.0)


def known(server: JmapServer) -> None:
    """The owner wrote to Bob before, so that nobody is asked."""
    server.store.add(letter("earlier", sender=USER, to=BOB), server.store.by_role("sent").id)


async def settled(house: House, told: dict[str, Any]) -> dict[str, Any] | None:
    """Look, let the time go by that a server may take to show it, and look again."""
    if "operation_id" not in told:
        return None
    for _ in range(3):
        house.clock.wind(seconds=300)
        now = await house.ask("operations_status", operation_id=told["operation_id"])
    return now


def lying(server: JmapServer, role: str) -> int:
    """How many mails lie there that were not there before."""
    place = server.store.by_role(role).id
    return sum(place in one.mailboxes and one.parsed["subject"] != "earlier" for one in server.store.emails.values())


async def check(server: JmapServer, house: House, told: dict[str, Any]) -> None:
    """The laws."""
    left = len(server.store.sent)
    assert left <= 1, "handed over twice"
    now = await settled(house, told)
    assert len(server.store.sent) == left, "looking sent something"
    if told["status"] == "ok":
        assert left == 1
    if told["status"] not in {"ok", "unsure"}:
        assert left == 0
    if now is None or told["status"] == "approval_pending":  # whom the server did not tell of, the owner is asked about
        assert left == 0, told
    else:
        assert now["state"] == ("succeeded" if left else "failed"), (told, now)
    assert lying(server, "sent") == left
    assert lying(server, "drafts") == 0


@pytest.mark.parametrize(("kind", "step", "act", "when"), CELLS)
async def test_whatever_happens_on_the_way_the_end_is_the_truth(kind: str, step: str, act: Any, when: When) -> None:
    async with relayed_house(_LIMITS[kind]) as (server, relay, house):
        known(server)
        trap = Trap(Step(step, 0), when, act)
        relay.arm(trap)
        told = await house.ask("mail_send", **MAIL)
        assert trap.sprung, [str(one) for one in relay.steps]
        await check(server, house, told)


@pytest.mark.parametrize("kind", STEPS)
async def test_the_steps_are_all_there_are(kind: str) -> None:
    """A request that is new to sending needs its cells."""
    async with relayed_house(_LIMITS[kind]) as (server, relay, house):
        known(server)
        relay.arm()
        assert (await house.ask("mail_send", **MAIL))["status"] == "ok"
        assert list(dict.fromkeys(step.verb for step in relay.steps)) == STEPS[kind]
        await check(server, house, {"status": "ok"} | await _last(house))


@pytest.mark.parametrize(("act", "when"), FAULTS)
async def test_who_asks_again_at_once_doubles_nothing(act: Any, when: When) -> None:
    """N-16: an agent that repeats itself is the ordinary case."""
    async with relayed_house(CARRYING) as (server, relay, house):
        known(server)
        relay.arm(Trap(Step(STEPS["carrying"][-1], 0), when, act))
        first = await house.ask("mail_send", **MAIL)
        left = len(server.store.sent)
        again = await house.ask("mail_send", **MAIL)
        if first["status"] == "unsure":
            assert again["code"] == "may_be_sent_already"
            assert len(server.store.sent) == left
        assert len(server.store.sent) <= 1 + (first["status"] == "ok")


@pytest.mark.parametrize(("act", "when"), FAULTS)
async def test_a_refused_mail_leaves_no_draft_though_taking_it_away_fails(act: Any, when: When) -> None:
    """The message we made for it is taken away at once, or later; nobody finds it among drafts."""
    async with relayed_house(PLAIN) as (server, relay, house):
        known(server)
        server.methods.refuse_sending = "forbiddenToSend"
        trap = Trap(Step("Email/set", 0), when, act)
        relay.arm(trap)
        told = await house.ask("mail_send", **MAIL)
        assert (trap.sprung, told["code"]) == (True, "sending_refused")
        await check(server, house, told)


async def _last(house: House) -> dict[str, Any]:
    told = await house.ask("operations_list", limit=1)
    return {"operation_id": told["operations"][0]["operation_id"]}
