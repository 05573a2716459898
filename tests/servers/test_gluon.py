"""Proton's engine with a made-up account behind it: it shows, moves, loses and refuses mail as a Bridge does."""

from __future__ import annotations

import hashlib
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.simulator.given import GivenLabel, GivenMessage, GivenUser
from tests.servers.append import AppendRefusedError
from tests.servers.gluon_session import Session, login, places, shown, subjects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.gluon_server import Gluon, GluonServer

# The first run builds the program, which takes minutes.
pytestmark = [pytest.mark.server, pytest.mark.process, pytest.mark.timeout(900)]

MAIL = (
    b"From: Bob <bob@example.com>\nTo: alice@proton.local\nSubject: %s\nDate: Mon, 02 Jan 2023 10:00:00 +0000\n\nHi\n"
)
LABELS = [GivenLabel.from_path(path) for path in ("Folders/Work", "Folders/Work/2023", "Labels/Blue")]
CAPABILITIES = b"[CAPABILITY AUTH=PLAIN ID IDLE IMAP4rev1 MOVE STARTTLS UIDPLUS UNSELECT]"


def mail(key: str, *places: str, **how: Any) -> GivenMessage:
    return GivenMessage(MAIL % key.encode(), places or ("inbox",), key=key, **how)


@pytest.fixture
def bridge(gluon_server: GluonServer) -> Iterator[Gluon]:
    """Two mails in INBOX, one in Trash, one in Trash with a label."""
    messages = [mail("old"), mail("new"), mail("doomed", "trash"), mail("held", "trash", "Labels/Blue")]
    with gluon_server.bridge([GivenUser("alice", ["alice@proton.local"], LABELS, messages)], model="fake") as one:
        yield one


# -- connections


def test_the_greeting_and_the_capabilities_are_those_of_bridge(gluon: Gluon) -> None:
    with socket.create_connection((gluon.host, gluon.imap_port), timeout=10) as plain:
        said = plain.recv(1000)
        assert said == b"* OK " + CAPABILITIES + b" Proton Mail Bridge 03.21.01 - gluon session ID 1\r\n"
        plain.sendall(b"a CAPABILITY\r\n")
        assert plain.recv(1000).startswith(b"* CAPABILITY AUTH=PLAIN ID IDLE IMAP4rev1 STARTTLS\r\n")


def test_starttls_shows_the_certificate_announced_which_is_for_the_address_and_no_name(gluon: Gluon) -> None:
    """B-03: what is pinned is what the port shows; `localhost` can't be verified."""
    with socket.create_connection((gluon.host, gluon.imap_port), timeout=10) as plain:
        plain.recv(1000)
        plain.sendall(b"a STARTTLS\r\n")
        plain.recv(1000)
        context = ssl.create_default_context(cadata=gluon.certificate_pem)
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as encrypted:
            found = encrypted.getpeercert(binary_form=True)
            assert found is not None
            assert hashlib.sha256(found).hexdigest() == gluon.certificate_sha256
            assert encrypted.getpeercert()["subjectAltName"] == (("IP Address", "127.0.0.1"),)  # type: ignore[index]


def test_a_refused_login_says_no_such_user_and_every_third_time_too_many_attempts(gluon: Gluon) -> None:
    said = []
    for _ in range(6):
        with pytest.raises(AppendRefusedError) as refused:
            Session(gluon.host, gluon.imap_port, gluon.username, "wrong")
        said.append(str(refused.value).split(" NO ")[1])
    assert said == 2 * ["no such user", "no such user", "too many login attempts"]
    with Session(gluon.host, gluon.imap_port, gluon.username.upper(), gluon.password):
        pass


def test_idle_and_authenticate_can_be_taken_out_of_the_capabilities(gluon: Gluon) -> None:
    gluon.offer_idle(on=False)
    gluon.withdraw_authenticate()
    gluon.restart()
    gluon.restart()
    with login(gluon) as session:
        assert session.command(b"CAPABILITY")[0] == b"* CAPABILITY ID IMAP4rev1 MOVE STARTTLS UIDPLUS UNSELECT\r\n"


def test_two_bridges_know_nothing_of_each_other(gluon_server: GluonServer, gluon: Gluon) -> None:
    with gluon_server.bridge() as other:
        other.deliver(MAIL % b"theirs")
        other.events()
        assert (other.password, other.imap_port) != (gluon.password, gluon.imap_port)
        assert subjects(other, "INBOX") == {"theirs"}
        assert subjects(gluon, "INBOX") == set()
        with pytest.raises(AppendRefusedError, match="no such user"):
            Session(gluon.host, gluon.imap_port, other.username, other.password)


# -- the tree


