"""Every recorded conversation with a real Bridge, replayed against the simulator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from mcp_proton.simulator import replay, replay_file
from mcp_proton.simulator.replaying.together import in_order_of_start

if TYPE_CHECKING:
    from mcp_proton.simulator import Certificate

HERE = Path(__file__).parent
RECORDINGS = sorted((HERE / "recordings").glob("*.yaml"))
KNOWN: dict[str, Any] = yaml.safe_load((HERE / "known_differences.yaml").read_text())
READING = {"connect", "list", "status", "select", "fetch", "search", "flags", "sessions", "idle", "sync", "split"}
WRITING = {"write", "recipe"}
SENDING = {"send", "smtp", "append", "reply", "identity", "replace", "delete", "addresses", "latency"}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
async def test_a_replay_differs_from_its_recording_only_where_that_is_known(
    path: Path, certificate: Certificate
) -> None:
    """N-2, N-3, B-06: IMAP, SMTP and what an account holds behave as a real Bridge 3.21.1 was seen to."""
    differences = await replay_file(path, certificate)
    assert [difference.step for difference in differences] == KNOWN.get(path.stem, {}).get("steps", []), "\n".join(
        map(str, differences)
    )


def test_the_known_differences_are_few_explained_and_none_is_in_reading_or_sending() -> None:
    assert len(KNOWN) <= 5
    assert all(entry["reason"] for entry in KNOWN.values())
    assert {name.split("-")[0] for name in KNOWN}.isdisjoint(READING | SENDING)
    assert KNOWN.keys() <= {path.stem for path in RECORDINGS}


def test_every_group_of_conversations_is_here() -> None:
    assert {path.stem.split("-")[0] for path in RECORDINGS} == READING | WRITING | SENDING
    assert len(RECORDINGS) == 195


CHANGES = [
    ("connect-login-forms", "a1 OK [CAPABILITY AUTH=PLAIN ID IDLE", "a1 OK [CAPABILITY AUTH=PLAIN IDLE"),
    ("fetch-sets", "* 2 FETCH (UID 3)", "* 2 FETCH (UID 4)"),
    ("fetch-items", "RFC822.SIZE 681", "RFC822.SIZE 682"),
    ("flags-store-forms", "* 1 FETCH (FLAGS (\\Recent \\Seen))", "* 1 FETCH (FLAGS (\\Recent))"),
    ("search-logic", "'* SEARCH 2 5'", "'* SEARCH 5 2'"),
    ("sessions-expunge-when", "'* 2 EXPUNGE'\n  - '* 1 EXPUNGE'", "'* 1 EXPUNGE'\n  - '* 2 EXPUNGE'"),
    ("select-kinds", "{v12}", "{v1}"),
    ("sync-restart", "UIDVALIDITY {v1}", "UIDVALIDITY {v9}"),
    ("idle-changes", "'* 2 EXPUNGE'", "'* 3 EXPUNGE'"),
    ("list-attributes", "\\Noinferiors \\Sent \\Unmarked", "\\Noinferiors \\Unmarked"),
    ("status-items", "UNSEEN 1", "UNSEEN 2"),
    ("flags-api-fails", "unread: true", "unread: false"),
    ("write-expunge-inbox-orphans", "- All Mail\n", "- All Mail\n      - Trash\n"),
    ("sync-offline", "imap port: refuses connections", "imap port: open"),
    ("identity-over-everything", "UIDVALIDITY {v7}", "UIDVALIDITY {v6}"),
    ("smtp-greeting-and-auth", "503 5.5.1 Already authenticated", "235 2.0.0 Authentication succeeded"),
    ("smtp-data-bytes", "250 2.0.0 Session reset", "501 5.5.2 Bad command"),
    ("smtp-data-bytes", "external_id: utf8@c", "external_id: utf9@c"),
    ("smtp-recipients-header-against-rcpt", "C@example.com: clear", "c@example.com: internal"),
    ("smtp-throttle", "- wait: 21", "- wait: 2"),
    ("smtp-sender-poisons", "context deadline exceeded", "context deadline"),
    ("smtp-client-drops", "new1:\n      in:\n      - All Mail\n      - AllSent", "new1:\n      in:\n      - All Mail"),
    ("send-plain", 'Reply-To: \\"Alice\\" <alice@proton.local>', "Reply-To: <alice@proton.local>"),
    ("send-duplicate-expires", "- wait: 40", "- wait: 10"),
    ("send-duplicate-30min", "Subject: same", "Subject: other"),
    ("send-bcc", "bob@proton.local: internal", "bob@proton.local: clear"),
    ("send-attachments", "text/calendar; charset=UTF-8; method=REQUEST", "text/calendar"),
    ("send-stored-draft", "'* 2 EXPUNGE'", "'* 1 EXPUNGE'"),
    ("send-answer-lost", "Mode: after-drop", "Mode: drop"),
    ("send-done-but-refused", "subject: out", "subject: in"),
    ("send-network-lost-during-send", "(connection closed)", "250 2.0.0 OK: queued"),
    ("reply-by-message-id", "parent: '{id:q}'", "parent: ''"),
    ("append-sent-mail-to-drafts", '"Sent" (MESSAGES 1)', '"Sent" (MESSAGES 2)'),
    ("append-sent-during-send", "[APPENDUID {v1} 2]", "[APPENDUID {v1} 3]"),
    ("latency-stock", "seen: MESSAGES 3", "seen: MESSAGES 4"),
]


@pytest.mark.parametrize(("name", "old", "new"), CHANGES, ids=lambda value: str(value)[:30])
async def test_a_recording_that_tells_something_else_is_found_out(
    name: str, old: str, new: str, tmp_path: Path, certificate: Certificate
) -> None:
    text = (HERE / "recordings" / f"{name}.yaml").read_text(encoding="utf-8")
    head, steps = text.split("\nsteps:\n")
    assert old in steps
    # The last place, because a name that is bound for the first time fits anything.
    before, _, after = steps.rpartition(old)
    changed = tmp_path / "changed.yaml"
    changed.write_text(f"{head}\nsteps:\n{before}{new}{after}", encoding="utf-8")
    assert await replay_file(changed, certificate)


async def test_replay_reports_each_difference_with_file_and_step_and_answers_one(tmp_path: Path) -> None:
    good = HERE / "recordings" / "connect-plaintext-login.yaml"
    changed = tmp_path / "mine.yaml"
    changed.write_text(good.read_text(encoding="utf-8").replace("a3 OK LOGOUT", "a3 OK BYE"), encoding="utf-8")
    said: list[str] = []
    assert await replay([good], said.append) == 0
    assert not said
    assert await replay([good, changed], said.append) == 1
    assert len(said) == 1
    assert "mine.yaml, step 4" in said[0]
    assert "a3 OK BYE" in said[0]
    assert "a3 OK LOGOUT" in said[0]


@pytest.mark.parametrize("content", ["", "[]", "a: [", "name: x\n"], ids=["empty", "list", "no yaml", "no steps"])
async def test_replay_says_of_a_file_that_is_no_recording_that_it_is_none(content: str, tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(content)
    said: list[str] = []
    assert await replay([path], said.append) == 1
    assert "other.yaml" in said[0]


def test_steps_that_ran_together_begin_the_earlier_the_longer_they_took() -> None:
    steps: list[dict[str, Any]] = [
        {"c": "s", "send": "MAIL"}, {"open": "c"}, {"c": "b", "send": "MAIL"}, {"c": "a", "send": "NOOP"},
        {"c": "s", "send": "DATA", "took": 6}, {"c": "c", "send": "AUTH", "took": 5},
    ]  # fmt: skip
    begun = [one.get("send", "open") for one in in_order_of_start(steps)]
    assert begun == ["MAIL", "DATA", "open", "AUTH", "MAIL", "NOOP"]


STEP_THAT_MAKES_NO_SENSE = """
given: {users: 'alice:alice'}
steps:
- {open: a, proto: imap, tls: false, got: ['* OK']}
- {elsewhere: {label-delete: {label: Folders/Nowhere}}}
- {frobnicate: 3}
- {bridge: {melt: {}}}
- {c: a, send: NOOP, got: ['a1 OK command completed in {n} microsec.']}
- {c: z, got: []}
"""


async def test_a_step_that_makes_no_sense_is_a_difference_and_the_rest_is_played(
    tmp_path: Path, certificate: Certificate
) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(STEP_THAT_MAKES_NO_SENSE)
    assert [difference.step for difference in await replay_file(path, certificate)] == [1, 2, 3, 4]


async def test_events_come_by_themselves_when_a_recording_waits_long_enough(
    tmp_path: Path, certificate: Certificate
) -> None:
    path = tmp_path / "waits.yaml"
    message = "{key: m, in: [inbox], raw: 'Subject: x'}"
    path.write_text(
        "given: {users: 'alice:alice'}\nsteps:\n"
        "- {c: a, send: 'LOGIN {user} {password}', got: []}\n- {c: a, send: SELECT INBOX, got: []}\n"
        f"- {{elsewhere: {{message: {message}}}}}\n- {{wait: 1}}\n- {{c: a, send: NOOP, got: []}}\n"
        "- {wait: 4}\n- {c: a, send: NOOP, got: []}\n"
    )
    got = {difference.step: difference.got for difference in await replay_file(path, certificate)}
    assert got[5].startswith("a3 OK")
    assert got[7] == "* 1 EXISTS"
