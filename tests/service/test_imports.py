"""Imports: what is in the owner's files comes into a mailbox once, and what is not imported is told."""

from __future__ import annotations

import mailbox
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mcp_proton.domain.errors import Ambiguous, Unavailable
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from mcp_proton.services.acting import batches
from mcp_proton.storage.folders import mail_sources
from mcp_proton.storage.folders.mail_files import FileMailFiles
from mcp_proton.testing.outgoing import OutgoingFault

from .conftest import House, held, letter


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "Mail"
    made.mkdir()
    return made


@pytest.fixture
def house(folder: Path) -> House:
    made = House(files=FileMailFiles(exports=lambda: [folder], imports=lambda: [folder]))
    allow(made, folder)
    return made


def allow(house: House, folder: Path, preset: str = "autonomous") -> None:
    directories = {"export_directories": [str(folder)], "import_directories": [str(folder)]}
    house.rules(preset=preset, boundaries=directories)


def mails(house: House, path: str = "Archive") -> list[bytes]:
    return [stored.mail.raw for stored in house.personal.boxes[path].mail.values()]


def mbox(path: Path, letters: Sequence[bytes], when: str = "Mon Nov 30 10:00:00 2020") -> Path:
    path.write_bytes(
        b"".join(f"From anna@example.org {when}\n".encode() + one.replace(b"\r\n", b"\n") + b"\n" for one in letters)
    )
    return path


async def bring(house: House, path: Path, **more: Any) -> dict[str, Any]:
    return await house.ask("imports_create", **{"path": str(path), "to": "archive", **more})


async def test_a_file_comes_in_as_it_is(house: House, folder: Path) -> None:
    """P-63."""
    (folder / "one.eml").write_bytes(letter("One", "€ café", message_id="<1@x>"))
    answer = await bring(house, folder / "one.eml")
    assert (answer["status"], answer["kind"], answer["done"]) == ("ok", "EML file", 1)
    assert mails(house) == [letter("One", "€ café", message_id="<1@x>")]
    found = house.personal.find(Handle.parse(answer["handles"][0]))
    assert found.mail.received == datetime(2026, 11, 30, 10, tzinfo=UTC)


async def test_an_mbox_comes_in_with_flags_and_dates(house: House, folder: Path) -> None:
    """P-63: `From ` lines inside a text are no new message, quoted ones are unquoted."""
    one = letter(
        "One", "Dear all,\n\nFrom Monday on\n>From there", message_id="<1@x>", more="Status: RO\nX-Status: AF\n"
    )
    two = letter("Two", message_id="<2@x>")
    mbox(
        folder / "old.mbox",
        [one.replace(b"\nFrom Monday", b"\n>From Monday").replace(b"\n>From there", b"\n>>From there"), two],
    )
    answer = await bring(house, folder / "old.mbox")
    assert (answer["status"], answer["kind"], answer["done"]) == ("ok", "mbox", 2)
    first, second = house.personal.boxes["Archive"].mail.values()
    assert first.mail.raw == letter("One", "Dear all,\n\nFrom Monday on\n>From there", message_id="<1@x>")
    assert first.mail.flags == {"seen", "answered", "flagged"}
    assert first.mail.received == datetime(2020, 11, 30, 10, tzinfo=UTC)
    assert second.mail.raw == two


async def test_a_maildir_comes_in(house: House, folder: Path) -> None:
    """P-63."""
    box = mailbox.Maildir(folder / "Maildir", create=True)
    message = mailbox.MaildirMessage(letter("One", message_id="<1@x>").replace(b"\r\n", b"\n"))
    message.set_flags("SF")
    message.set_subdir("cur")
    key = box.add(message)
    trashed = mailbox.MaildirMessage(letter("Gone", message_id="<2@x>"))
    trashed.set_flags("T")
    trashed.set_subdir("cur")
    box.add(trashed)
    stamp = time.mktime((2021, 1, 2, 3, 4, 5, 0, 0, -1))
    (path,) = [one for one in (folder / "Maildir" / "cur").iterdir() if one.name.startswith(key)]
    os.utime(path, (stamp, stamp))
    answer = await bring(house, folder / "Maildir")
    assert (answer["kind"], answer["done"]) == ("Maildir", 1)
    (stored,) = house.personal.boxes["Archive"].mail.values()
    assert stored.mail.raw == letter("One", message_id="<1@x>")
    assert stored.mail.flags == {"seen", "flagged"}
    assert stored.mail.received.timestamp() == stamp
    assert [one["code"] for one in answer["not_done"]] == ["marked_deleted"]


