"""What a row of the effect table refuses, tried: ours does nothing, and a naive client shows what it would have done."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from mcp_proton.domain.errors import Unsupported
from mcp_proton.domain.handles import Handle
from mcp_proton.domain.mail import Role
from mcp_proton.domain.outcome import Ending
from mcp_proton.domain.ports import FlagChange
from tests.unit.bridge.hazards.places import PATHS, TARGETS, Placed, held_by, name, place_of, put
from tests.unit.bridge.hazards.trials import listed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_proton.domain.consequences import Consequence
    from mcp_proton.domain.mail import Mailbox
    from tests.unit.bridge.hazards.scene import Scene

_NUMBERS = count(1)


async def is_refused(doing: Awaitable[Any]) -> bool:
    """Whether ours says that this is not done."""
    try:
        done = await doing
    except Unsupported:
        return True
    (fate,) = done
    return fate.ending is Ending.FAILED and fate.code == "unsupported_semantics"


async def given(scene: Scene, row: Consequence) -> tuple[Placed, Handle]:
    """A message in the row's source, or what would be one; a row without a source: in INBOX."""
    source = row.source or Role.INBOX
    if source is Role.RECOVERED:
        return await recovered(scene)
    if source is Role.NODE:
        other = put(scene, Role.INBOX)
        node, handle = await scene.box(PATHS[Role.NODE]), await other.handle()
        return Placed(scene, other.key, node.path), Handle(handle.account, node.tag, handle.key)
    placed = put(scene, source)
    if source is Role.SCHEDULED:
        await scene.backend.mailboxes(fresh=True)
    return placed, await placed.handle()


async def recovered(scene: Scene) -> tuple[Placed, Handle]:
    """A message that Bridge could not hand to Proton, and kept."""
    key = f"kept {next(_NUMBERS)}"  # the same text again is not kept twice
    text = f"From: anna@example.org\r\nSubject: {key}\r\nDate: Mon, 02 Jan 2023 10:00:00 +0000\r\n\r\nx\r\n".encode()
    async with scene.client() as naive:
        naive.send(b'r APPEND "All Mail" {%d}\r\n' % len(text))
        assert (await naive.line()).startswith("+")
        naive.send(text + b"\r\n")
        while not (line := await naive.line()).startswith("r "):
            pass
        assert " NO " in line
    await scene.backend.mailboxes(fresh=True)
    return Placed(scene, key, PATHS[Role.RECOVERED]), await scene.handle(key, PATHS[Role.RECOVERED])


async def naively(placed: Placed, *commands: str) -> str:
    """What a naive client is answered at last; `{n}` is the message's UID in the mailbox."""
    async with placed.scene.client() as naive:
        selected = (await naive(f'SELECT "{placed.path}"'))[-1]
        if not selected.startswith("OK"):
            return selected
        number = (await naive("UID SEARCH ALL"))[0].split()[-1]
        for command in commands:
            answer = (await naive(command.replace("{n}", number)))[-1]
    return answer


async def move(scene: Scene, row: Consequence) -> None:
    """A naive move does not bring the message there, or costs it something."""
    placed, handle = await given(scene, row)
    target = await _target(scene, row)
    await _ours(scene, placed, scene.backend.move([handle], target))
    before = placed.truth()
    answer = await naively(placed, f'UID MOVE {{n}} "{target.path}"')
    scene.events()
    after = placed.truth()
    arrived = place_of(after) == {name(target.path)} != place_of(before) and held_by(after) == held_by(before)
    assert not (answer.startswith("OK") and arrived) or row.source is Role.RECOVERED, (before, after)
    placed.leave()


async def _target(scene: Scene, row: Consequence) -> Mailbox:
    """The mailbox of the row's destination; two are listed only when they hold something."""
    assert row.target is not None
    if row.target is Role.RECOVERED:
        await recovered(scene)
    if row.target is Role.SCHEDULED:
        put(scene, Role.SCHEDULED)
        await scene.backend.mailboxes(fresh=True)
    return await scene.box(TARGETS[row.target])


async def copy(scene: Scene, row: Consequence) -> None:
    """A naive copy into a folder moves."""
    placed, handle = await given(scene, row)
    await _ours(scene, placed, scene.backend.copy([handle], await scene.box("Folders/Other")))
    assert (await naively(placed, "UID COPY {n} Folders/Other")).startswith("OK")
    assert placed.truth() == {"Folders/Other"}


async def reattach(scene: Scene, row: Consequence) -> None:
    """A naive copy there leaves an orphan one."""
    key = f"orphan {row.target}"
    scene.bridge.deliver(b"From: anna@example.org\nSubject: %b\n\nx\n" % key.encode(), key=key, places=())
    scene.events()
    placed = Placed(scene, key, "All Mail")
    handle = await placed.handle()
    target = await _target(scene, row)
    await _ours(scene, placed, scene.backend.reattach([handle], target))
    await naively(placed, f'UID COPY {{n}} "{target.path}"')
    scene.events()
    assert place_of(placed.truth()) in (set(), {"Inbox"})
    placed.leave()


