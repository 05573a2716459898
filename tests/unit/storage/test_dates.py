"""Keeping the order by date between runs."""

from __future__ import annotations

import os
import stat

import pytest

from mcp_proton.storage.dates import MOST_OCTETS, FileDateIndexes


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache" / "dates"


async def test_an_index_is_found_again_in_its_own_generation_only(folder):
    await FileDateIndexes(folder).save("personal", "abcdef", 7, b"index")
    again = FileDateIndexes(folder)
    assert await again.load("personal", "abcdef", 7) == b"index"
    assert await again.load("personal", "abcdef", 8) is None
    assert await again.load("personal", "fedcba", 7) is None
    await again.save("personal", "abcdef", 8, b"rebuilt")
    assert await again.load("personal", "abcdef", 7) is None
    assert await again.load("personal", "abcdef", 8) == b"rebuilt"


async def test_an_index_is_the_owners_alone(folder):
    await FileDateIndexes(folder).save("personal", "abcdef", 7, b"index")
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_switched_off_nothing_is_kept_and_nothing_is_left(folder):
    """P-96."""
    await FileDateIndexes(folder).save("personal", "abcdef", 7, b"index")
    off = FileDateIndexes(folder, enabled=False)
    await off.save("personal", "abcdef", 7, b"index")
    assert await off.load("personal", "abcdef", 7) is None
    assert not folder.exists()


async def test_the_memory_is_bounded_and_lets_go_of_what_was_unused_longest(folder):
    indexes = FileDateIndexes(folder, most_octets=3_000)
    for number, tag in enumerate(("aaaaaa", "bbbbbb", "cccccc")):
        await indexes.save("personal", tag, 7, b"x" * 900)
        os.utime(folder / f"personal.{tag}", (number, number))
    assert await indexes.load("personal", "aaaaaa", 7)
    await indexes.save("personal", "dddddd", 7, b"x" * 900)
    assert sorted(path.name for path in folder.iterdir()) == ["personal.aaaaaa", "personal.cccccc", "personal.dddddd"]
    await indexes.save("personal", "eeeeee", 7, b"x" * (MOST_OCTETS + 1))
    assert await indexes.load("personal", "eeeeee", 7) is None


async def test_an_account_can_be_forgotten(folder):
    indexes = FileDateIndexes(folder)
    await indexes.save("personal", "abcdef", 7, b"index")
    await indexes.save("work", "abcdef", 7, b"index")
    indexes.forget("work")
    assert [path.name for path in folder.iterdir()] == ["personal.abcdef"]


@pytest.mark.parametrize("content", [b"", b"short", b"nope" + bytes(8) + b"index"])
async def test_a_damaged_index_is_as_good_as_none(folder, content):
    indexes = FileDateIndexes(folder)
    await indexes.save("personal", "abcdef", 7, b"index")
    (folder / "personal.abcdef").write_bytes(content)
    assert await indexes.load("personal", "abcdef", 7) is None


async def test_nothing_is_ever_raised(folder, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    indexes = FileDateIndexes(folder)
    await indexes.save("personal", "abcdef", 7, b"index")
    await indexes.save("../..", "abcdef", 7, b"index")
    await indexes.save("personal", "abcdef", -1, b"index")
    assert await indexes.load("personal", "abcdef", 7) is None
    assert await indexes.load("../..", "abcdef", 7) is None
    indexes.forget()