def test_the_tree_has_bridges_names_and_attributes(bridge: Gluon) -> None:
    """B-01: the places by their SPECIAL-USE attributes, the nodes, the owner's folders and labels."""
    with login(bridge) as session:
        lines = session.command(b'LIST "" *')
    found = {}
    for line in lines:
        attributes, _, name = line.decode().strip().removeprefix("* LIST (").partition(') "/" ')
        found[name.strip('"')] = set(attributes.split()) - {"\\Marked", "\\Unmarked"}
    special = {
        "INBOX": None, "Drafts": "\\Drafts", "Sent": "\\Sent", "Starred": "\\Flagged", "Archive": "\\Archive",
        "Spam": "\\Junk", "Trash": "\\Trash", "All Mail": "\\All",
    }  # fmt: skip
    expected = {name: {"\\Noinferiors", role} - {None} for name, role in special.items()}
    expected |= {"Folders": {"\\Noselect"}, "Labels": {"\\Noselect"}}
    expected |= {"Folders/Work": set(), "Folders/Work/2023": set(), "Labels/Blue": set()}
    assert found == expected


def test_folders_and_labels_are_made_renamed_and_deleted_both_ways(bridge: Gluon) -> None:
    with login(bridge) as session:
        session.command(b"CREATE Folders/Tax/2024")
        session.command(b"RENAME Folders/Work Folders/Job")
        bridge.elsewhere("change label", path="Labels/Blue", name="Red")
        bridge.elsewhere("delete label", path="Folders/Tax")
        bridge.add_label("Labels/Green")
        bridge.events()
        names = {line.split(b' "/" ')[1].strip().strip(b'"').decode() for line in session.command(b'LIST "" *')}
        assert {name for name in names if "/" in name} == {
            "Folders/Job", "Folders/Job/2023", "Labels/Red", "Labels/Green",
        }  # fmt: skip
        with pytest.raises(AppendRefusedError, match=r'invalid mailbox name \["Mine"\]: operation not allowed'):
            session.command(b"CREATE Mine")
        with pytest.raises(AppendRefusedError, match="a label cannot have children"):
            session.command(b"CREATE Labels/a/b")


def test_the_first_sync_numbers_from_the_newest_message_on_and_later_mail_upwards(bridge: Gluon) -> None:
    """N-8: UIDs say nothing about dates."""
    assert shown(bridge, "INBOX") == [(1, "new"), (2, "old")]
    bridge.deliver(MAIL % b"latest")
    bridge.events()
    assert shown(bridge, "INBOX") == [(1, "new"), (2, "old"), (3, "latest")]


# -- flags, and what a message carries


def test_flags_go_both_ways_and_answered_only_one(bridge: Gluon) -> None:
    with login(bridge, "INBOX") as session:
        session.command(b"UID STORE 1 +FLAGS (\\Seen \\Flagged \\Answered $Forwarded)")
        told = bridge.state()["new"]
        assert told["unread"] is False
        assert told["flags"] == ["forwarded", "received"]
        assert places(bridge, "new") == {"Inbox", "Starred"}
        bridge.elsewhere("mark read", "new", on=False)
        bridge.elsewhere("set flag", "old", flag="replied", on=True)
        bridge.events()
        time.sleep(0.05)
        session.command(b"NOOP")
        lines = session.command(b"UID FETCH 1:2 (FLAGS)")
    flags = {
        line.split(b"UID ")[1][:1]: set(line.split(b"(")[2].split(b")")[0].split()) for line in lines if b"UID" in line
    }
    assert flags[b"1"] - {b"\\Recent"} == {b"\\Flagged", b"$Forwarded", b"Forwarded"}
    assert flags[b"2"] - {b"\\Recent"} == {b"\\Answered"}


def test_a_message_carries_its_identity_whatever_its_own_header_said(gluon: Gluon) -> None:
    """B-05: X-Pm-Internal-Id is the account's id in every mailbox; the internal id is the last reference."""
    own = b"Message-ID: <m@x>\nReferences: <a@x>\nX-Pm-Internal-Id: lie\nDate: Tue, 03 Jan 2023 10:00:00 +0000\n\nHi\n"
    number = gluon.deliver(own)
    gluon.events()
    with login(gluon) as session:
        session.command(b'EXAMINE "All Mail"')
        text = b"".join(session.command(b"FETCH 1 (INTERNALDATE BODY.PEEK[])")).decode()
    assert f"X-Pm-Internal-Id: {number}\r\n" in text
    assert "X-Pm-External-Id: <m@x>\r\n" in text
    assert "X-Pm-Date: Tue, 03 Jan 2023 10:00:00 +0000\r\n" in text
    assert f"References: <a@x> <{number}@protonmail.internalid>\r\n" in text.replace("\r\n ", " ")
    assert '"03-Jan-2023 10:00:00 +0000"' in text
    assert "lie" not in text


