"""What a server does beyond keeping mail: the automatic reply, identities, quotas (J-03, J-43…J-47)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mcp_proton.domain.errors import Ambiguous, Conflict, Invalid, MailError, Unsupported
from mcp_proton.domain.mail import Identity
from mcp_proton.domain.ports import Standing
from mcp_proton.domain.powers import Quota, Vacation
from tests.servers.jmap.server import MAIL, QUOTA, SUBMISSION, USER
from tests.unit.jmap.accounts import account

AWAY = Vacation(
    enabled=True,
    text="Away until Monday.",
    subject="Away",
    since=datetime(2026, 12, 1, tzinfo=UTC),
    until=datetime(2026, 12, 14, 12, tzinfo=UTC),
)


async def test_the_automatic_reply_is_read_and_set_each_in_one_request() -> None:
    """J-45, J-46."""
    async with account() as (server, backend):
        assert await backend.powers.vacation() == Vacation(enabled=False)
        server.methods.around.vacation["htmlBody"] = "<b>old</b>"
        before = len(server.called)
        assert await backend.powers.set_vacation(AWAY) == AWAY
        assert server.called[before:] == [["VacationResponse/set", "VacationResponse/get"]]
        assert server.methods.around.vacation["toDate"] == "2026-12-14T12:00:00Z"
        assert server.methods.around.vacation["htmlBody"] is None
        off = Vacation(enabled=False, text="Away until Monday.")
        assert await backend.powers.set_vacation(off) == off


async def test_what_the_session_does_not_name_is_an_ordinary_no() -> None:
    """P-09: and the capability report says so beforehand."""
    async with account() as (server, backend):
        server.capabilities = [MAIL, SUBMISSION]
        await backend.mailboxes()
        for act in (backend.powers.vacation(), backend.powers.set_vacation(AWAY)):
            with pytest.raises(Unsupported) as caught:
                await act
            assert caught.value.code == "not_on_this_server"
        assert backend.features()["vacation"] is backend.features()["quota"] is Standing.UNAVAILABLE
        health = await backend.health()
        assert (health.login, health.quotas) == (USER, ())
        assert not any("Quota" in name for names in server.called for name in names)


async def test_the_capability_report_tells_what_there_is() -> None:
    async with account() as (_, backend):
        assert backend.features()["vacation"] is Standing.UNVERIFIED
        await backend.mailboxes()
        told = {backend.features()[word] for word in ("vacation", "quota", "new_identities")}
        assert told == {Standing.AVAILABLE}


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_lost_answer_to_setting_the_reply_is_not_a_no(cut: Any) -> None:
    async with account() as (server, backend):
        await backend.powers.vacation()
        server.cut = cut
        with pytest.raises(Ambiguous):
            await backend.powers.set_vacation(AWAY)
        assert (await backend.powers.vacation()).enabled is (cut == "after")


REFUSALS: list[tuple[dict[str, Any], type[MailError]]] = [
    ({"updated": {}, "notUpdated": {"singleton": {"type": "invalidProperties"}}}, Invalid),
    ({"updated": {}, "notUpdated": {"singleton": {"type": "forbidden"}}}, MailError),
    ({"updated": {}, "notUpdated": {}}, Ambiguous),
    ({"updated": None, "notUpdated": None}, Ambiguous),
]


@pytest.mark.parametrize(("answer", "kind"), REFUSALS)
async def test_a_reply_that_was_not_set_is_never_told_as_set(answer: dict[str, Any], kind: type[MailError]) -> None:
    async with account() as (server, backend):
        server.lie = lambda name, told: answer if name == "VacationResponse/set" else told
        with pytest.raises(kind):
            await backend.powers.set_vacation(AWAY)


async def test_an_identity_is_made_once_and_known_at_once() -> None:
    """J-03."""
    async with account() as (server, backend):
        made = await backend.powers.create_identity(Identity("alias@example.org", "Alice A."))
        assert made == Identity("alias@example.org", "Alice A.")
        assert made in await backend.identities()
        with pytest.raises(Conflict):
            await backend.powers.create_identity(Identity("Alias@example.org"))
        assert len(server.store.identities) == 2


async def test_an_identity_that_the_server_grants_not_is_refused() -> None:
    async with account() as (server, backend):
        server.methods.around.forbidden.add("boss@example.org")
        with pytest.raises(Invalid) as caught:
            await backend.powers.create_identity(Identity("boss@example.org"))
        assert caught.value.code == "sender_refused"


async def test_a_server_that_makes_no_identities_says_so() -> None:
    """Cyrus has no Identity/set."""
    async with account() as (server, backend):
        server.methods.without.add("Identity/set")
        with pytest.raises(Unsupported) as caught:
            await backend.powers.create_identity(Identity("alias@example.org"))
        assert caught.value.code == "not_on_this_server"
        assert backend.features()["new_identities"] is Standing.UNAVAILABLE


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_lost_answer_to_making_an_identity_is_found_out_by_looking(cut: Any) -> None:
    async with account() as (server, backend):
        await backend.identities()
        server.cut = cut
        with pytest.raises(Ambiguous):
            await backend.powers.create_identity(Identity("alias@example.org"))
        known = [one.email for one in await backend.identities()]
        assert ("alias@example.org" in known) is (cut == "after")


async def test_health_tells_who_is_logged_in_and_how_full_it_is() -> None:
    """J-01, J-43, J-44, J-47."""
    async with account() as (server, backend):
        server.methods.around.quotas.append({"id": "x", "name": "x", "types": ["Calendar"], "used": 1})
        health = await backend.health()
        assert health.connected
        assert health.login == USER
        assert health.quotas == (Quota("q1", "octets", 1_000, 5_000), Quota("q2", "count", 3, None))


async def test_a_server_that_lies_about_its_quotas_is_connected_all_the_same_or_told_as_broken() -> None:
    async with account() as (server, backend):
        server.lie = lambda name, told: {"list": [{"used": -1}]} if name == "Quota/get" else told
        health = await backend.health()
        assert (health.connected, health.code) == (False, "bad_server_answer")
        server.capabilities.remove(QUOTA)
        assert (await backend.health()).connected