@pytest.mark.parametrize("form", ["eml", "mbox"])
async def test_an_export_comes_back_as_it_was(house: House, folder: Path, form: str) -> None:
    """P-63: octets (mbox: but for the line ends of the last line), dates and flags."""
    for number in range(3):
        when = datetime(2020, 1, 1 + number, tzinfo=UTC)
        flags = frozenset({"seen", "flagged"} if number else {"answered"})
        house.personal.add(
            "INBOX", letter(f"L{number}", "\nFrom me\n\n", message_id=f"<{number}@x>"), received=when, flags=flags
        )
    before = {(one.mail.raw, one.mail.received, one.mail.flags) for one in house.personal.boxes["INBOX"].mail.values()}
    handles = [str(one.handle) for one in await all_of(house, "INBOX")]
    exported = await house.ask("exports_create", messages=handles, folder=str(folder), name="all", format=form)
    house.personal.boxes["INBOX"].mail.clear()
    answer = await bring(house, Path(exported["path"]), to="inbox")
    assert (answer["status"], answer["done"]) == ("ok", 3)
    after = {(one.mail.raw, one.mail.received, one.mail.flags) for one in house.personal.boxes["INBOX"].mail.values()}
    assert after == before


async def all_of(house: House, path: str) -> Sequence[Any]:
    from mcp_proton.domain.ports import Page
    from mcp_proton.domain.query import All

    return (await house.personal.search([house.personal.boxes[path].mailbox], All(), Page(100))).rows


async def test_what_is_there_is_not_imported_again(house: House, folder: Path) -> None:
    """P-63, B-05: known by Message-ID; without one, by an id that the content gives."""
    nameless = letter("Nameless", message_id="<x>").replace(b"Message-ID: <x>\r\n", b"")
    mbox(folder / "old.mbox", [letter("One", message_id="<1@x>"), nameless, letter("Three", message_id="<3@x>")])
    house.personal.add("Archive", letter("One", message_id="<1@x>"))
    first = await bring(house, folder / "old.mbox")
    assert (first["done"], first["already"], first["made_ids"]) == (2, 1, 1)
    again = await bring(house, folder / "old.mbox")
    assert (again["status"], again.get("done", 0), again["already"]) == ("ok", 0, 3)
    assert held(house, "Archive") == 3


async def test_where_all_mail_is_shown_in_one_place_that_is_looked_at_too(house: House, folder: Path) -> None:
    """P-63: on Proton a message elsewhere in the account is the same message."""
    house.personal.add_mailbox("All Mail", Role.ALL)
    house.personal.add("All Mail", letter("One", message_id="<1@x>"))
    (folder / "one.eml").write_bytes(letter("One", message_id="<1@x>"))
    answer = await bring(house, folder / "one.eml")
    assert (answer.get("done", 0), answer["already"]) == (0, 1)


async def test_two_of_one_id_in_the_files_are_told_apart(house: House, folder: Path) -> None:
    same, other = letter("One", message_id="<1@x>"), letter("Other", message_id="<1@x>")
    mbox(folder / "old.mbox", [same, same, other])
    answer = await bring(house, folder / "old.mbox")
    assert (answer["done"], answer["already"]) == (1, 1)
    assert [(one["number"], one["code"]) for one in answer["not_done"]] == [(3, "same_message_id")]


async def test_lines_that_name_an_occurrence_of_the_server_are_not_given_back_to_it(house: House, folder: Path) -> None:
    """B-05: an X-Pm-Gluon-Id would move another message, and throw this one away."""
    more = "X-Pm-Internal-Id: abc==\nX-Pm-Gluon-Id: 0\n folded\nContent-Length: 7\nX-Own: kept\n"
    (folder / "one.eml").write_bytes(letter("One", message_id="<1@x>", more=more))
    await bring(house, folder / "one.eml")
    assert mails(house) == [letter("One", message_id="<1@x>", more="X-Own: kept\n")]


async def test_a_missing_date_and_id_are_made_and_nothing_else_is_changed(house: House, folder: Path) -> None:
    mbox(folder / "old.mbox", [b"From: a@b\nSubject: bare\n\ntext\n"])
    answer = await bring(house, folder / "old.mbox")
    (raw,) = mails(house)
    assert answer["made_ids"] == 1
    assert raw.endswith(b"From: a@b\r\nSubject: bare\r\n\r\ntext\r\n")
    assert b"Date: Mon, 30 Nov 2020 10:00:00 +0000\r\n" in raw


