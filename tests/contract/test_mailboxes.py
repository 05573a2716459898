"""The contract (N-1: one suite, every backend): mailboxes and health (P-50, P-51)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.domain.mail import Role
from mcp_proton.domain.ports import Standing
from tests.contract.letters import letter
from tests.contract.worlds import Mail, box

if TYPE_CHECKING:
    from tests.contract.worlds import World


async def test_special_mailboxes_have_their_roles_and_the_folder_is_one(world: World) -> None:
    boxes = await world.backend.mailboxes()
    roles = {one.role: one.path for one in boxes}
    assert {Role.INBOX, Role.SENT, Role.DRAFTS, Role.TRASH, Role.SPAM, Role.ARCHIVE} <= roles.keys()
    assert next(one.role for one in boxes if one.path == world.folder) is Role.FOLDER
    assert len({one.tag for one in boxes}) == len(boxes)


async def test_parents_come_before_their_children(world: World) -> None:
    paths = [one.path for one in await world.backend.mailboxes()]
    for place, path in enumerate(paths):
        parent = path.rpartition("/")[0]
        assert parent not in paths[place:]


async def test_counts_are_there_when_asked_for(world: World) -> None:
    await world.put(Mail(letter()), Mail(letter(), flags=frozenset({"seen"})))
    boxes = await world.backend.mailboxes(counts=True, fresh=True)
    inbox = next(one for one in boxes if one.role is Role.INBOX)
    assert (inbox.total, inbox.unread) == (2, 1)


async def test_a_list_is_kept_but_a_fresh_one_can_be_had(world: World) -> None:
    assert (await box(world)).selectable
    assert await world.backend.mailboxes() == await world.backend.mailboxes(fresh=True)


async def test_a_working_account_says_so(world: World) -> None:
    health = await world.backend.health()
    assert health.connected
    assert (health.code, health.why, health.next) == (None, None, None)


async def test_features_are_told_without_asking_and_search_is_one(world: World) -> None:
    await world.backend.mailboxes()
    assert world.backend.features()["search"] is Standing.AVAILABLE


async def test_flags_have_a_row_in_the_effect_table(world: World) -> None:
    assert world.backend.consequences().of("set_flags", Role.INBOX).effects
