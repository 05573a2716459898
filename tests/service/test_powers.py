"""The automatic reply and identities, through the door: judged as what goes on without being asked (J-03, J-45, J-46)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mcp_proton.domain.errors import Ambiguous, Conflict
from mcp_proton.domain.mail import Identity
from mcp_proton.domain.ports import Health, Standing
from mcp_proton.domain.powers import Quota, Vacation
from mcp_proton.services.door.wrappers import RetryReads

from .conftest import House


class Powers:
    """A server's powers, in memory; `lost` loses the answer to what sets something, before or after it was done."""

    def __init__(self) -> None:
        self.set: list[Vacation] = []
        self.now = Vacation(enabled=False, text="As last summer.", subject="Away")
        self.made: list[Identity] = []
        self.lost: str | None = None

    async def vacation(self) -> Vacation:
        return self.now

    async def set_vacation(self, vacation: Vacation) -> Vacation:
        if self.lost != "before":
            self.set.append(vacation)
            self.now = vacation
        if self.lost:
            raise Ambiguous("the mail server did not say whether it was done")
        return self.now

    async def create_identity(self, identity: Identity) -> Identity:
        if identity in self.made:
            raise Conflict("there is one", code="name_taken")
        self.made.append(identity)
        return identity


@pytest.fixture
def powers(house: House) -> Powers:
    found = house.personal.powers = Powers()
    house.rules(preset="autonomous")
    return found


async def test_the_automatic_reply_is_switched_on_with_what_was_written(house: House, powers: Powers) -> None:
    told = await house.ask("vacation_update", enabled=True, text="Away until Monday.", until="2026-12-14")
    assert (told["status"], told["enabled"], told["text"]) == ("ok", True, "Away until Monday.")
    assert told["subject"] == "Away"
    assert [one.text for one in powers.set] == ["Away until Monday."]
    assert (await house.ask("vacation_get"))["until"] == told["until"]
    told = await house.ask("vacation_update", enabled=False)
    assert (told["enabled"], told["text"]) == ("no", "Away until Monday.")
    assert "until" not in told


async def test_the_owner_is_asked_and_sees_the_very_words(house: House, powers: Powers) -> None:
    """The text that stays is fixed when it is asked for: what the owner saw is what is set."""
    house.rules(preset="assistant")
    told = await house.ask("vacation_update", enabled=True)
    assert told["status"] == "approval_pending"
    assert not powers.set
    shown = await house.owner_asks("approvals_show", operation_id=told["operation_id"])
    assert "As last summer." in str(shown)
    powers.now = replace(powers.now, text="something else by now")
    await house.owner_asks("approvals_approve", operation_id=told["operation_id"])
    assert (await house.ask("operations_resume", operation_id=told["operation_id"]))["status"] == "ok"
    assert [one.text for one in powers.set] == ["As last summer."]


async def test_a_reader_sees_it_and_sets_nothing(house: House, powers: Powers) -> None:
    house.rules(preset="reader")
    assert (await house.ask("vacation_get"))["text"] == "As last summer."
    for name, arguments in (
        ("vacation_update", {"enabled": True}),
        ("identities_create", {"address": "a@example.org"}),
    ):
        assert (await house.ask(name, **arguments))["status"] == "refused"
    assert not powers.set
    assert not powers.made


@pytest.mark.parametrize(
    "asked",
    [
        {"enabled": True, "text": " "},
        {"enabled": True, "text": "x", "since": "2026-12-14", "until": "2026-12-14"},
        {"enabled": True, "text": "x", "until": "2026-11-01"},
        {"enabled": True, "text": "x", "until": "soon"},
    ],
)
async def test_a_reply_that_makes_no_sense_is_not_set(house: House, powers: Powers, asked: dict[str, Any]) -> None:
    assert (await house.ask("vacation_update", **asked))["status"] == "refused"
    assert not powers.set


