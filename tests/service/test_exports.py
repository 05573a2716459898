"""Exports: what is written into the owner's folders is whole, told, never doubled, and nothing else is touched."""

from __future__ import annotations

import hashlib
import json
import mailbox
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mcp_proton.services.operations import exports
from mcp_proton.storage.folders.mail_files import FileMailFiles

from .conftest import House, letter


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "Mail"
    made.mkdir()
    return made


def furnished(folder: Path, house: House | None = None) -> House:
    house = house or House()
    house = House(personal=house.personal, files=FileMailFiles(exports=lambda: [folder]))
    allow(house, folder)
    return house


def allow(house: House, folder: Path, **more: Any) -> None:
    house.rules(preset="autonomous", boundaries={"export_directories": [str(folder)], **more})


@pytest.fixture
def house(folder: Path) -> House:
    return furnished(folder)


def raw(house: House, handle: str) -> bytes:
    from mcp_proton.domain.handles import Handle

    return house.personal.find(Handle.parse(handle)).mail.raw


def manifest(answer: dict[str, Any]) -> list[dict[str, Any]]:
    head, *lines = map(json.loads, Path(answer["manifest"]).read_text().splitlines())
    assert head["manifest"] == 1
    return lines


async def test_eml_files_hold_the_octets_as_they_are(house: House, folder: Path) -> None:
    """P-63: and the manifest names each with its digest, date and flags."""
    one = house.receive("Plan", "€ café\nFrom here", message_id="<1@x>", seen=True)
    two = house.receive("Other", message_id="<2@x>")
    answer = await house.ask("exports_create", messages=[str(one), str(two)], folder=str(folder), name="backup")
    assert (answer["status"], answer["done"]) == ("ok", 2)
    lines = {line["handle"]: line for line in manifest(answer)}
    for handle in (one, two):
        octets = (Path(answer["path"]) / lines[str(handle)]["file"]).read_bytes()
        assert octets == raw(house, str(handle))
        assert lines[str(handle)]["sha256"] == hashlib.sha256(octets).hexdigest()
    assert lines[str(one)]["flags"] == ["seen"]
    assert datetime.fromisoformat(lines[str(one)]["received"]).tzinfo is not None


async def test_an_mbox_is_read_by_other_programs(house: House, folder: Path) -> None:
    """P-63: mboxrd, with the flags where mail programs look for them."""
    one = house.receive("One", "Dear all\nFrom Monday on\n>From there", message_id="<1@x>", seen=True)
    two = house.receive("Two", "no line end", message_id="<2@x>")
    answer = await house.ask(
        "exports_create", messages=[str(one), str(two)], folder=str(folder), format="mbox", name="all"
    )
    box = mailbox.mbox(answer["path"])
    assert [message["Subject"] for message in box] == ["One", "Two"]
    assert b"\n>From Monday on\n>>From there" in Path(answer["path"]).read_bytes()
    assert ["R" in message.get_flags() for message in box] == [True, False]
    assert box[0].get_from().startswith("anna@example.org ")
    box.close()
    assert Path(answer["path"]).name == "all.mbox"


@pytest.mark.parametrize("form", ["eml", "mbox"])
async def test_the_same_again_writes_nothing_twice(house: House, folder: Path, form: str) -> None:
    first = [str(house.receive(f"L{number}", message_id=f"<{number}@x>")) for number in range(5)]
    asked = {"folder": str(folder), "name": "all", "format": form}
    await house.ask("exports_create", messages=first[:3], **asked)
    before = tree(folder)
    again = await house.ask("exports_create", messages=first[:3], **asked)
    assert (again["status"], again["already"], again.get("done", 0)) == ("ok", 3, 0)
    assert tree(folder) == before
    more = await house.ask("exports_create", messages=first, **asked)
    assert (more["already"], more["done"]) == (3, 2)
    assert len(manifest(more)) == 5
    if form == "mbox":
        box = mailbox.mbox(more["path"])
        assert len(box) == 5
        box.close()


async def test_one_message_in_two_places_is_written_once(house: House, folder: Path) -> None:
    """P-63: duplicates are found by their digest."""
    one = house.receive("Same", message_id="<1@x>")
    two = house.personal.add("Archive", raw(house, str(one)))
    answer = await house.ask("exports_create", messages=[str(one), str(two)], folder=str(folder))
    assert (answer["done"], answer["already"]) == (1, 1)
    assert len(list(Path(answer["path"]).iterdir())) == 1


