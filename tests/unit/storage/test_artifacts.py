"""Octets held for agents, and exports into the owner's folders."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
import tracemalloc
from datetime import timedelta

import pytest

from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import NotFound, OutOfBounds, OverLimit, Unavailable
from mcp_proton.storage.artifacts import FileArtifacts
from mcp_proton.storage.folders import exports

from .worlds import agent


@pytest.fixture
def outbox(tmp_path):
    folder = tmp_path / "outbox"
    (folder / "inner").mkdir(parents=True)
    return folder


@pytest.fixture
def artifacts(tmp_path, clock, outbox):
    return FileArtifacts(tmp_path / "held", clock, most_octets=1 << 20, exports=lambda: [outbox])


async def put(artifacts, content=b"octets", name="a.txt", caller=None):
    async with artifacts.create(caller or agent(), name, "text/plain") as writer:
        await writer.write(content)
        return await writer.done()


async def export(artifacts, folder, content=b"octets", name="a.txt"):
    async with artifacts.export(folder, name, "text/plain") as writer:
        await writer.write(content)
        return await writer.done()


async def break_off(opening):
    async with opening as writer:
        await writer.write(b"half")
        raise RuntimeError


async def octets(artifacts, found):
    return b"".join([chunk async for chunk in artifacts.read(found)])


async def test_an_artifact_is_read_back_by_its_caller_only(artifacts):
    made = await put(artifacts, b"hello")
    assert re.fullmatch(r"art_[a-z2-7]{16}", made.id)
    assert (made.size, made.sha256) == (5, hashlib.sha256(b"hello").hexdigest())
    assert await artifacts.find(made.id, agent()) == made
    assert await octets(artifacts, made) == b"hello"
    assert await artifacts.find(made.id, owner()) == made
    for stranger, name in ((agent("goose"), made.id), (agent(), "art_aaaaaaaaaaaaaaaa"), (agent(), "../" + made.id)):
        with pytest.raises(NotFound, match="no such artifact of yours"):
            await artifacts.find(name, stranger)


async def test_an_artifact_is_the_owners_alone_on_disk(artifacts, tmp_path):
    await put(artifacts)
    for path in [tmp_path / "held", *(tmp_path / "held").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


async def test_nothing_is_visible_before_it_is_done_and_nothing_stays_when_it_never_is(artifacts, tmp_path):
    with pytest.raises(RuntimeError):
        await break_off(artifacts.create(agent(), "a", "x/y"))
    async with artifacts.create(agent(), "a", "x/y") as writer:
        await writer.write(b"x" * 600_000)
    assert list((tmp_path / "held").iterdir()) == []


async def test_what_is_too_large_is_refused_and_leaves_nothing(artifacts, tmp_path, outbox):
    """P-95."""
    with pytest.raises(OverLimit):
        await put(artifacts, b"x" * ((1 << 20) + 1))
    await put(artifacts, b"x" * (1 << 19))
    with pytest.raises(OverLimit):
        await put(artifacts, b"x" * ((1 << 19) + 1))
    with pytest.raises(OverLimit):
        await export(artifacts, outbox, b"x" * ((1 << 20) + 1))
    assert len(list((tmp_path / "held").iterdir())) == 1
    assert [path.name for path in outbox.iterdir()] == ["inner"]


async def test_an_artifact_is_forgotten_after_its_time(artifacts, clock, tmp_path):
    """P-96."""
    made = await put(artifacts)
    left = tmp_path / "held" / ".new-left-behind"
    left.mkdir()
    long_ago = (clock.now() - timedelta(days=3)).timestamp()
    os.utime(left, (long_ago, long_ago))
    clock.wind(hours=23)
    kept = await put(artifacts)
    clock.wind(hours=1)
    with pytest.raises(NotFound):
        await artifacts.find(made.id, agent())
    assert await artifacts.purge() == 2
    assert [path.name for path in (tmp_path / "held").iterdir()] == [kept.id]
    with pytest.raises(NotFound):
        await octets(artifacts, made)


async def test_memory_does_not_grow_with_size(tmp_path, clock):
    store = FileArtifacts(tmp_path / "held", clock)
    chunk = b"x" * 65_536
    tracemalloc.start()
    async with store.create(agent(), "big", "x/y") as writer:
        for _ in range(400):
            await writer.write(chunk)
        made = await writer.done()
    size = 0
    async for piece in store.read(made):
        size += len(piece)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (made.size, size) == (400 * 65_536, 400 * 65_536)
    assert peak < 4 << 20


async def test_an_export_is_a_new_file_and_never_overwrites(artifacts, outbox):
    """P-95."""
    (outbox / "a.txt").write_text("the owner's")
    one, two = await export(artifacts, outbox), await export(artifacts, outbox / "inner")
    assert one.path == outbox / "a (1).txt"
    assert one.filename == "a (1).txt"
    assert two.path == outbox / "inner" / "a.txt"
    assert (outbox / "a.txt").read_text() == "the owner's"
    assert one.path.read_bytes() == b"octets"
    assert stat.S_IMODE(one.path.stat().st_mode) == 0o600
    assert sorted(path.name for path in outbox.iterdir()) == ["a (1).txt", "a.txt", "inner"]


async def test_exports_of_one_name_at_once_all_get_their_own_file(artifacts, outbox):
    made = await asyncio.gather(*(export(artifacts, outbox, str(n).encode()) for n in range(8)))
    assert len({one.path for one in made}) == 8
    assert sorted(one.path.read_bytes() for one in made) == [str(n).encode() for n in range(8)]


async def test_an_export_that_is_not_done_leaves_nothing(artifacts, outbox):
    with pytest.raises(RuntimeError):
        await break_off(artifacts.export(outbox, "a", "x/y"))
    assert [path.name for path in outbox.iterdir()] == ["inner"]


@pytest.mark.parametrize(
    "name", ["../../evil", "/etc/passwd", "a/b", "..", ".bashrc", "con", "a\0b", "", "\u202etxt.exe"]
)
async def test_a_strangers_file_name_never_leads_out_of_the_folder(artifacts, outbox, name):
    made = await export(artifacts, outbox, name=name)
    assert made.path.parent == outbox
    assert not made.path.name.startswith(".")
    assert {path.name for path in outbox.parent.iterdir()} == {"outbox"}


@pytest.mark.parametrize("where", ["..", "inner/..", "inner/../..", "link", "link/deeper", "/etc", "missing", "a.file"])
async def test_no_way_leads_out_of_the_folders_the_owner_opened(artifacts, outbox, tmp_path, where):
    """P-18, P-95."""
    outside = tmp_path / "outside"
    (outside / "deeper").mkdir(parents=True)
    (outbox / "link").symlink_to(outside)
    (outbox / "a.file").write_text("not a folder")
    with pytest.raises(OutOfBounds):
        await export(artifacts, outbox / where)
    assert [path.name for path in outside.rglob("*")] == ["deeper"]


async def test_a_relative_folder_is_no_export_folder(artifacts, outbox, monkeypatch):
    monkeypatch.chdir(outbox)
    with pytest.raises(OutOfBounds):
        await export(artifacts, exports.Path("inner"))


async def test_no_folder_is_open_until_the_owner_opens_one(tmp_path, clock, outbox):
    with pytest.raises(OutOfBounds, match="not open for exports"):
        await export(FileArtifacts(tmp_path / "held", clock), outbox)


async def test_the_owners_own_links_to_and_inside_open_folders_work(tmp_path, clock, outbox):
    (tmp_path / "shortcut").symlink_to(outbox)
    (outbox / "also").symlink_to(outbox / "inner")
    store = FileArtifacts(tmp_path / "held", clock, exports=lambda: [tmp_path / "shortcut"])
    assert (await export(store, tmp_path / "shortcut")).path == outbox / "a.txt"
    assert (await export(store, outbox / "also")).path == outbox / "inner" / "a.txt"


async def test_a_folder_swapped_for_a_link_after_the_look_is_not_followed(tmp_path, clock, outbox, monkeypatch):
    outside = tmp_path / "outside"
    outside.mkdir()
    real = exports.os.path.realpath

    def swapping(path, *rest, **options):
        found = real(path, *rest, **options)
        if str(path).endswith("inner") and not (outbox / "inner").is_symlink():
            (outbox / "inner").rmdir()
            (outbox / "inner").symlink_to(outside)
        return found

    monkeypatch.setattr(exports.os.path, "realpath", swapping)
    store = FileArtifacts(tmp_path / "held", clock, exports=lambda: [outbox])
    with pytest.raises(OutOfBounds):
        await export(store, outbox / "inner")
    assert list(outside.iterdir()) == []


async def test_a_link_planted_under_the_files_name_is_not_written_through(artifacts, outbox, tmp_path):
    target = tmp_path / "target"
    (outbox / "a.txt").symlink_to(target)
    made = await export(artifacts, outbox)
    assert made.path.name == "a (1).txt"
    assert not target.exists()


async def test_a_disk_that_takes_no_more_is_told(artifacts, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match="No space left") as caught:
        await put(artifacts)
    assert caught.value.code == "storage_unavailable"


async def test_a_system_that_cannot_hold_folders_exports_by_path(artifacts, outbox, monkeypatch):
    monkeypatch.setattr(exports, "_HELD", False)
    assert (await export(artifacts, outbox / "inner")).path == outbox / "inner" / "a.txt"
    assert (await export(artifacts, outbox / "inner")).path == outbox / "inner" / "a (1).txt"
    with pytest.raises(OutOfBounds):
        await export(artifacts, outbox / "missing")
