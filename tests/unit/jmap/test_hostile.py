"""What a broken or hostile server sends: bounded, told, and never believed beyond what can be true."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.domain.errors import MailError, Unavailable
from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import All
from mcp_proton.jmap.finding import windows
from mcp_proton.jmap.protocol import client
from tests.unit.jmap.accounts import account, arrive, box, handles, rows

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = dict[str, Any]


@pytest.mark.parametrize(
    "octets",
    [
        b"",
        b"not json",
        b"[]",
        b"null",
        b'{"methodResponses":5}',
        b'{"methodResponses":[]}',
        b'{"methodResponses":[["Mailbox/get",{},"c9"]]}',
        b'{"methodResponses":[["Mailbox/get",[],"c0"]]}',
        b'{"methodResponses":[["Email/get",{"list":[]},"c0"]]}',
        b'{"methodResponses":[["Mailbox/get",{"list":[{"id":"a b"}]},"c0"]]}',
        b'{"methodResponses":[["Mailbox/get",{"list":[{"id":"a","totalEmails":-1}]},"c0"]]}',
        b'{"methodResponses":[["Mailbox/get",{"list":[{"id":"a","totalEmails":NaN}]},"c0"]]}',
        b'{"a":' * 100_000,
        b'{"a":' + b"9" * 10_000 + b"}",
    ],
)
async def test_an_answer_that_is_none_is_refused(octets: bytes) -> None:
    async with account() as (server, backend):
        await backend.health()
        server.answers = [(200, {}, octets)]
        with pytest.raises(Unavailable) as refusal:
            await backend.mailboxes()
        assert refusal.value.code == "bad_server_answer"


async def test_an_answer_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "LARGEST_ANSWER", 100_000)
    async with account() as (server, backend):
        await backend.health()
        server.answers = [(200, {}, b"x" * 200_000)]
        with pytest.raises(Unavailable) as refusal:
            await backend.mailboxes()
        assert refusal.value.code == "server_limit_exceeded"


async def test_a_small_answer_that_unpacks_into_a_large_one_is_cut_off() -> None:
    bomb = gzip.compress(gzip.compress(b"\0" * (1 << 20)) + b"\0" * (200 << 20))
    async with account() as (server, backend):
        await backend.health()
        server.answers = [(200, {"Content-Encoding": "gzip"}, bomb)]
        with pytest.raises(Unavailable) as refusal:
            await backend.mailboxes()
        assert refusal.value.code == "server_limit_exceeded"


@pytest.mark.parametrize(("packing", "octets"), [("br", b"abc"), ("gzip", b"no gzip"), ("x" * 50, b"")])
async def test_an_answer_packed_in_an_odd_way_is_refused(packing: str, octets: bytes) -> None:
    async with account() as (server, backend):
        await backend.health()
        server.answers = [(200, {"Content-Encoding": packing}, octets)]
        with pytest.raises(Unavailable) as refusal:
            await backend.mailboxes()
        assert refusal.value.code == "bad_server_answer"


async def test_a_packed_answer_is_read() -> None:
    async with account() as (server, backend):
        await backend.health()
        told = {"methodResponses": [["Mailbox/get", {"list": [{"id": "a", "name": "In", "role": "inbox"}]}, "c0"]]}
        server.answers = [(200, {"Content-Encoding": "gzip"}, gzip.compress(json.dumps(told).encode()))]
        assert [one.path for one in await backend.mailboxes()] == ["In"]


def _query(change: Callable[[Answer], Answer]) -> Callable[[str, Answer], Answer]:
    return lambda name, answer: change(answer) if name == "Email/query" else answer


LIES: dict[str, Callable[[Answer], Answer]] = {
    "no state": lambda told: {k: v for k, v in told.items() if k != "queryState"},
    "no position": lambda told: {k: v for k, v in told.items() if k != "position"},
    "no ids": lambda told: {k: v for k, v in told.items() if k != "ids"},
    "more than asked": lambda told: told | {"ids": [f"x{n}" for n in range(900)], "total": 900},
    "more than its own limit": lambda told: told | {"limit": 2},
    "an id twice": lambda told: told | {"ids": [*told["ids"][:-1], told["ids"][0]]},
    "an empty id": lambda told: told | {"ids": ["", *told["ids"][1:]]},
    "a total behind what was given": lambda told: told | {"total": 1},
    "nothing where there is more": lambda told: told | {"ids": []},
    "a limit of nothing": lambda told: told | {"ids": [], "limit": 0, "total": None},
    "no number": lambda told: told | {"position": "0"},
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_page_that_cannot_be_true_is_refused(lie: str) -> None:
    """J-73, J-75."""
    async with account() as (server, backend):
        arrive(server, 4)
        server.lie = _query(LIES[lie])
        with pytest.raises(windows.InvalidUpstream) as refusal:
            await rows(backend)
        assert refusal.value.code == "upstream_response_invalid"


async def test_a_limit_above_what_was_asked_is_no_lie() -> None:
    """J-76."""
    async with account() as (server, backend):
        arrive(server, 4)
        server.lie = _query(lambda told: told | {"limit": 10_000})
        assert len(await rows(backend)) == 4


async def test_a_server_that_gives_the_same_page_for_ever_is_left() -> None:
    async with account() as (server, backend):
        arrive(server, 4)
        first = await backend.search([await box(backend)], All(), Page(2))
        server.lie = lambda name, told: (
            told | {"total": 99} if name == "Email/query" else told | {"list": []} if name == "Email/get" else told
        )
        with pytest.raises(MailError):
            await backend.search([await box(backend)], All(), Page(2, continuation=first.continuation))


async def test_messages_nobody_asked_for_and_messages_twice_are_passed_over() -> None:
    async with account() as (server, backend):
        arrive(server, 2)
        first, second = await handles(backend)
        server.lie = lambda name, told: told | {"list": told["list"] * 2} if name == "Email/get" else told
        assert [row.handle for row in await backend.envelopes([first])] == [first]
        assert len(await rows(backend)) == 2
        other = server.store.emails[second.key]
        server.lie = lambda name, told: (
            told | {"list": [{"id": other.id, "mailboxIds": {}}]} if name == "Email/get" else told
        )
        assert await backend.envelopes([first]) == []


async def test_values_of_the_wrong_kind_in_a_message_are_refused_not_shown() -> None:
    async with account() as (server, backend):
        arrive(server, 1)
        (handle,) = await handles(backend)
        for key, value in [("subject", 5), ("from", "x"), ("size", -1), ("keywords", []), ("from", [[]])]:
            server.lie = lambda name, told, key=key, value=value: (  # type: ignore[misc]
                told | {"list": [one | {key: value} for one in told["list"]]} if name == "Email/get" else told
            )
            with pytest.raises(Unavailable):
                await backend.envelopes([handle])


async def test_halves_of_characters_become_marks() -> None:
    async with account() as (server, backend):
        arrive(server, 1)
        server.lie = lambda name, told: (
            told | {"list": [one | {"subject": "a\ud800b"} for one in told["list"]]} if name == "Email/get" else told
        )
        (row,) = await rows(backend)
        assert row.subject == "a?b"


async def test_mailboxes_in_a_circle_and_without_a_parent_are_listed() -> None:
    async with account() as (server, backend):
        one = server.store.folder("One")
        two = server.store.folder("Two", one.id)
        one.parent = two.id
        server.store.folder("Orphan", "nowhere")
        server.store.folder("a/b")
        paths = [box.path for box in await backend.mailboxes()]
        assert {"Two/One", "One/Two", "Orphan", "a\N{DIVISION SLASH}b"} <= set(paths)


async def test_a_second_inbox_is_a_folder() -> None:
    async with account() as (server, backend):
        server.store.folder("Other", role="inbox")
        assert [box.path for box in await backend.mailboxes() if box.role.value == "inbox"] == ["Inbox"]


async def test_a_deep_structure_and_a_wide_one_are_bounded() -> None:
    async with account() as (server, backend):
        arrive(server, 1)
        (handle,) = await handles(backend)
        deep: Answer = {"type": "text/plain", "partId": "1", "blobId": "b"}
        for _ in range(150):
            deep = {"type": "multipart/mixed", "subParts": [deep]}
        wide = {"type": "multipart/mixed", "subParts": [{"type": "text/plain", "blobId": "b"}] * 5_000}
        for structure in (deep, wide):
            server.lie = lambda name, told, structure=structure: (  # type: ignore[misc]
                told | {"list": [one | {"size": 9_999_999, "bodyStructure": structure} for one in told["list"]]}
                if name == "Email/get"
                else told
            )
            assert len((await backend.structure(handle)).root.walk()) <= 1_001
