"""Mail held from files: the next one is read while one is held, and no one is taken for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_proton.domain.errors import NotFound
from mcp_proton.domain.outgoing import Octets
from mcp_proton.storage.folders.mail_files import FileMailFiles, FileSource


def letter(number: int) -> bytes:
    return b"Message-ID: <%d@x>\nDate: Mon, 30 Nov 2020 10:00:00 +0000\n\nnumber %d\n" % (number, number)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "old.mbox"
    line = b"From a@example.org Mon Nov 30 10:00:00 2020\n"
    made.write_bytes(b"".join(line + letter(number) + b"\n" for number in range(5)))
    return made


async def text(octets: Octets) -> bytes:
    return b"".join([chunk async for chunk in octets.chunks()])


async def taken(source: FileSource, number: int) -> bytes:
    async with source.held(source.entries[number]) as octets:
        return await text(octets)


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 0, 2, 1, 1, 4], [0, 3, 4], [0]])
async def test_each_is_itself_in_any_order(path: Path, order: list[int]) -> None:
    async with FileMailFiles(imports=lambda: [path.parent]).source(path) as source:
        for number in order:
            assert await taken(source, number) == letter(number).replace(b"\n", b"\r\n")


async def test_two_may_be_held_at_once(path: Path) -> None:
    async with (
        FileMailFiles(imports=lambda: [path.parent]).source(path) as source,
        source.held(source.entries[0]) as one,
        source.held(source.entries[1]) as other,
    ):
        assert b"number 0" in await text(one)
        assert b"number 1" in await text(other)
        assert b"number 0" in await text(one)


async def test_what_was_read_ahead_and_is_gone_is_told_when_its_turn_comes(path: Path) -> None:
    async with FileMailFiles(imports=lambda: [path.parent]).source(path) as source:
        path.write_bytes(path.read_bytes()[: source.entries[0].size + 60])
        assert b"number 0" in await taken(source, 0)
        with pytest.raises(NotFound):
            await taken(source, 1)
        with pytest.raises(NotFound):
            await taken(source, 1)
        assert b"number 0" in await taken(source, 0)
