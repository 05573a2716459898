"""Changes: bound to what was seen, a fate for each, never repeated, settled by looking (the fault matrix on JMAP)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.domain.errors import Ambiguous, Conflict, MailError
from mcp_proton.domain.mail import Identity, Role
from mcp_proton.domain.outcome import Ending, Proof
from mcp_proton.domain.ports import HOME, FlagChange, Page
from mcp_proton.domain.powers import Vacation
from mcp_proton.domain.query import All
from tests.contract.letters import letter
from tests.contract.letters_out import mail
from tests.servers.jmap.methods import Limits, Refusal
from tests.servers.jmap.server import USER
from tests.unit.jmap.accounts import account, arrive, box, handles, named, rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp_proton.domain.handles import Handle
    from mcp_proton.domain.outcome import Fate
    from mcp_proton.jmap.backend import JmapBackend
    from tests.servers.jmap import JmapServer

SEEN = FlagChange(add=frozenset({"seen"}))
VERBS = ("move", "home", "copy", "label", "unlabel", "destroy", "flags")


async def ready(server: JmapServer, backend: JmapBackend, verb: str) -> list[Handle]:
    """Handles that a verb is for."""
    if verb == "destroy":
        arrive(server, 2, "trash")
        return await handles(backend, Role.TRASH)
    if verb == "home":
        arrive(server, 2, "archive")
        return await handles(backend, Role.ARCHIVE)
    arrive(server, 2)
    found = await handles(backend)
    if verb == "unlabel":
        found = [fate.now for fate in await backend.label(found, await named(backend, "Labels/Blue")) if fate.now]
    return found


async def act(backend: JmapBackend, verb: str, some: Sequence[Handle]) -> Sequence[Fate]:
    work, blue = await named(backend, "Work"), await named(backend, "Labels/Blue")
    acts = {
        "move": lambda: backend.move(some, work),
        "home": lambda: backend.move(some, HOME),
        "copy": lambda: backend.copy(some, work),
        "label": lambda: backend.label(some, blue),
        "unlabel": lambda: backend.unlabel(some),
        "destroy": lambda: backend.destroy(some),
        "flags": lambda: backend.set_flags(some, SEEN),
    }
    return await acts[verb]()


async def target(backend: JmapBackend, verb: str) -> Any:
    places = {"move": "Work", "copy": "Work", "label": "Labels/Blue"}
    if verb in places:
        return await named(backend, places[verb])
    return HOME if verb == "home" else None


def sets(server: JmapServer) -> int:
    return sum("Email/set" in names for names in server.called)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_lost_answer_is_uncertain_never_repeated_and_settled_by_looking(verb: str, cut: Any) -> None:
    """The connection is cut before, or after, the server did it."""
    async with account() as (server, backend):
        some = await ready(server, backend, verb)
        before = sets(server)
        server.cut = cut
        fates = await act(backend, verb, some)
        assert {(fate.ending, fate.code) for fate in fates} == {(Ending.UNCERTAIN, "outcome_unknown")}
        assert sets(server) == before + 1
        if verb == "flags":
            return
        proved = await backend.prove(fates, await target(backend, verb), 0.0)
        expected = (Ending.DONE, Proof.SEEN) if cut == "after" else (Ending.FAILED, None)
        assert {(fate.ending, fate.proof) for fate in proved} == {expected}
        assert sets(server) == before + 1


@pytest.mark.parametrize("verb", VERBS)
async def test_what_others_change_meanwhile_is_looked_at_again_and_it_is_done_once(verb: str) -> None:
    """`ifInState`: the change is refused, nothing is done, and it is decided anew."""
    async with account() as (server, backend):
        some = await ready(server, backend, verb)
        races = [1, 1]

        def race(name: str) -> None:
            if name == "Email/set" and races:
                races.pop()
                server.store.touched()

        server.meanwhile = race
        fates = await act(backend, verb, some)
        assert {fate.ending for fate in fates} == {Ending.DONE}
        assert races == []


async def test_a_message_that_leaves_between_look_and_change_is_not_touched() -> None:
    """A mailbox in the middle: without the guard it would end in two places."""
    async with account() as (server, backend):
        some = await ready(server, backend, "move")
        mine = server.store.emails[some[0].key]
        gone = [1]

        def elsewhere(name: str) -> None:
            if name == "Email/set" and gone:
                gone.pop()
                mine.mailboxes = {server.store.by_role("trash").id}
                server.store.touched()

        server.meanwhile = elsewhere
        fates = await act(backend, "move", some)
        assert [(fate.ending, fate.code) for fate in fates] == [(Ending.FAILED, "stale_handle"), (Ending.DONE, None)]
        assert mine.mailboxes == {server.store.by_role("trash").id}


async def test_a_message_that_is_rescued_from_trash_at_the_last_moment_is_not_destroyed() -> None:
    async with account() as (server, backend):
        some = await ready(server, backend, "destroy")
        mine = server.store.emails[some[0].key]

        def rescue(name: str) -> None:
            if name == "Email/set" and server.store.by_role("inbox").id not in mine.mailboxes:
                mine.mailboxes.add(server.store.by_role("inbox").id)
                server.store.touched()

        server.meanwhile = rescue
        fates = await act(backend, "destroy", some)
        assert [(fate.ending, fate.code) for fate in fates] == [(Ending.FAILED, "held"), (Ending.DONE, None)]
        assert mine.id in server.store.emails
        assert "Inbox" in (fates[0].why or "")


async def test_an_account_that_is_never_quiet_is_told_and_nothing_is_done() -> None:
    async with account() as (server, backend):
        some = await ready(server, backend, "move")
        server.meanwhile = lambda name: server.store.touched() if name == "Email/set" else None
        fates = await act(backend, "move", some)
        assert {(fate.ending, fate.code) for fate in fates} == {(Ending.FAILED, Conflict.code)}
        assert await rows(backend, Role.FOLDER) == []


async def test_what_comes_after_a_lost_answer_is_not_attempted() -> None:
    async with account(Limits(set=2)) as (server, backend):
        arrive(server, 6)
        some = await handles(backend)
        server.cut = "after"
        fates = await backend.set_flags(some, SEEN)
        assert [fate.code for fate in fates] == ["outcome_unknown"] * 2 + ["not_attempted"] * 4
        assert sum("$seen" in one.keywords for one in server.store.emails.values()) == 2


@pytest.mark.parametrize(
    ("told", "ending", "code"),
    [
        ("notFound", Ending.FAILED, "stale_handle"),
        ("overQuota", Ending.FAILED, "over_quota"),
        ("tooManyKeywords", Ending.FAILED, "flag_not_kept"),
        ("tooManyMailboxes", Ending.FAILED, "too_many_places"),
        ("forbidden", Ending.FAILED, "server_refused"),
        ("something new", Ending.FAILED, "server_refused"),
        (None, Ending.UNCERTAIN, "outcome_unknown"),
    ],
)
async def test_one_message_that_is_refused_does_not_hold_the_others_back(
    told: str | None, ending: Ending, code: str
) -> None:
    """A message of which the answer says nothing may have been changed."""
    async with account() as (server, backend):
        some = await ready(server, backend, "flags")

        def refuse(name: str, answer: dict[str, Any]) -> dict[str, Any]:
            if name != "Email/set":
                return answer
            done = {key: value for key, value in answer["updated"].items() if key != some[0].key}
            return answer | {"updated": done, "notUpdated": {some[0].key: {"type": told}} if told else None}

        server.lie = refuse
        fates = await backend.set_flags(some, SEEN)
        assert [(fate.ending, fate.code) for fate in fates] == [(ending, code), (Ending.DONE, None)]


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("serverPartialFail", Ending.UNCERTAIN),
        ("serverFail", Ending.FAILED),
        ("serverUnavailable", Ending.FAILED),
        ("forbidden", Ending.FAILED),
        ("requestTooLarge", Ending.FAILED),
    ],
)
async def test_a_method_that_fails_did_nothing_unless_it_says_so(kind: str, ending: Ending) -> None:
    """RFC 8620 §3.6.2."""
    async with account() as (server, backend):
        some = await ready(server, backend, "flags")

        def fail(name: str) -> None:
            if name == "Email/set":
                raise Refusal(kind)

        server.meanwhile = fail
        assert {fate.ending for fate in await backend.set_flags(some, SEEN)} == {ending}


@pytest.mark.parametrize(
    ("status", "ending"), [(500, Ending.UNCERTAIN), (502, Ending.UNCERTAIN), (503, Ending.UNCERTAIN)]
)
async def test_a_fault_of_the_server_leaves_it_open_whether_it_was_done(status: int, ending: Ending) -> None:
    async with account() as (server, backend):
        some = await ready(server, backend, "flags")

        def fail(name: str) -> None:
            if name == "Email/get":
                server.answers = [(status, {}, b"")]

        server.meanwhile = fail
        assert {fate.ending for fate in await backend.set_flags(some, SEEN)} == {ending}


@pytest.mark.parametrize("status", [400, 401, 403, 413, 429])
async def test_a_request_that_was_not_let_in_did_nothing(status: int) -> None:
    async with account() as (server, backend):
        some = await ready(server, backend, "flags")

        def refuse(name: str) -> None:
            if name == "Email/get":
                server.answers = [(status, {}, b"")]

        server.meanwhile = refuse
        fates = await backend.set_flags(some, SEEN)
        assert {fate.ending for fate in fates} == {Ending.FAILED}
        assert not any("$seen" in one.keywords for one in server.store.emails.values())


# --- messages in several mailboxes ---------------------------------------------------------------------------------------


async def both(server: JmapServer, backend: JmapBackend, *names: str) -> Handle:
    """A message in INBOX and further mailboxes; its handle in INBOX."""
    places = [server.store.by_name(name).id for name in names]
    server.store.add(letter("one"), server.store.by_role("inbox").id, *places)
    return (await handles(backend))[0]


async def test_a_move_leaves_the_other_mailboxes_of_a_message_alone() -> None:
    """J-22: elsewhere a move took a message out of everything it was in."""
    async with account() as (server, backend):
        handle = await both(server, backend, "Blue", "Work")
        (fate,) = await backend.move([handle], await box(backend, Role.ARCHIVE))
        (stored,) = server.store.emails.values()
        assert fate.ending is Ending.DONE
        assert {server.store.folders[one].name for one in stored.mailboxes} == {"Archive", "Blue", "Work"}


async def test_a_message_in_two_mailboxes_has_a_row_and_a_handle_in_each() -> None:
    async with account() as (server, backend):
        await both(server, backend, "Work")
        server.store.add(letter("two", number=2), server.store.by_role("inbox").id)
        scope = [await box(backend), await named(backend, "Work")]
        whole = (await backend.search(scope, All(), Page(10))).rows
        assert sorted(row.subject for row in whole) == ["one", "one", "two"]
        assert len({row.handle for row in whole}) == 3
        paged, continuation = [], None
        for _ in range(3):
            found = await backend.search(scope, All(), Page(1, continuation=continuation))
            paged += found.rows
            continuation = found.continuation
        assert [row.handle for row in paged] == [row.handle for row in whole]
        assert continuation is None


async def test_a_copy_is_the_same_message_and_shares_its_flags() -> None:
    """J-23."""
    async with account() as (server, backend):
        handle = await both(server, backend)
        (copied,) = await backend.copy([handle], await named(backend, "Work"))
        assert copied.now is not None
        await backend.set_flags([copied.now], SEEN)
        (row,) = await backend.envelopes([handle])
        assert "seen" in row.flags
        (again,) = await backend.copy([handle], await named(backend, "Work"))
        assert (again.ending, again.code, again.now) == (Ending.SKIPPED, "already_there", copied.now)


async def test_what_is_in_trash_and_elsewhere_is_not_destroyed() -> None:
    """J-33."""
    async with account() as (server, backend):
        await both(server, backend, "Trash")
        (trashed,) = await handles(backend, Role.TRASH)
        (fate,) = await backend.destroy([trashed])
        assert (fate.ending, fate.code) == (Ending.FAILED, "held")
        assert len(server.store.emails) == 1


@pytest.mark.parametrize("role", [Role.INBOX, Role.SENT, Role.DRAFTS, Role.ARCHIVE])
async def test_nothing_is_destroyed_outside_trash_and_spam(role: Role) -> None:
    """J-33 to J-35."""
    async with account() as (server, backend):
        arrive(server, 1, role.value)
        (fate,) = await backend.destroy(await handles(backend, role))
        assert (fate.ending, fate.code) == (Ending.FAILED, "unsupported_semantics")
        assert len(server.store.emails) == 1
        if role is not Role.DRAFTS:
            with pytest.raises(MailError):
                backend.consequences().of("destroy", role)


async def test_a_draft_is_destroyed_in_drafts_and_other_mail_there_is_not() -> None:
    async with account() as (server, backend):
        drafts = server.store.by_role("drafts").id
        server.store.add(letter("a draft"), drafts, keywords=frozenset({"$draft"}))
        server.store.add(letter("no draft", number=1), drafts)
        found = {row.subject: row.handle for row in await rows(backend, Role.DRAFTS)}
        fates = await backend.destroy([found["a draft"], found["no draft"]])
        assert [(fate.ending, fate.code) for fate in fates] == [
            (Ending.DONE, None),
            (Ending.FAILED, "unsupported_semantics"),
        ]


async def test_the_last_mailbox_of_a_message_is_not_taken_from_it() -> None:
    async with account() as (server, backend):
        server.store.add(letter("one"), server.store.by_name("Blue").id)
        (row,) = (await backend.search([await named(backend, "Labels/Blue")], All(), Page(100))).rows
        (fate,) = await backend.unlabel([row.handle])
        assert (fate.ending, fate.code) == (Ending.FAILED, "held")
        with pytest.raises(Conflict) as refusal:
            await backend.remove(await named(backend, "Labels/Blue"))
        assert refusal.value.code == "not_empty"
        assert len(server.store.emails) == 1


async def test_a_handle_cannot_be_forged_to_change_a_message_elsewhere() -> None:
    """P-90: an id of one mailbox under the tag of another."""
    async with account() as (server, backend):
        arrive(server, 1, "archive")
        (secret,) = await handles(backend, Role.ARCHIVE)
        forged = replace(secret, tag=(await box(backend)).tag)
        for verb in ("move", "copy", "label", "flags"):
            (fate,) = await act(backend, verb, [forged])
            assert (fate.ending, fate.code) == (Ending.FAILED, "stale_handle")
        assert sets(server) == 0


async def test_two_handles_of_one_message_are_changed_together() -> None:
    async with account() as (server, backend):
        await both(server, backend, "Work")
        scope = [await box(backend), await named(backend, "Work")]
        two = [row.handle for row in (await backend.search(scope, All(), Page(100))).rows]
        fates = await backend.move(two, await box(backend, Role.ARCHIVE))
        assert {fate.ending for fate in fates} == {Ending.DONE}
        (stored,) = server.store.emails.values()
        assert stored.mailboxes == {server.store.by_role("archive").id}


async def test_what_the_owner_sent_and_drafts_go_home_to_their_own_mailboxes() -> None:
    async with account() as (server, backend):
        archive = server.store.by_role("archive").id
        server.store.add(letter("sent", sender=USER), archive)
        server.store.add(letter("draft", number=1), archive, keywords=frozenset({"$draft"}))
        await backend.move(await handles(backend, Role.ARCHIVE), HOME)
        assert [row.subject for row in await rows(backend, Role.SENT)] == ["sent"]
        assert [row.subject for row in await rows(backend, Role.DRAFTS)] == ["draft"]


@pytest.mark.parametrize("cut", ["before", "after"])
async def test_a_mailbox_whose_making_was_not_answered_is_uncertain(cut: Any) -> None:
    async with account() as (server, backend):
        await backend.mailboxes()
        server.cut = cut
        with pytest.raises(Ambiguous):
            await backend.create("New", Role.FOLDER)
        assert any(one.path == "New" for one in await backend.mailboxes(fresh=True)) is (cut == "after")


async def test_what_was_rescued_from_trash_is_never_told_as_destroyed() -> None:
    """To destroy takes a message out of every mailbox: one that is anywhere was not."""
    async with account() as (server, backend):
        some = await ready(server, backend, "destroy")
        server.cut = "before"
        fates = await act(backend, "destroy", some)
        server.store.emails[some[0].key].mailboxes = {server.store.by_role("inbox").id}
        del server.store.emails[some[1].key]
        proved = await backend.prove(fates, None, 0.0)
        assert [fate.ending for fate in proved] == [Ending.FAILED, Ending.DONE]


# --- answers that make no sense --------------------------------------------------------------------------------------------

NONSENSE: list[dict[str, Any]] = [
    {"updated": 7, "destroyed": 7, "created": 7},
    {"notUpdated": 7, "notDestroyed": 7, "notCreated": 7},
    {"notUpdated": [7], "destroyed": {"a": 1}, "created": [1]},
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("answer", NONSENSE)
async def test_an_answer_that_makes_no_sense_does_not_say_that_nothing_was_done(
    verb: str, answer: dict[str, Any]
) -> None:
    """P-61, N-16: the server did it by then, so it is looked for."""
    async with account() as (server, backend):
        some = await ready(server, backend, verb)
        server.lie = lambda name, told: answer if name == "Email/set" else told
        fates = await act(backend, verb, some)
        assert {(fate.ending, fate.code) for fate in fates} == {(Ending.UNCERTAIN, "outcome_unknown")}


@pytest.mark.parametrize("answer", [*NONSENSE, {}])
async def test_a_mailbox_a_message_and_an_identity_may_have_been_made_by_such_an_answer(answer: dict[str, Any]) -> None:
    async with account() as (server, backend):
        server.lie = lambda name, told: answer if name.endswith(("/set", "/import")) else told
        work = await named(backend, "Work")
        acts = [
            lambda: backend.create("New", Role.FOLDER),
            lambda: backend.rename(work, "Renamed"),
            lambda: backend.append(work, mail(USER, "bob@example.net")),
            lambda: backend.powers.create_identity(Identity("new@example.org", "")),
            lambda: backend.powers.set_vacation(Vacation(enabled=True)),
        ]
        for one in acts:
            with pytest.raises(Ambiguous):
                await one()


async def test_a_mailbox_that_cannot_be_looked_at_once_it_was_made_may_be_there() -> None:
    async with account() as (server, backend):
        await backend.mailboxes()

        def gone(name: str, told: dict[str, Any]) -> dict[str, Any]:
            if name == "Mailbox/set":
                server.answers = [(500, {}, b"")]
            return told

        server.lie = gone
        with pytest.raises(Ambiguous):
            await backend.create("New", Role.FOLDER)
        assert server.store.by_name("New")


async def test_a_mailbox_that_was_deleted_is_told_so_whatever_comes_after() -> None:
    async with account() as (server, backend):
        work = await named(backend, "Work")
        server.lie = lambda name, told: server.answers.append((500, {}, b"")) or told if name == "Mailbox/set" else told
        await backend.remove(work)
        assert "Work" not in {one.name for one in server.store.folders.values()}
