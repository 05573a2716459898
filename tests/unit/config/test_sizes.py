"""How large files may be is the owner's to say, and what is too large names the setting (J-104)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton import bootstrap
from mcp_proton.domain.caller import owner
from mcp_proton.domain.errors import OverLimit
from mcp_proton.domain.web_address import WebAddress
from mcp_proton.remote import web
from mcp_proton.remote.errors import too_large

if TYPE_CHECKING:
    from pathlib import Path

MEGABYTE = 1 << 20


def home(folder: Path, *lines: str) -> dict[str, str]:
    environ = {"MCP_PROTON_HOME": str(folder)}
    file = bootstrap.settings(environ).folders.config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["[storage]", *lines, ""]))
    file.chmod(0o600)
    return environ


async def test_what_is_saved_is_bounded_as_the_owner_says(tmp_path: Path) -> None:
    """J-104: a file that arrives without its length is cut when it is over, and leaves nothing behind."""
    async with bootstrap.real(home(tmp_path, "artifact_megabytes = 1")) as running:
        artifacts = running.service.world.artifacts
        async with artifacts.create(owner(), "whole.bin", "application/octet-stream") as writer:
            await writer.write(b"x" * MEGABYTE)
            kept = await writer.done()
        assert kept.size == MEGABYTE
        with pytest.raises(OverLimit) as refused:
            async with artifacts.create(owner(), "more.bin", "application/octet-stream") as writer:
                await writer.write(b"x")
        assert "`artifact_megabytes`" in str(refused.value.next)


async def test_what_is_fetched_or_put_to_a_link_is_bounded_as_the_owner_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """J-104: the bound reaches what fetches; `test_web.py` holds that to it, with and without a Content-Length."""
    given: list[dict[str, Any]] = []

    class Guarded:
        def __init__(self, **limits: Any) -> None:
            given.append(limits)

        def open(self, address: WebAddress, most: int) -> None:
            given.append({"asked": most})

    monkeypatch.setattr(web, "Guarded", Guarded)
    lines = ("fetch_megabytes = 3", "upload_megabytes = 2", "fetch_seconds = 7")
    async with bootstrap.real(home(tmp_path, *lines)) as running:
        remote = running.service.world.remote
        assert remote is not None
        remote.open(WebAddress.parse("https://files.example.org/a"), 5)
        assert given == [{"most": 3 * MEGABYTE, "seconds": 7}, {"asked": 5}]
        assert running.links.most == 2 * MEGABYTE
    assert "`fetch_megabytes`" in str(too_large(3 * MEGABYTE).next)