@pytest.mark.parametrize("ends", [b"\n", b"\r", b"\r\n"])
async def test_every_line_end_becomes_the_wires_own(house: House, folder: Path, ends: bytes) -> None:
    (folder / "one.eml").write_bytes(letter("One", "a\n\n.\nb", message_id="<1@x>").replace(b"\r\n", ends))
    await bring(house, folder / "one.eml")
    assert mails(house) == [letter("One", "a\n\n.\nb", message_id="<1@x>")]


async def test_hostile_files_are_refused_in_words(house: House, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-95: links, pipes, devices, binary, empty, endless headers and lines, and ten gigabytes of nothing."""
    monkeypatch.setattr(mail_sources.incoming, "LONGEST_HEADER", 4096)
    outside = folder.parent / "outside.eml"
    outside.write_bytes(letter("Secret"))
    (folder / "link.eml").symlink_to(outside)
    (folder / "up").symlink_to(folder.parent)
    os.mkfifo(folder / "pipe.eml")
    (folder / "empty.eml").write_bytes(b"")
    (folder / "binary.eml").write_bytes(bytes(range(256)) * 100)
    (folder / "endless.eml").write_bytes(b"Subject: " + b"x" * 100_000)
    (folder / "nothing").mkdir()
    monkeypatch.setattr(mail_sources, "LONGEST_GAP", 8 << 20)
    for name, begin in (("sparse.eml", b""), ("sparse.mbox", b"From a@b Mon Nov 30 10:00:00 2026\nFrom: a@b\n\n")):
        with (folder / name).open("wb") as file:
            file.write(begin)
            file.truncate(10 << 30)
    names = [
        "link.eml",
        "pipe.eml",
        "empty.eml",
        "binary.eml",
        "endless.eml",
        "nothing",
        "sparse.eml",
        "sparse.mbox",
        "none.eml",
        "up/outside.eml",
    ]
    for name in names:
        answer = await bring(house, folder / name)
        assert answer["status"] in ("refused", "not_found", "not_done"), (name, answer)
        assert answer["code"], name
    assert held(house, "Archive") == 0


async def test_a_folder_of_mail_skips_what_is_no_mail_and_says_so(house: House, folder: Path) -> None:
    """P-63: partial failure is told per message."""
    place = folder / "letters"
    place.mkdir()
    (place / "a.eml").write_bytes(letter("A", message_id="<a@x>"))
    (place / "b.eml").write_bytes(b"\x00\x01\x02")
    (place / "c.eml").write_bytes(letter("C", message_id="<c@x>"))
    (place / "link.eml").symlink_to("/etc/passwd")
    (place / "notes.txt").write_text("no mail")
    answer = await bring(house, place)
    assert (answer["status"], answer["done"]) == ("partly_done", 2)
    assert [(one["number"], one["file"], one["code"]) for one in answer["not_done"]] == [(2, "b.eml", "no_message")]


async def test_nothing_outside_the_owners_folders_is_read(house: House, folder: Path) -> None:
    """P-95."""
    (folder.parent / "one.eml").write_bytes(letter())
    for path in (folder.parent / "one.eml", folder / ".." / "one.eml", Path("/etc/passwd")):
        answer = await bring(house, path)
        assert answer["status"] == "refused", path
    assert not mails(house)


async def test_the_owner_is_asked_with_counts_and_files_that_change_void_the_answer(house: House, folder: Path) -> None:
    """P-35."""
    allow(house, folder, "assistant")
    mbox(folder / "old.mbox", [letter("One", message_id="<1@x>"), letter("Two", message_id="<2@x>")])
    answer = await bring(house, folder / "old.mbox")
    assert answer["status"] == "approval_pending"
    planned = await house.service.review(answer["operation_id"])
    text = " ".join(f"{line.label} {line.value}" for line in planned.review)
    assert "2 in this mbox" in text
    assert "Archive" in text
    assert str(folder) in text
    await house.owner_asks("approvals_approve", operation_id=answer["operation_id"])
    mbox(folder / "old.mbox", [letter("One", message_id="<1@x>"), letter("Evil", message_id="<2@x>")])
    done = await house.ask("operations_resume", operation_id=answer["operation_id"])
    assert (done["status"], done["code"]) == ("conflict", "changed_since_approval")
    assert not mails(house)


async def test_what_the_caller_puts_into_our_fields_is_thrown_away(house: House, folder: Path) -> None:
    other = house.receive("Other")
    (folder / "one.eml").write_bytes(letter("One", message_id="<1@x>"))
    answer = await bring(house, folder / "one.eml", messages=[str(other)], stamp="x")
    assert (answer["status"], answer["done"]) == ("ok", 1)


async def test_a_preview_counts_and_imports_nothing(house: House, folder: Path) -> None:
    (folder / "one.eml").write_bytes(letter("One", message_id="<1@x>"))
    answer = await bring(house, folder / "one.eml", preview=True)
    assert answer["status"] == "ok"
    assert not mails(house)


@pytest.mark.parametrize("fault", [OutgoingFault.LOST_BEFORE, OutgoingFault.LOST_AFTER])
async def test_a_lost_answer_is_looked_for_and_never_repeated(
    house: House, folder: Path, monkeypatch: pytest.MonkeyPatch, fault: OutgoingFault
) -> None:
    """N-16: at once it is uncertain, and asking again does not import it; then it is known."""
    (folder / "one.eml").write_bytes(letter("One", message_id="<1@x>"))
    house.personal.outgoing.append_fault = fault
    answer = await bring(house, folder / "one.eml")
    assert (answer["status"], answer["uncertain"]) == ("unsure", 1)
    house.personal.outgoing.append_fault = None
    there = fault is OutgoingFault.LOST_AFTER
    again = await bring(house, folder / "one.eml")
    assert (again.get("already", 0), again.get("done", 0)) == (int(there), 0)
    assert there or [one["code"] for one in again["not_done"]] == ["not_settled"]
    house.clock.wind(minutes=2)
    told = await house.ask("operations_status", operation_id=answer["operation_id"], items=True)
    assert told["state"] == ("succeeded" if there else "failed")
    final = await bring(house, folder / "one.eml")
    assert final["status"] == "ok"
    assert held(house, "Archive") == 1


async def test_one_that_the_server_refuses_does_not_keep_the_others_out(
    house: House, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mbox(
        folder / "old.mbox",
        [letter(f"L{number}", "x" * 10 * number, message_id=f"<{number}@x>") for number in range(4)],
    )
    append = house.personal.append

    async def refusing(box: Any, mail: Any, **more: Any) -> Any:
        raw = b"".join([chunk async for chunk in mail.chunks()])
        if b"L2" in raw:
            raise Ambiguous("the answer was lost")
        return await append(box, mail, **more)

    monkeypatch.setattr(house.personal, "append", refusing)
    answer = await bring(house, folder / "old.mbox")
    assert (answer["done"], answer["uncertain"]) == (3, 1)


async def test_an_account_that_cannot_be_reached_stops_the_rest(
    house: House, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "CHUNK", 2)
    mbox(folder / "old.mbox", [letter(f"L{number}", message_id=f"<{number}@x>") for number in range(6)])
    append, count = house.personal.append, 0

    async def failing(box: Any, mail: Any, **more: Any) -> Any:
        nonlocal count
        count += 1
        if count > 2:
            raise Unavailable("the mail server cannot be reached")
        return await append(box, mail, **more)

    monkeypatch.setattr(house.personal, "append", failing)
    answer = await bring(house, folder / "old.mbox")
    assert (answer["status"], answer["done"]) == ("partly_done", 2)
    assert count == 3
    monkeypatch.undo()
    again = await bring(house, folder / "old.mbox")
    assert (again["done"], again["already"]) == (4, 2)
    assert held(house, "Archive") == 6


async def test_what_the_server_made_two_of_is_told(house: House, folder: Path) -> None:
    """B-05: Bridge repeats a call of its own after a broken connection; nothing is deleted by itself."""
    (folder / "one.eml").write_bytes(letter("One", message_id="<1@x>"))
    answer = await bring(house, folder / "one.eml")
    house.personal.add("Archive", letter("One", message_id="<1@x>"))
    house.clock.wind(minutes=2)
    told = await house.ask("operations_status", operation_id=answer["operation_id"], items=True)
    assert told["items"][0]["code"] == "doubled"
    assert held(house, "Archive") == 2


async def test_into_drafts_is_judged_as_drafts_too(house: House, folder: Path) -> None:
    (folder / "one.eml").write_bytes(letter("One", message_id="<1@x>"))
    directories = {"import_directories": [str(folder)]}
    house.rules(preset="autonomous", boundaries=directories, rules=[{"effect": "draft", "verdict": "deny"}])
    answer = await bring(house, folder / "one.eml", to="drafts")
    assert (answer["status"], answer["code"]) == ("refused", "policy_denied")
    assert not mails(house, "Drafts")
    assert (await bring(house, folder / "one.eml"))["done"] == 1


async def undone(house: House, told: dict[str, Any]) -> dict[str, Any]:
    return await house.ask("operations_undo", operation_id=told["operation_id"])


async def test_an_import_is_taken_back(house: House, folder: Path) -> None:
    """P-76: what it put there goes into Trash; what was there before, under the same Message-ID, stays."""
    house.personal.add("Archive", letter("Old", message_id="<0@x>"))
    told = await bring(house, mbox(folder / "old.mbox", [letter(f"L{n}", message_id=f"<{n}@x>") for n in range(3)]))
    assert (told["done"], told["already"]) == (2, 1)
    back = await undone(house, told)
    assert (back["status"], back["done"]) == ("ok", 2)
    assert mails(house) == [letter("Old", message_id="<0@x>")]
    assert sorted(mails(house, "Trash")) == [letter(f"L{n}", message_id=f"<{n}@x>") for n in (1, 2)]
    again = await undone(house, told)
    assert (again["status"], again["code"]) == ("stale", "stale_handle")
    assert len(mails(house, "Trash")) == 2


async def test_taking_an_import_back_can_be_taken_back(house: House, folder: Path) -> None:
    told = await bring(house, mbox(folder / "old.mbox", [letter("One", message_id="<1@x>")]))
    back = await undone(house, told)
    assert (await undone(house, back))["status"] == "ok"
    assert (len(mails(house)), mails(house, "Trash")) == (1, [])


async def test_what_somebody_moved_since_the_import_stays_where_it_is(house: House, folder: Path) -> None:
    told = await bring(house, mbox(folder / "old.mbox", [letter(f"L{n}", message_id=f"<{n}@x>") for n in range(2)]))
    await house.ask("messages_move", messages=told["handles"][:1], to="inbox")
    back = await undone(house, told)
    assert (back["status"], back["done"]) == ("partly_done", 1)
    assert [one["code"] for one in back["not_done"]] == ["stale_handle"]
    assert (len(mails(house, "INBOX")), len(mails(house, "Trash"))) == (1, 1)


async def test_what_was_found_elsewhere_when_looked_at_is_not_taken_back(house: House, folder: Path) -> None:
    """It was moved before anybody had looked: its place by now is somebody's choice."""
    house.personal.add_mailbox("All", Role.ALL)
    told = await bring(house, mbox(folder / "old.mbox", [letter("One", message_id="<1@x>")]))
    house.personal.add("All", letter("One", message_id="<1@x>"))
    await house.ask("messages_move", messages=told["handles"], to="inbox")
    house.clock.wind(seconds=120)
    await house.ask("operations_status", operation_id=told["operation_id"])
    back = await undone(house, told)
    assert back["code"] == "irreversible"
    assert (len(mails(house, "All")), len(mails(house, "INBOX")), mails(house, "Trash")) == (1, 1, [])


async def test_what_is_uncertain_is_not_taken_back_before_it_is_known(
    house: House, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """N-16: it may be there or not. Once it is seen, it is taken back too."""
    append = house.personal.append

    async def losing(box: Any, mail: Any, **more: Any) -> Any:
        if b"L1" in b"".join([chunk async for chunk in mail.chunks()]):
            raise Ambiguous("the answer was lost")
        return await append(box, mail, **more)

    monkeypatch.setattr(house.personal, "append", losing)
    told = await bring(house, mbox(folder / "old.mbox", [letter(f"L{n}", message_id=f"<{n}@x>") for n in range(2)]))
    assert (told["done"], told["uncertain"]) == (1, 1)
    back = await undone(house, told)
    assert (back["status"], back["done"]) == ("ok", 1)
    assert "not known yet" in back["next"]
    house.personal.add("Archive", letter("L1", message_id="<1@x>"))
    house.clock.wind(minutes=2)
    rest = await undone(house, told)
    assert rest["done"] == 1, rest
    assert "next" not in rest
    assert (mails(house), len(mails(house, "Trash"))) == ([], 2)


async def test_taking_an_import_back_is_judged(house: House, folder: Path) -> None:
    told = await bring(house, mbox(folder / "old.mbox", [letter("One", message_id="<1@x>")]))
    allow(house, folder, "reader")
    assert (await undone(house, told))["status"] == "refused"
    assert len(mails(house)) == 1


async def test_a_preview_of_an_import_says_that_it_can_be_taken_back(house: House, folder: Path) -> None:
    shown = await bring(house, mbox(folder / "old.mbox", [letter("One", message_id="<1@x>")]), preview=True)
    assert "operations_undo" in shown["undo"]
