"""The effect table of JMAP, row by row on Cyrus: each verb between all roles it names, and what another client then sees."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from mcp_proton.domain.consequences import EffectTable, End
from mcp_proton.domain.effects import CHANGING
from mcp_proton.domain.errors import Conflict, NotFound, Unsupported
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange, Page
from mcp_proton.domain.query import All
from mcp_proton.imap import effect_tables
from mcp_proton.testing.outgoing import MemoryOctets
from tests.contract import worlds
from tests.contract.letters import letter
from tests.servers.mail import Mail

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Sequence

    from mcp_proton.domain.consequences import Consequence
    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.mail import Mailbox
    from mcp_proton.jmap.backend import JmapBackend
    from tests.servers.account import Account

pytestmark = pytest.mark.server
TABLE: EffectTable = effect_tables.load("mcp_proton.jmap")
NOT_ON_CYRUS = frozenset({Role.ALL, Role.STARRED})
"""roles that no mailbox of it has"""


Sight = tuple[set[str], set[str]]
"""the ids of its mailboxes, and its keywords"""


class Proof:
    """An account with a mailbox of each role, and another client's eyes."""

    def __init__(self, backend: JmapBackend, account: Account) -> None:
        self.backend = backend
        self._url = f"http://{account.host}:{account.jmap_port}/jmap/"
        self._account = account
        self._http = httpx2.AsyncClient(auth=(account.username, account.password), trust_env=False, timeout=60)
        self._made = 0

    async def boxes(self) -> dict[Role, Mailbox]:
        return {box.role: box for box in await self.backend.mailboxes()}

    async def put(self, role: Role) -> Handle:
        """A flagged message in a mailbox of that role. For a label it lies in INBOX as well."""
        (handle,) = await self.several(role, 1)
        return handle

    async def several(self, role: Role, count: int) -> list[Handle]:
        """As many, brought in by IMAP."""
        box = (await self.boxes())[Role.INBOX if role is Role.LABEL else role]
        flags = ("\\Flagged", *(("\\Draft",) if role is Role.DRAFTS else ()))
        numbers = range(self._made, self._made + count)
        self._made += count
        mails = [Mail(letter(f"row {one}", number=10_000 + one), flags=flags) for one in numbers]
        path = "INBOX" if box.role is Role.INBOX else box.path
        await asyncio.to_thread(self._account.load, mails, path)
        found = await self.backend.search([box], All(), Page(500))
        wanted = {f"row {one}" for one in numbers}
        handles = [row.handle for row in found.rows if row.subject in wanted]
        assert len(handles) == count
        if role is not Role.LABEL:
            return handles
        fates = await self.backend.label(handles, (await self.boxes())[Role.LABEL])
        return [fate.now for fate in fates if fate.now is not None]

    async def seen(self, handle: Handle) -> Sight | None:
        """Where a message is and what it carries, as the server tells anybody; None where it is gone."""
        return (await self.all_seen([handle]))[0]

    async def all_seen(self, handles: Sequence[Handle]) -> list[Sight | None]:
        """The same of several."""
        asked = {
            "accountId": self._account.username,
            "ids": [one.key for one in handles],
            "properties": ["mailboxIds", "keywords"],
        }
        using = ["urn:ietf:params:jmap:core", "urn:ietf:params:jmap:mail"]
        body = {"using": using, "methodCalls": [["Email/get", asked, "0"]]}
        told: dict[str, Any] = (await self._http.post(self._url, json=body)).json()
        by_id = {
            one["id"]: (set(one["mailboxIds"]), set(one["keywords"])) for one in told["methodResponses"][0][1]["list"]
        }
        return [by_id.get(one.key) for one in handles]

    async def aclose(self) -> None:
        await self._http.aclose()


@pytest.fixture
async def proof(cyrus: Account) -> AsyncIterator[Proof]:
    async with worlds.jmap(cyrus) as world:
        backend: JmapBackend = world.backend  # type: ignore[assignment]
        if Role.FOLDER not in {box.role for box in await backend.mailboxes()}:
            await backend.create("Rows", Role.FOLDER)
        await backend.create("Labels/Rows", Role.LABEL)
        made = Proof(backend, cyrus)
        yield made
        await made.aclose()


def rows(verb: str) -> Iterable[Consequence]:
    """The rows of a verb that do something, between roles Cyrus has."""
    for row in TABLE.rows:
        if row.verb == verb and not row.refused and not {row.source, row.target} & NOT_ON_CYRUS:
            yield row


def test_every_verb_that_changes_mail_is_tried_here() -> None:
    tried = {
        "set_flags",
        "move",
        "copy",
        "label",
        "unlabel",
        "destroy",
        "append",
        "create",
        "rename",
        "remove",
        "subscribe",
    }
    assert {row.verb for row in TABLE.rows if row.effects & CHANGING and not row.refused} == tried


@pytest.mark.parametrize("verb", ["move", "copy", "label"])
async def test_a_message_is_afterwards_where_the_row_says(proof: Proof, verb: str) -> None:
    """J-22, J-23: and its flags and its other mailboxes stay."""
    boxes = await proof.boxes()
    targets = {row.target: boxes[row.target] for row in rows(verb) if row.target is not None}
    waiting = {
        row.source: await proof.several(row.source, len(targets))
        for row in rows(verb)
        if row.source is not None and row.target is next(iter(targets))
    }
    count = 0
    for target, box in targets.items():
        handles = [some.pop() for some in waiting.values()]
        before = await proof.all_seen(handles)
        fates = await getattr(proof.backend, verb)(handles, box)
        after = await proof.all_seen(handles)
        for source, was, fate, now in zip(waiting, before, fates, after, strict=True):
            assert was is not None
            moved = TABLE.of(verb, source, target).end is End.MOVED
            left = {boxes[source].id} if moved and source is not target else set()
            assert now == ((was[0] - left) | {box.id}, was[1]), (source, target)
            assert fate.ending is (Ending.SKIPPED if box.id in was[0] else Ending.DONE)
            count += 1
    assert count == len(list(rows(verb)))


