"""Taking back on a Bridge, by the process that did it, with the owner asked for both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.matrix.house import Address, House, opened
from tests.matrix.world import given, on_simulator

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ("one", "two")


async def done(house: House, operation: str, **arguments: Any) -> str:
    """Ask, have it approved, and do it."""
    told = await house.ask(operation, **arguments)
    assert told["status"] == "approval_pending", told
    await house.approve(told["operation_id"])
    assert (await house.ask("operations_resume", operation_id=told["operation_id"]))["status"] == "ok"
    return str(told["operation_id"])


@pytest.mark.parametrize("mailbox", ["Labels/Blue", "INBOX"])
async def test_a_label_that_was_taken_off_is_put_on_again(tmp_path: Path, template: Path, mailbox: str) -> None:
    """P-57, P-76: found in All Mail by Proton's own id; the other label and the place are untouched."""
    (tmp_path / "state").mkdir(mode=0o700)
    store = tmp_path / "state" / "store.sqlite3"
    letters = [given(key, "inbox", "Labels/Blue", "Labels/Red") for key in KEYS]
    async with on_simulator(letters) as server:
        before = server.truth()
        address = Address(server.host, server.port, server.username, server.password)
        async with opened(store, address) as house:
            handles = await house.handles(mailbox, KEYS)
            operation = await done(house, "labels_remove", messages=handles, label="Blue")
            server.events()
            assert all(one.labels == {"Labels/Red"} for one in server.truth().values())
            await done(house, "operations_undo", operation_id=operation)
            server.events()
        assert server.truth() == before
