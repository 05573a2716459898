"""What jmap-mcp's reading tools tell is told here, on a JMAP server, by one of our operations each (J-04…J-14, J-48)."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from mcp_proton.domain.caller import owner
from tests.contract.letters import letter, with_attachment
from tests.service.jmap_house import jmap_house

BLOB = bytes(range(256)) * 8
DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def test_mailboxes_with_roles_counts_and_what_other_programs_hide() -> None:
    """J-04, J-05, J-07, J-11."""
    async with jmap_house() as (server, house):
        inbox = server.store.by_role("inbox").id
        hidden = server.store.folder("Hidden")
        hidden.subscribed = False
        for number in range(3):
            server.store.add(letter(number=number), inbox, keywords=frozenset({"$seen"} if number else ()))
        told = {one["path"]: one for one in (await house.ask("mailboxes_list"))["mailboxes"]}
        assert told["Inbox"] == {"path": "Inbox", "role": "inbox", "total": 3, "unread": 1}
        assert told["Hidden"]["subscribed"] == "no"
        assert sum(one.get("unread", 0) for one in told.values()) == 1


async def test_recent_mail_newest_first_by_envelope_alone() -> None:
    """J-06: at most 50 a page."""
    async with jmap_house() as (server, house):
        for number in range(60):
            server.store.add(
                letter(f"number {number}", number=number),
                server.store.by_role("inbox").id,
                received=DAY.replace(minute=number),
            )
        server.called.clear()
        told = await house.ask("messages_list", limit=50)
        assert [one["subject"] for one in told["messages"]] == [f"number {number}" for number in range(59, 9, -1)]
        assert told["cursor"]
        assert not any("Email/get" in names and "Email/query" not in names for names in server.called)


async def test_a_message_its_headers_and_its_attachments() -> None:
    """J-09, J-12, J-13, J-14: an attachment comes as a file of its digest, not as text in the conversation."""
    async with jmap_house() as (server, house):
        raw = with_attachment(BLOB, body="The text of it.")
        server.store.add(raw, server.store.by_role("inbox").id, keywords=frozenset({"$flagged"}))
        (row,) = (await house.ask("messages_list"))["messages"]
        told = await house.ask("messages_get", message=row["handle"])
        assert "The text of it." in told["text"]
        assert told["flagged"]
        assert told["subject"]
        headers = await house.ask("messages_headers", message=row["handle"])
        assert "Message-ID" in str(headers)
        (listed,) = (await house.ask("attachments_list", message=row["handle"]))["attachments"]
        saved = await house.ask("attachments_save", message=row["handle"], index=listed["index"])
        assert saved["status"] == "ok", saved
        assert saved["sha256"] == hashlib.sha256(BLOB).hexdigest()


async def test_what_was_done_is_in_the_journal_and_no_mailbox_is_written_into_for_it() -> None:
    """J-48, J-131: jmap-mcp notes its calls in a mailbox, as long as it remembers which; ours outlives a restart."""
    async with jmap_house() as (server, house):
        stored = server.store.add(letter("Subject-not-noted"), server.store.by_role("inbox").id)
        (row,) = (await house.ask("messages_list"))["messages"]
        done = await house.ask("messages_star", messages=[row["handle"]])
        assert stored.keywords == {"$flagged"}
        listed = await house.ask("operations_list")
        assert done["operation_id"] in str(listed)
        assert "Subject-not-noted" not in str(await house.journal.recent(owner()))
        assert list(server.store.emails) == [stored.id]