async def test_flags_change_in_whatever_mailbox(proof: Proof) -> None:
    """J-18, J-19."""
    handles = [await proof.put(row.source) for row in rows("set_flags") if row.source is not None]
    fates = await proof.backend.set_flags(handles, FlagChange(add=frozenset({"seen", "mine"})))
    fates += await proof.backend.set_flags(handles, FlagChange(remove=frozenset({"flagged"})))
    assert {fate.ending for fate in fates} == {Ending.DONE}
    for handle in handles:
        now = await proof.seen(handle)
        assert now is not None
        assert {"$seen", "mine"} <= now[1]
        assert "$flagged" not in now[1]


async def test_a_label_comes_off_and_the_message_stays_in_its_place(proof: Proof) -> None:
    handle = await proof.put(Role.LABEL)
    (fate,) = await proof.backend.unlabel([handle])
    assert fate.ending is Ending.DONE
    now = await proof.seen(handle)
    assert now is not None
    assert now[0] == {(await proof.boxes())[Role.INBOX].id}


async def test_what_is_destroyed_is_gone_and_what_another_mailbox_holds_is_not(proof: Proof) -> None:
    """J-33."""
    folder = (await proof.boxes())[Role.FOLDER]
    for row in rows("destroy"):
        assert row.source is not None
        alone, held = await proof.put(row.source), await proof.put(row.source)
        await proof.backend.copy([held], folder)
        first, second = await proof.backend.destroy([alone, held])
        assert (first.ending, second.ending, second.code) == (Ending.DONE, Ending.FAILED, "held")
        assert await proof.seen(alone) is None
        assert await proof.seen(held) is not None


async def test_what_is_put_into_a_mailbox_is_there_with_its_flags(proof: Proof) -> None:
    boxes = await proof.boxes()
    for row in rows("append"):
        assert row.source is not None
        raw = letter(f"stored in {row.source}", number=len(row.source)).replace(b"\n", b"\r\n")
        handle = await proof.backend.append(boxes[row.source], MemoryOctets(raw), flags=frozenset({"flagged", "seen"}))
        assert await proof.seen(handle) == ({boxes[row.source].id}, {"$flagged", "$seen"})


@pytest.mark.parametrize(("role", "path"), [(Role.FOLDER, "Made"), (Role.LABEL, "Labels/Made")])
async def test_a_mailbox_is_made_renamed_hidden_and_deleted(proof: Proof, role: Role, path: str) -> None:
    """J-38, J-39, J-40, J-41, J-42: its id, and so each handle into it, stays through a rename."""
    assert {row.source for row in rows("create")} == {Role.FOLDER, Role.LABEL}
    made = await proof.backend.create(path, role)
    handle = await proof.put(Role.INBOX)
    fates = await getattr(proof.backend, "label" if role is Role.LABEL else "copy")([handle], made)
    copies = [fate.now for fate in fates]
    renamed = await proof.backend.rename(made, f"{path}2")
    assert renamed.id == made.id
    for on in (False, True):
        await proof.backend.subscribe(renamed, on=on)
        listed = await proof.backend.mailboxes(fresh=True)
        assert next(one.subscribed for one in listed if one.id == made.id) is on
    if role is Role.FOLDER:
        with pytest.raises(Conflict):
            await proof.backend.remove(renamed)
        (fate,) = await proof.backend.move([handle], (await proof.boxes())[Role.TRASH])
        assert fate.ending is Ending.DONE
        await proof.backend.move(copies, (await proof.boxes())[Role.TRASH])
    await proof.backend.remove(renamed)
    assert made.id not in {one.id for one in await proof.backend.mailboxes(fresh=True)}
    assert await proof.seen(handle) is not None


REFUSED = sorted({row.verb for row in TABLE.rows if row.refused})


async def test_what_a_row_refuses_is_not_done(proof: Proof) -> None:
    """Destroying outside Trash, moving into or out of a label: refused by the table, and by the backend beneath it."""
    assert REFUSED == ["append", "destroy", "mark_deleted", "move"]
    boxes = await proof.boxes()
    for row in TABLE.rows:
        roles = {row.source, row.target} - {None}
        if not row.refused or row.verb == "mark_deleted" or not roles <= boxes.keys():
            continue
        if row.verb == "append":
            with pytest.raises((Unsupported, NotFound)):
                await proof.backend.append(boxes[row.source], MemoryOctets(b"Subject: x\r\n\r\nx\r\n"))  # type: ignore[index]
            continue
        handle = await proof.put(row.source)  # type: ignore[arg-type]
        before = await proof.seen(handle)
        try:
            if row.verb == "destroy":
                (fate,) = await proof.backend.destroy([handle])
            else:
                (fate,) = await proof.backend.move([handle], boxes[row.target or Role.FOLDER])
        except Unsupported:
            pass
        else:
            assert fate.ending is Ending.FAILED, (row.verb, row.source, row.target)
        assert await proof.seen(handle) == before
