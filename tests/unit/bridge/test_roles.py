"""Bridge's mailbox tree."""

from __future__ import annotations

from mcp_proton.bridge import roles
from mcp_proton.domain.mail import Role
from mcp_proton.imap.protocol.responses import ListEntry


def entry(name: str, *attributes: str) -> ListEntry:
    return ListEntry(name, name.encode(), "/", frozenset(attributes))


def test_every_mailbox_of_bridge_has_the_role_its_name_says() -> None:
    """As LIST gives them, in any order and with Bridge's attributes."""
    entries = [
        entry("Labels/a/b", "\\Unmarked"),
        entry("Labels/a", "\\Noselect"),
        entry("Labels", "\\Noselect", "\\Unmarked"),
        entry("Folders", "\\Noselect", "\\Unmarked"),
        entry("Folders/Sent", "\\Unmarked"),
        entry("All Mail", "\\Noinferiors", "\\All"),
        entry("Scheduled", "\\Noinferiors"),
        entry("Starred", "\\Noinferiors", "\\Flagged"),
        entry("Recovered Messages", "\\Noinferiors"),
        entry("INBOX", "\\Noinferiors"),
        entry("Spam", "\\Noinferiors", "\\Junk"),
    ]
    found = {box.path: box.role for box in roles.mailboxes("me", entries)}
    assert found == {
        "INBOX": Role.INBOX,
        "Spam": Role.SPAM,
        "All Mail": Role.ALL,
        "Starred": Role.STARRED,
        "Scheduled": Role.SCHEDULED,
        "Recovered Messages": Role.RECOVERED,
        "Folders": Role.NODE,
        "Folders/Sent": Role.FOLDER,
        "Labels": Role.NODE,
        "Labels/a": Role.NODE,
        "Labels/a/b": Role.LABEL,
    }
    assert next(iter(found)) == "INBOX"