@pytest.mark.parametrize(("lost", "ended"), [("before", "not_done"), ("after", "ok")])
async def test_a_lost_answer_is_settled_by_looking(house: House, powers: Powers, lost: str, ended: str) -> None:
    """Never set a second time."""
    powers.lost = lost
    told = await house.ask("vacation_update", enabled=True, text="Away.", until="2026-12-24")
    assert told["status"] == "unsure"
    powers.lost = None
    house.clock.wind(hours=1)
    told = await house.ask("operations_status", operation_id=told["operation_id"])
    assert ended in (told["status"], told.get("code"))
    assert len(powers.set) == (lost == "after")


async def test_where_the_server_does_no_such_thing_the_answer_says_so(house: House) -> None:
    house.rules(preset="autonomous")
    asked = {
        "vacation_get": {},
        "vacation_update": {"enabled": False},
        "identities_create": {"address": "a@example.org"},
    }
    for name, arguments in asked.items():
        told = await house.ask(name, **arguments)
        assert (told["status"], told["code"]) == ("unsupported", "not_on_this_server")
        assert "mail provider" in told["next"]


async def test_the_journal_keeps_no_word_of_the_reply(house: House, powers: Powers) -> None:
    told = await house.ask("vacation_update", enabled=True, text="Secret-words.", subject="Secret-subject")
    record = await house.journal.read(told["operation_id"], house.agent)
    assert "Secret" not in f"{record.outline} {record.summary}"


async def test_an_address_to_send_as_is_made_after_the_owner_said_yes(house: House, powers: Powers) -> None:
    house.rules(preset="assistant")
    told = await house.ask("identities_create", address="Anna Example <anna@example.org>")
    assert told["status"] == "approval_pending"
    assert "anna@example.org" in str(await house.owner_asks("approvals_show", operation_id=told["operation_id"]))
    await house.owner_asks("approvals_approve", operation_id=told["operation_id"])
    told = await house.ask("operations_resume", operation_id=told["operation_id"])
    assert (told["email"], told["name"]) == ("anna@example.org", "Anna Example")
    assert powers.made == [Identity("anna@example.org", "Anna Example")]


@pytest.mark.parametrize(
    "text", ["", "anna", "a@b@c", "a@example.org, b@example.org", "<*@example.org>", "x\r\n@example.org"]
)
async def test_what_is_no_single_address_is_never_made_one(house: House, powers: Powers, text: str) -> None:
    assert (await house.ask("identities_create", address=text))["status"] == "refused"
    assert not powers.made


async def test_an_office_is_no_sender_unless_the_owner_writes_it_down(house: House, powers: Powers) -> None:
    """J-137."""
    assert (await house.ask("identities_create", address="No-Reply@example.org"))["code"] == "role_address"
    assert not powers.made


async def test_health_tells_who_is_logged_in_and_how_full_it_is(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """J-01, J-43, J-44, J-47: a server's words are a stranger's."""

    async def health() -> Health:
        return Health(connected=True, login="me\u202e@example.org", quotas=(Quota("mail", "octets", 10, 100),))

    monkeypatch.setattr(house.personal, "health", health)
    (told,) = (await house.ask("accounts_health", account="personal"))["accounts"]
    assert told["login"] == "me@example.org"
    assert told["quotas"] == [{"name": "mail", "unit": "octets", "used": 10, "limit": 100}]


async def test_setting_is_never_repeated_where_looking_is(house: House, powers: Powers) -> None:
    wrapped = RetryReads(house.personal)
    assert wrapped.powers is not None
    powers.lost = "after"
    with pytest.raises(Ambiguous):
        await wrapped.powers.set_vacation(Vacation(enabled=True, text="x"))
    assert len(powers.set) == 1
    assert (await wrapped.powers.vacation()).text == "x"
    assert (await wrapped.powers.create_identity(Identity("a@example.org"))).email == "a@example.org"
    assert house.personal.features().get("vacation") is not Standing.UNAVAILABLE
