"""Files are read where they really are, and only files are (P-95)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcp_proton.domain.errors import Invalid, NotFound
from mcp_proton.services.writing.local_files import chunks, real


async def octets(path: Path) -> bytes:
    return b"".join([chunk async for chunk in chunks(path)])


async def test_a_file_is_read_in_pieces(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * 600_000)
    assert len([chunk async for chunk in chunks(file)]) == 3
    assert await octets(file) == file.read_bytes()


async def test_a_link_is_resolved_once_and_never_followed_later(tmp_path: Path) -> None:
    inside, outside = tmp_path / "open", tmp_path / "secret"
    inside.mkdir()
    outside.mkdir()
    (outside / "file").write_text("secret")
    (inside / "file").write_text("public")
    judged = real(inside / "file")
    assert await octets(judged) == b"public"
    (inside / "file").unlink()
    (inside / "file").symlink_to(outside / "file")
    with pytest.raises(NotFound):
        await octets(judged)
    (inside / "file").unlink()
    inside.rmdir()
    inside.symlink_to(outside)  # the folder above is swapped
    with pytest.raises(NotFound):
        await octets(judged)


async def test_a_pipe_a_folder_and_a_device_are_no_files_and_nobody_waits_for_them(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / "none"):
        with pytest.raises(NotFound):
            await octets(path)


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(Invalid):
        real(Path("file"))