@pytest.mark.parametrize(
    "subject",
    [
        "../../etc/passwd",
        "CON",
        "a/b\\c:d*e?f",
        "x" * 400,
        "",
        "\u202egpj.exe",
        "...",
        "nul.txt",
        "a\x00b",
        ".hidden",
        "é" * 200,
    ],
)
async def test_no_subject_makes_a_name_that_is_not_safe(house: House, folder: Path, subject: str) -> None:
    """P-95: names are safe on every file system."""
    handle = house.receive(subject.replace("\n", " "), message_id="<1@x>")
    answer = await house.ask("exports_create", messages=[str(handle)], folder=str(folder))
    (made,) = Path(answer["path"]).iterdir()
    assert made.parent.parent == folder
    assert made.name.endswith(".eml")
    assert len(made.name.encode()) <= 255
    assert made.name.isprintable()
    assert not set(made.name) & set('<>:"/\\|?*')


async def test_nothing_outside_the_owners_folders_is_written(house: House, folder: Path, tmp_path: Path) -> None:
    """P-95: by no path, and by no link."""
    handle = str(house.receive())
    (folder / "link").symlink_to(tmp_path)
    for where in (tmp_path, folder / "..", folder / "link", Path("/")):
        answer = await house.ask("exports_create", messages=[handle], folder=str(where), name="x")
        assert answer["status"] == "refused", where
    assert sorted(one.name for one in tmp_path.iterdir()) == ["Mail"]
    climbing = await house.ask("exports_create", messages=[handle], folder=str(folder), name="../../x")
    assert Path(climbing["path"]).parent == folder


@pytest.mark.parametrize("form", ["eml", "mbox"])
async def test_nothing_is_ever_overwritten(house: House, folder: Path, form: str) -> None:
    handle = str(house.receive())
    taken = folder / ("mine" if form == "eml" else "mine.mbox")
    if form == "eml":
        taken.mkdir()
        (taken / "kept").write_text("kept")
    else:
        taken.write_text("kept")
    before = tree(folder)
    answer = await house.ask("exports_create", messages=[handle], folder=str(folder), name="mine", format=form)
    assert (answer["status"], answer["code"]) == ("conflict", "name_taken")
    assert tree(folder) == before


async def test_a_file_that_is_no_manifest_of_ours_stays_as_it_is(house: House, folder: Path) -> None:
    for content in (b"{}\n", b"no json", b'{"manifest": 1, "form": "mbox"}\n{"torn', b"\n" * 9, b"x" * 100_000):
        (folder / "mine.manifest.jsonl").write_bytes(content)
        answer = await house.ask("exports_create", messages=[str(house.receive())], folder=str(folder), name="mine")
        assert (answer["status"], answer["code"]) == ("conflict", "name_taken"), content
        assert (folder / "mine.manifest.jsonl").read_bytes() == content
        assert not (folder / "mine").exists()


async def test_an_mbox_that_somebody_changed_is_left_alone(house: House, folder: Path) -> None:
    one, two = str(house.receive("1", message_id="<1@x>")), str(house.receive("2", message_id="<2@x>"))
    asked = {"folder": str(folder), "name": "all", "format": "mbox"}
    done = await house.ask("exports_create", messages=[one], **asked)
    with Path(done["path"]).open("ab") as file:
        file.write(b"From me Mon Jan  1 00:00:00 2026\n\nmine\n")
    before = tree(folder)
    answer = await house.ask("exports_create", messages=[one, two], **asked)
    assert (answer["status"], answer["code"]) == ("conflict", "changed_elsewhere")
    assert tree(folder) == before


async def test_what_is_gone_meanwhile_is_told_and_the_rest_is_written(house: House, folder: Path) -> None:
    handles = [str(house.receive(f"L{number}", message_id=f"<{number}@x>")) for number in range(3)]
    box = house.personal.boxes["INBOX"]
    del box.mail[2]
    answer = await house.ask("exports_create", messages=handles, folder=str(folder))
    assert (answer["status"], answer["done"]) == ("partly_done", 2)
    assert [(one["handle"], one["code"]) for one in answer["not_done"]] == [(handles[1], "stale_handle")]


async def test_a_query_is_exported_as_it_matched(house: House, folder: Path) -> None:
    house.receive("Invoice 1", message_id="<1@x>")
    house.receive("Hello", message_id="<2@x>")
    answer = await house.ask("exports_create_matching", query="subject:invoice", folder=str(folder), format="mbox")
    assert (answer["status"], answer["done"]) == ("ok", 1)