# -- what changes do


def test_a_copy_into_a_folder_moves_and_the_source_shows_it_until_the_event(bridge: Gluon) -> None:
    """N-10: COPY is the server's label call, and a place is exclusive."""
    with login(bridge, "INBOX") as session:
        session.command(b"UID COPY 1 Folders/Work")
    assert places(bridge, "new") == {"Folders/Work"}
    assert subjects(bridge, "INBOX") == {"old", "new"}
    bridge.events()
    assert subjects(bridge, "INBOX") == {"old"}
    assert subjects(bridge, "Folders/Work") == {"new"}


def test_a_copy_to_a_label_adds_it_and_its_expunge_takes_it_away(bridge: Gluon) -> None:
    with login(bridge, "INBOX") as session:
        session.command(b"UID COPY 1 Labels/Blue")
        assert places(bridge, "new") == {"Inbox", "Labels/Blue"}
        session.command(b"SELECT Labels/Blue")
        session.command(b"UID STORE 1:* +FLAGS (\\Deleted)")
        session.command(b"EXPUNGE")
    assert places(bridge, "new") == {"Inbox"}
    assert places(bridge, "held") == {"Trash"}


def test_expunge_in_inbox_makes_an_orphan(bridge: Gluon) -> None:
    """B-06: not deleted, not in Trash: in All Mail only."""
    with login(bridge, "INBOX") as session:
        session.command(b"UID STORE 1 +FLAGS (\\Deleted)")
        session.command(b"UID EXPUNGE 1")
    assert places(bridge, "new") == set()
    bridge.events()
    assert "new" in subjects(bridge, "All Mail")


def test_expunge_in_trash_destroys_what_no_label_holds(bridge: Gluon) -> None:
    """B-06, N-10: the label saves it, without a place."""
    with login(bridge, "Trash") as session:
        session.command(b"STORE 1:* +FLAGS (\\Deleted)")
        session.command(b"EXPUNGE")
    assert "doomed" not in bridge.state()
    assert places(bridge, "held") == {"Labels/Blue"}


def test_a_label_made_elsewhere_that_bridge_has_not_heard_of_saves_nothing(bridge: Gluon) -> None:
    bridge.add_label("Labels/Unheard")
    bridge.elsewhere("label", "doomed", to="Labels/Unheard")
    with login(bridge, "Trash") as session:
        session.command(b"STORE 1:* +FLAGS (\\Deleted)")
        session.command(b"EXPUNGE")
    assert bridge.state().keys() == {"old", "new", "held"}


def test_a_move_to_trash_by_a_session_with_an_old_list_destroys(bridge: Gluon) -> None:
    """B-08: already there, and this session hasn't been told: the removal is all that happens, answered OK."""
    with login(bridge, "INBOX") as stale, login(bridge, "INBOX") as other:
        other.command(b"UID MOVE 1 Trash")
        answer = stale.command(b"UID MOVE 1 Trash")
    assert "new" not in bridge.state()
    assert not any(b"COPYUID" in line for line in answer)
    assert b"* 1 EXPUNGE\r\n" in answer


def test_after_a_noop_the_same_move_is_harmless(bridge: Gluon) -> None:
    with login(bridge, "INBOX") as stale, login(bridge, "INBOX") as other:
        other.command(b"UID MOVE 1 Trash")
        stale.command(b"NOOP")
        stale.command(b"UID MOVE 1 Trash")
    assert places(bridge, "new") == {"Trash"}


@pytest.mark.parametrize(("model", "left"), [("fake", {"Trash", "Labels/Blue", "Starred"}), ("real", {"Trash"})])
def test_trash_strips_labels_and_star_and_marks_read_in_the_real_account_only(
    gluon_server: GluonServer, model: Any, left: set[str]
) -> None:
    user = GivenUser("alice", ["alice@proton.local"], LABELS, [mail("m", "inbox", "Labels/Blue", "starred")])
    with gluon_server.bridge([user], model=model) as one:
        with login(one, "INBOX") as session:
            session.command(b"UID MOVE 1 Trash")
        assert places(one, "m") == left
        assert one.state()["m"]["unread"] is (model == "fake")


# -- found by comparing the engine with the simulator


def test_a_forbidden_copy_or_move_is_refused_even_if_no_message_is_named(bridge: Gluon) -> None:
    with login(bridge, "INBOX") as session:
        for command in (b'UID COPY 99 "All Mail"', b"UID MOVE 99 Sent"):
            with pytest.raises(AppendRefusedError, match="NO operation not allowed"):
                session.command(command)
        assert len(session.command(b"UID MOVE 99 Archive")) == 0