async def label(scene: Scene, row: Consequence) -> None:
    """A naive copy adds no label: it moves, stars, or is refused."""
    placed, handle = await given(scene, row)
    target = await _target(scene, row)
    await _ours(scene, placed, scene.backend.label([handle], target))
    if row.target is Role.LABEL:
        return
    before = placed.truth()
    await naively(placed, f'UID COPY {{n}} "{target.path}"')
    scene.events()
    assert held_by(placed.truth()) - {"Starred"} <= held_by(before)
    placed.leave()


async def unlabel(scene: Scene, row: Consequence) -> None:
    """A naive EXPUNGE takes no label off: the place goes, or the star, or nothing does."""
    placed, handle = await given(scene, row)
    await _ours(scene, placed, scene.backend.unlabel([handle]))
    before = placed.truth()
    answer = await naively(placed, "UID STORE {n} +FLAGS (\\Deleted)", "UID EXPUNGE {n}")
    scene.events()
    if answer.startswith("OK") and before is not None:
        assert place_of(placed.truth()) == set() or before - (placed.truth() or set()) == {"Starred"}
    else:
        assert placed.truth() == before
    placed.leave()


async def mark_deleted(scene: Scene, row: Consequence) -> None:
    """A mark any program's EXPUNGE takes along, and the place with it."""
    placed, handle = await given(scene, row)
    assert row.refused
    fates = await scene.backend.set_flags([handle], FlagChange(add=frozenset({"deleted"})))
    assert len(fates) == 1
    await naively(placed, "EXPUNGE")
    assert placed.truth() == set()


async def unmark_deleted(scene: Scene, row: Consequence) -> None:
    """All Mail doesn't say that it keeps the mark, and expunges nothing."""
    placed, handle = await given(scene, row)
    (fate,) = await scene.backend.set_flags([handle], FlagChange(remove=frozenset({"deleted"})))
    assert (fate.ending, fate.code) == (Ending.FAILED, "flag_not_kept")
    assert not (await naively(placed, "UID STORE {n} +FLAGS (\\Deleted)", "EXPUNGE")).startswith("OK")
    scene.events()
    assert placed.truth() == {"Inbox"}
    placed.leave()


async def destroy(scene: Scene, row: Consequence) -> None:
    """A naive EXPUNGE deletes nothing: it takes the place, the label or the star, or is refused."""
    placed, handle = await given(scene, row)
    await _ours(scene, placed, scene.backend.destroy([handle]))
    before = placed.truth()
    await naively(placed, "UID STORE {n} +FLAGS (\\Deleted)", "UID EXPUNGE {n}")
    scene.events()
    assert (placed.truth() is None) == (before is None)
    if row.source not in {Role.ALL, Role.SCHEDULED, Role.RECOVERED, Role.NODE}:
        assert placed.truth() == (before or set()) - {name(placed.path)}
    placed.leave()


# -- mailboxes


async def rename(scene: Scene, row: Consequence) -> None:
    """INBOX's mail goes along; any other keeps its name."""
    placed, _ = await given(scene, row)
    before = placed.truth()
    await _ours(scene, placed, scene.backend.rename(await scene.box(placed.path), "Folders/Moved"))
    async with scene.client() as naive:
        await naive(f'RENAME "{placed.path}" Folders/Moved')
    scene.events()
    assert placed.path in await listed(scene)
    assert placed.truth() == ({"Folders/Moved"} if row.source is Role.INBOX else before)
    placed.leave()


async def remove(scene: Scene, row: Consequence) -> None:
    """It stays, whoever asks."""
    placed, _ = await given(scene, row)
    before = placed.truth()
    await _ours(scene, placed, scene.backend.remove(await scene.box(placed.path)))
    async with scene.client() as naive:
        assert not (await naive(f'DELETE "{placed.path}"'))[-1].startswith("OK")
    scene.events()
    assert placed.path in await listed(scene)
    assert placed.truth() == before
    placed.leave()


async def _ours(scene: Scene, placed: Placed, doing: Awaitable[Any]) -> None:
    before = placed.truth()
    assert await is_refused(doing)
    scene.events()
    assert placed.truth() == before


REFUSALS: dict[str, Callable[[Scene, Consequence], Awaitable[None]]] = {
    "move": move, "copy": copy, "reattach": reattach, "label": label, "unlabel": unlabel, "mark_deleted": mark_deleted,
    "unmark_deleted": unmark_deleted, "destroy": destroy, "rename": rename, "remove": remove,
}  # fmt: skip
"""How a refused row is tried, by its verb."""
