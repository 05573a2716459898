"""A client is told that what it may read has changed, in both eras, by the official SDK: P-64, P-82."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import mcp_types
import pytest
from fastmcp import Client
from mcp.client.subscriptions import listen
from mcp.shared.exceptions import MCPError

from mcp_proton.domain.effects import Effect
from mcp_proton.domain.outcome import Status
from mcp_proton.mcp import subscriptions
from mcp_proton.policy.presets import Preset
from mcp_proton.policy.rules import Place, Rule, Verdict
from mcp_proton.services.door import watching
from mcp_proton.testing import MemoryAccount
from tests.surfaces.mcp.wire import Process
from tests.surfaces.mcp.world import CLIENT, ERAS, Lab, letter, policy, rule

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


INBOX, LIST = "mail://personal/mailboxes/inbox", "mail://personal/mailboxes"
PATIENCE = 30.0


MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Told:
    """What one client was told."""

    def __init__(self) -> None:
        self.uris: list[str] = []
        self.raw: list[Any] = []
        self.over = False
        self._more = asyncio.Event()

    def hear(self, uri: str) -> None:
        self.uris.append(uri)
        self._more.set()

    async def handle(self, message: Any) -> None:
        """Take what a client of the handshake era hands over."""
        if isinstance(message, mcp_types.ResourceUpdatedNotification):
            self.raw.append(message.model_dump(by_alias=True, mode="json", exclude_none=True))
            self.hear(str(message.params.uri))

    async def until(self, uri: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while uri not in self.uris:
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def following(lab: Lab, era: str, *uris: str) -> AsyncIterator[Told]:
    """A client of this era that follows these."""
    told = Told()
    async with Client(lab.server(), mode=era, message_handler=told.handle) as client:
        if era == "legacy":
            for uri in uris:
                await client.session.subscribe_resource(uri)
            yield told
            return
        async with listen(client.session, resource_subscriptions=uris) as stream:

            async def hear() -> None:
                async for event in stream:
                    told.hear(event.uri)
                told.over = True

            hearing = asyncio.create_task(hear())
            try:
                yield told
            finally:
                hearing.cancel()
                await asyncio.gather(hearing, return_exceptions=True)


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("SETTLING", 0.02), ("APART", 0.05), ("JUDGED", 0.05)):
        monkeypatch.setattr(watching, name, seconds)


def arrive(account: MemoryAccount, path: str = "INBOX", subject: str = "SECRET WORDS", number: int = 9) -> None:
    account.add(path, letter(subject, "SECRET TEXT", number=number))


async def followed_by(lab: Lab, count: int) -> None:
    """Wait until so many resources are followed."""
    async with asyncio.timeout(PATIENCE):
        while lab.service.watching.followers != count or (lab.service.watching.accounts > 0) is not (count > 0):
            await asyncio.sleep(0.005)


@pytest.mark.parametrize("era", ERAS)
async def test_mail_that_arrives_is_told_to_who_follows_its_mailbox(era):
    lab = Lab()
    async with following(lab, era, INBOX) as told:
        await asyncio.sleep(0.1)
        assert not told.uris
        arrive(lab.account)
        await told.until(INBOX)
        assert "SECRET" not in str(told.raw)
        for notification in told.raw:
            assert notification["params"].keys() <= {"uri", "_meta"}
            assert notification["params"].get("_meta", {}).keys() <= {"io.modelcontextprotocol/subscriptionId"}
    await followed_by(lab, 0)


@pytest.mark.parametrize("era", ERAS)
async def test_the_list_of_mailboxes_is_told_of_any_of_them_and_a_mailbox_of_itself_alone(era):
    lab = Lab()
    lab.account.add_mailbox("Work")
    async with following(lab, era, INBOX, LIST) as told:
        arrive(lab.account, "Work")
        await told.until(LIST)
        await asyncio.sleep(0.2)
        assert INBOX not in told.uris


async def test_a_burst_is_told_once_or_twice_and_never_a_hundred_times(monkeypatch):
    monkeypatch.setattr(watching, "SETTLING", 0.5)
    monkeypatch.setattr(watching, "APART", 60.0)
    lab = Lab()
    async with following(lab, "legacy", INBOX) as told:
        for number in range(100):
            arrive(lab.account, number=number)
            await asyncio.sleep(0)
        await told.until(INBOX)
        arrive(lab.account, number=200)
        await asyncio.sleep(0.3)
        assert told.uris == [INBOX]


async def test_all_sessions_share_one_watch_and_it_ends_with_the_last_of_them():
    lab = Lab()
    async with following(lab, "legacy", INBOX, LIST) as first:
        async with following(lab, "2026-07-28", INBOX) as second:
            assert (lab.service.watching.followers, lab.service.watching.accounts) == (3, 1)
            assert lab.account.calls.count("watch") == 1
            arrive(lab.account)
            await first.until(INBOX)
            await second.until(INBOX)
        await followed_by(lab, 2)
    await followed_by(lab, 0)
    assert lab.account.calls.count("watch") == 1


async def test_what_is_followed_no_longer_is_not_told():
    lab, told = Lab(), Told()
    async with Client(lab.server(), mode="legacy", message_handler=told.handle) as client:
        await client.session.subscribe_resource(INBOX)
        await client.session.subscribe_resource(INBOX)
        await client.session.unsubscribe_resource(INBOX)
        await client.session.unsubscribe_resource(INBOX)
        await followed_by(lab, 0)
        arrive(lab.account)
        await asyncio.sleep(0.2)
        assert not told.uris


@pytest.mark.parametrize("era", ERAS)
async def test_who_may_not_read_it_is_refused_with_the_reason_and_what_to_do(era):
    """P-22, P-82: the same policy as for tools."""
    lab = Lab(policy(Preset.ASSISTANT, rule(Verdict.DENY, Effect.LIST)))
    with pytest.raises(MCPError) as refusal:
        async with following(lab, era, INBOX):
            pass
    told = refusal.value.error.data
    assert (told["status"], told["code"]) == ("refused", "policy_denied")
    assert told["next"]
    assert CLIENT in told["why"]
    assert "watch" not in lab.account.calls


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("mail://nobody/mailboxes", "not_found"),
        ("mail://personal/mailboxes/zzzzzz", "not_found"),
        ("mail://personal/mailboxes/Work%2FSECRET", "invalid_arguments"),
        ("mail://personal/capabilities", "unsupported"),
        ("mail://messages/personal.aaaaaa.1-1", "unsupported"),
        ("mail://messages/personal", "invalid_arguments"),
        ("file:///etc/passwd", "not_found"),
    ],
)
async def test_what_cannot_be_followed_is_told(era, uri, code):
    lab = Lab()
    with pytest.raises(MCPError) as refusal:
        async with following(lab, era, uri):
            pass
    assert refusal.value.error.data["code"] == code
    assert "SECRET" not in refusal.value.error.message
    await followed_by(lab, 0)


async def test_what_is_asked_for_many_times_at_once_is_followed_once():
    lab = Lab()
    async with Client(lab.server(), mode="legacy") as client:
        await asyncio.gather(*(client.session.subscribe_resource(INBOX) for _ in range(20)))
        assert (lab.service.watching.followers, lab.service.watching.accounts) == (1, 1)
    await followed_by(lab, 0)


async def test_where_the_owner_is_asked_each_time_nothing_is_told_unasked():
    lab = Lab(policy(Preset.ASSISTANT, rule(Verdict.ASK, Effect.LIST)))
    with pytest.raises(MCPError) as refusal:
        async with following(lab, "legacy", INBOX):
            pass
    assert refusal.value.error.data["code"] == "asked_each_time"


async def test_of_several_what_may_be_followed_is():
    lab, wanted = Lab(), [INBOX, "mail://nobody/mailboxes"]
    async with (
        Client(lab.server(), mode="2026-07-28") as client,
        listen(client.session, resource_subscriptions=wanted) as stream,
    ):
        assert stream.honored.resource_subscriptions == [INBOX]
        arrive(lab.account)
        async with asyncio.timeout(PATIENCE):
            assert (await anext(stream)).uri == INBOX


@pytest.mark.parametrize("era", ERAS)
async def test_what_is_denied_meanwhile_is_told_no_more_and_watched_no_more(era):
    lab = Lab()
    async with following(lab, era, INBOX) as told:
        arrive(lab.account)
        await told.until(INBOX)
        told.uris.clear()
        lab.policies.policy = policy(Preset.ASSISTANT, rule(Verdict.DENY, Effect.LIST))
        arrive(lab.account, number=10)
        await followed_by(lab, 0)
        await asyncio.sleep(0.2)
        assert not told.uris
        assert told.over is (era != "legacy")


async def test_a_list_is_not_told_of_a_mailbox_that_the_client_may_not_list():
    lab = Lab()
    hidden = lab.account.add_mailbox("Secret")
    lab.policies.policy = policy(
        Preset.ASSISTANT, Rule(Verdict.DENY, frozenset({Effect.LIST}), place=Place(hidden.path), source="rule 1")
    )
    async with following(lab, "legacy", LIST) as told:
        arrive(lab.account, "Secret")
        await asyncio.sleep(0.3)
        assert not told.uris
        arrive(lab.account)
        await told.until(LIST)


async def test_a_session_follows_so_much_and_no_more(monkeypatch):
    monkeypatch.setattr(subscriptions, "MOST", 2)
    lab = Lab()
    async with Client(lab.server(), mode="legacy") as client:
        for uri in (INBOX, LIST):
            await client.session.subscribe_resource(uri)
        with pytest.raises(MCPError) as refusal:
            await client.session.subscribe_resource("mail://personal/mailboxes/sent")
        assert refusal.value.error.data["code"] == "over_limit"
        await client.session.unsubscribe_resource(INBOX)
        await client.session.subscribe_resource("mail://personal/mailboxes/sent")


async def test_a_client_follows_so_much_in_all_its_sessions(monkeypatch):
    monkeypatch.setattr(watching, "MOST_EACH", 2)
    lab = Lab()
    async with following(lab, "legacy", INBOX), following(lab, "2026-07-28", LIST):
        with pytest.raises(MCPError) as refusal:
            async with following(lab, "legacy", INBOX):
                pass
        assert refusal.value.error.data["code"] == "over_limit"


async def test_to_follow_is_in_the_journal():
    lab = Lab()
    async with following(lab, "legacy", INBOX):
        assert lab.journal.glanced == [("messages_list", Status.SUCCEEDED)]


@pytest.mark.process
def test_the_server_says_that_it_tells_of_resources_and_not_of_lists():
    with Process() as server:
        modern = server.ask("server/discover", _meta=MODERN)["result"]["capabilities"]
    with Process() as server:
        for offered in (modern, server.shake("2025-11-25")["capabilities"]):
            assert offered["resources"] == {"subscribe": True, "listChanged": False}
            assert not offered["tools"].get("listChanged")
            assert not offered["prompts"].get("listChanged")


@pytest.mark.process
def test_over_a_pipe_a_handshake_client_is_told_between_its_answers():
    with Process() as server:
        server.shake("2025-11-25")
        assert server.ask("resources/subscribe", uri=INBOX)["result"] == {}
        row = server.ask("tools/call", name="messages_list", arguments={"limit": 1})["result"]["structuredContent"]
        server.begin(
            "tools/call", name="messages_flag", arguments={"messages": row["messages"][0]["handle"], "add": ["read"]}
        )
        while (message := server.heard()).get("method") != "notifications/resources/updated":
            pass
        assert message["params"] == {"uri": INBOX}
        server.close_input()
        assert server.ended() == 0


@pytest.mark.process
def test_over_a_pipe_a_modern_client_hears_what_is_followed_and_why_the_rest_is_not():
    wanted = {"resourceSubscriptions": [INBOX, "mail://nobody/mailboxes"], "toolsListChanged": True}
    with Process() as server:
        number = server.begin("subscriptions/listen", notifications=wanted, _meta=MODERN)
        told = server.heard()
        assert told["method"] == "notifications/subscriptions/acknowledged"
        assert told["params"]["notifications"] == {"resourceSubscriptions": [INBOX]}
        meta = told["params"]["_meta"]
        assert meta["io.modelcontextprotocol/subscriptionId"] == number
        assert meta[subscriptions.REFUSED]["mail://nobody/mailboxes"]["status"] == "not_found"
        listed = server.ask("tools/call", name="messages_list", arguments={"limit": 1}, _meta=MODERN)["result"]
        handle = listed["structuredContent"]["messages"][0]["handle"]
        server.begin("tools/call", name="messages_flag", arguments={"messages": handle, "add": ["read"]}, _meta=MODERN)
        while (message := server.heard()).get("method") != "notifications/resources/updated":
            pass
        assert message["params"] == {"uri": INBOX, "_meta": {"io.modelcontextprotocol/subscriptionId": number}}
        server.close_input()
        assert server.ended() == 0