def test_a_replacing_store_is_kept_for_the_first_message_only_until_the_event(bridge: Gluon) -> None:
    """The server has it for all; other sessions of this Bridge see the others without any flag."""
    with login(bridge, "INBOX") as session:
        session.command(b"UID STORE 1:2 FLAGS (\\Seen)")
        assert {one["unread"] for key, one in bridge.state().items() if key in {"old", "new"}} == {False}
    with login(bridge, "INBOX") as session:
        assert session.command(b"UID SEARCH SEEN") == [b"* SEARCH 1\r\n"]
        bridge.events()
        time.sleep(0.05)
        session.command(b"NOOP")
        assert session.command(b"UID SEARCH SEEN") == [b"* SEARCH 1 2\r\n"]


def test_flags_set_by_others_are_told_without_a_uid_even_before_a_refusal_and_before_close(bridge: Gluon) -> None:
    with login(bridge, "INBOX") as session:
        for key, command, told in (
            ("old", b"UID SEARCH ALL", b"* 2 FETCH (FLAGS (\\Recent \\Seen))\r\n"),
            ("new", b'UID COPY 1 "All Mail"', b"* 1 FETCH (FLAGS (\\Recent \\Seen))\r\n"),
        ):
            bridge.elsewhere("mark read", key, on=True)
            bridge.events()
            time.sleep(0.05)
            assert told in session.every_line_of(command)
        bridge.elsewhere("mark read", "new", on=False)
        bridge.events()
        time.sleep(0.05)
        assert session.every_line_of(b"CLOSE")[0] == b"* 1 FETCH (FLAGS (\\Recent))\r\n"


def test_a_copy_into_the_same_mailbox_leaves_a_list_by_which_a_move_takes_the_new_copies_too(bridge: Gluon) -> None:
    with login(bridge, "Trash") as session:
        session.command(b"SELECT Labels/Blue")
        session.command(b"UID COPY 1 Labels/Blue")
        answer = session.command(b"UID MOVE 1:* Starred")
    assert answer.count(b"* 1 EXPUNGE\r\n") == 2
    assert shown(bridge, "Labels/Blue") == []


# -- what is made


def test_an_import_is_sent_mail_unless_somebody_received_it(gluon: Gluon) -> None:
    with login(gluon) as session:
        assert b"APPENDUID" in session.append_message("Archive", MAIL % b"mine", "\\Seen \\Flagged")
        assert b"APPENDUID" in session.append_message("Archive", b"Received: by x\n" + MAIL % b"theirs")
    told = {one["subject"]: one for one in gluon.state().values()}
    assert set(told["mine"]["in"]) == {"All Mail", "AllSent", "Archive", "Starred"}
    assert told["mine"]["unread"] is False
    assert told["theirs"]["flags"] == ["received"]


def test_a_draft_keeps_little_and_when_edited_elsewhere_it_is_a_new_message_of_the_same_id(gluon: Gluon) -> None:
    """B-09: From becomes the account's own, references are lost; an edit changes the UID and not the internal id."""
    with login(gluon) as session:
        session.append_message("Drafts", b"From: x@y\nTo: bob@example.com\nSubject: s\nIn-Reply-To: <a@b>\n\nfirst\n")
        session.command(b"SELECT Drafts")
        before = b"".join(session.command(b"UID FETCH 1:* (BODY.PEEK[])"))
        (key,) = gluon.state()
        gluon.events()
        gluon.elsewhere("edit", key, raw=b"From: x@y\nSubject: s\n\nsecond\n")
        gluon.events()
        session.command(b"SELECT Drafts")
        after = b"".join(session.command(b"UID FETCH 1:* (BODY.PEEK[])"))
    assert b"alice@proton.local" in before
    assert b"In-Reply-To" not in before
    assert b"UID 1)" in before
    assert b"first" in before
    assert b"UID 2)" in after
    assert b"second" in after
    assert all(f"X-Pm-Internal-Id: {key}".encode() in text for text in (before, after))


def test_what_the_api_refuses_to_import_is_kept_in_recovered_messages(gluon: Gluon) -> None:
    gluon.fail("messages/import", status=413, message="Mailbox is full")
    with login(gluon) as session:
        answer = session.append_message("INBOX", MAIL % b"m")
        assert b"NO failed to import message: failed to import messages: 413 POST https://" in answer
        assert b": Mailbox is full (Code=2001, Status=413)" in answer
    assert gluon.state() == {}
    assert subjects(gluon, "Recovered Messages") == {"m"}