async def test_exporting_asks_the_owner_and_says_where_to(folder: Path) -> None:
    house = furnished(folder)
    house.rules(preset="assistant", boundaries={"export_directories": [str(folder)]})
    handle = str(house.receive())
    answer = await house.ask("exports_create", messages=[handle], folder=str(folder), name="all")
    assert answer["status"] == "approval_pending"
    planned = await house.service.review(answer["operation_id"])
    assert any(line.value == str(folder) for line in planned.review)
    assert tree(folder) == {}
    await house.owner_asks("approvals_approve", operation_id=answer["operation_id"])
    done = await house.ask("operations_resume", operation_id=answer["operation_id"])
    assert (done["status"], done["done"]) == ("ok", 1)


async def test_a_reader_exports_nothing(folder: Path) -> None:
    house = furnished(folder)
    house.rules(preset="reader", boundaries={"export_directories": [str(folder)]})
    answer = await house.ask("exports_create", messages=[str(house.receive())], folder=str(folder))
    assert answer["status"] == "refused"
    assert "whole" not in house.personal.calls


@pytest.mark.parametrize("form", ["eml", "mbox"])
@pytest.mark.parametrize("torn", [True, False])
async def test_what_a_crash_left_is_gone_on_with(house: House, folder: Path, form: str, torn: bool) -> None:
    """P-63: whatever of the last message or the manifest's last line was written."""
    handles = [str(house.receive(f"L{number}", message_id=f"<{number}@x>")) for number in range(4)]
    asked = {"folder": str(folder), "name": "all", "format": form}
    whole = await house.ask("exports_create", messages=handles, **asked)
    expected = tree(folder)
    lines = Path(whole["manifest"]).read_bytes().splitlines(keepends=True)
    rest = lines[3][: len(lines[3]) // 2] if torn else b""
    Path(whole["manifest"]).write_bytes(b"".join(lines[:3]) + rest)
    path = Path(whole["path"])
    if form == "mbox":
        path.rename(f"{path}.part")
    else:
        (path / ".0123456789abcdef.part").write_bytes(b"half")
    again = await house.ask("exports_create", messages=handles, **asked)
    assert again["status"] == "ok"
    assert again["done"] + again["already"] == 4
    found = tree(folder)
    assert {name for name in found if not name.endswith("jsonl")} == {n for n in expected if not n.endswith("jsonl")}
    assert {name: found[name] for name in found if not name.endswith("jsonl")} == {
        name: expected[name] for name in expected if not name.endswith("jsonl")
    }
    assert len(manifest(again)) == 4


async def test_a_pipe_in_the_place_of_the_manifest_hangs_nobody(house: House, folder: Path) -> None:
    os.mkfifo(folder / "all.manifest.jsonl")
    answer = await house.ask("exports_create", messages=[str(house.receive())], folder=str(folder), name="all")
    assert answer["status"] in ("unavailable", "conflict")


async def test_many_go_on_in_the_background_and_stop_between_chunks(
    house: House, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "STEP", 2)
    handles = [str(house.receive(f"L{number}", message_id=f"<{number}@x>")) for number in range(6)]
    chunks = 0
    whole = house.personal.whole

    async def stopping(some: Any) -> Any:
        nonlocal chunks
        chunks += 1
        if chunks == 2:
            record = (await house.journal.recent(house.agent))[0]
            await house.journal.stop(record.id)
        async for one in whole(some):
            yield one

    monkeypatch.setattr(house.personal, "whole", stopping)
    answer = await house.ask("exports_create", messages=handles, folder=str(folder), name="all", format="mbox")
    assert (answer["done"], answer["left"]) == (4, 2)
    assert answer["path"].endswith(".mbox.part")
    again = await house.ask("exports_create", messages=handles, folder=str(folder), name="all", format="mbox")
    assert (again["status"], again["done"], again["already"]) == ("ok", 2, 4)
    assert not Path(answer["path"]).exists()
    assert Path(again["path"]).exists()


async def test_a_large_message_is_written_piece_by_piece(house: House, folder: Path) -> None:
    big = letter("Big", "From me\n" * 300_000, message_id="<big@x>")
    handle = str(house.personal.add("INBOX", big))
    for form in ("eml", "mbox"):
        answer = await house.ask("exports_create", messages=[handle], folder=str(folder), name=f"b {form}", format=form)
        assert answer["size"] == len(big)
        if form == "eml":
            (made,) = Path(answer["path"]).iterdir()
            assert made.read_bytes() == big
        else:
            box = mailbox.mbox(answer["path"])
            assert len(box) == 1
            box.close()


def tree(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder, by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
