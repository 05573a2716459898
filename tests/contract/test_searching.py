"""The contract: search (P-53, N-3, B-02). Recall is complete, whatever the encoding."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from mcp_proton.domain.ports import Page
from mcp_proton.domain.query import (
    And,
    Contains,
    Field,
    HasAttachment,
    HasFlag,
    HeaderContains,
    Linked,
    MessageId,
    Not,
    Or,
    Query,
    Received,
    Size,
)
from tests.contract.letters import encoded, letter, with_attachment
from tests.contract.worlds import DAY, Mail, box

if TYPE_CHECKING:
    from tests.contract.worlds import World


async def found(world: World, query: Query, limit: int = 25) -> list[str]:
    page = await world.backend.search([await box(world)], query, Page(limit))
    return sorted(row.subject for row in page.rows)


ODD_SUBJECTS = {
    "=?utf-8?b?R3LDvMOfZSBhdXMgQmVybGlu?=": "GRÜSSE aus",
    "=?utf-8?q?caf=C3=A9_au_lait?=": "au lait",
    "=?iso-8859-2?q?Za=BFalenie?=": "zażalenie",
    "=?gb18030?b?xOO6w8rAvec=?=": "世界",
    "=?koi8-r?b?8NLJ18XU?=": "ПРИВЕТ",
    "=?utf-8?q?split_wo?= =?utf-8?q?rd_here?=": "split word",
    "Two  blanks   between": "two blanks between",
    'Quotes " and \\ backslash': '" and \\',
    "=?utf-8?q?=EF=BC=B7=EF=BD=89=EF=BD=84=EF=BD=85?=": "wide",
    "=?utf-8?b?zqPOr8+Dz4XPhs6/z4I=?=": "ΣΊΣΥΦΟΣ",
}


@pytest.mark.parametrize(("written", "asked"), ODD_SUBJECTS.items())
async def test_a_subject_is_found_however_it_is_written(world: World, written: str, asked: str) -> None:
    await world.put(Mail(letter(written)), Mail(letter("something else", number=1)))
    assert len(await found(world, Contains(Field.SUBJECT, asked))) == 1
    assert len(await found(world, Not(Contains(Field.SUBJECT, asked)))) == 1


LONG = "A long line of words that goes on well beyond what one line of quoted printable can hold without a break in it"
ODD_BODIES = {
    "base64": (encoded("Treffen im Café Zürich".encode(), charset="utf-8", encoding="base64"), "CAFÉ zürich"),
    "quoted-printable": (
        encoded("größe des Pakets".encode(), charset="utf-8", encoding="quoted-printable"),
        "GRÖSSE DES",
    ),
    "soft break": (encoded(LONG.encode(), charset="utf-8", encoding="quoted-printable"), "without a break"),
    "soft break in a word": (
        encoded(b"x" * 70 + b" unbroken word", charset="utf-8", encoding="quoted-printable"),
        "unbroken word",
    ),
    "gb18030": (encoded("会议在北京举行".encode("gb18030"), charset="gb18030", encoding="base64"), "北京"),
    "latin-1": (
        encoded("crème brûlée".encode("latin-1"), charset="iso-8859-1", encoding="quoted-printable"),
        "CRÈME BRÛLÉE",
    ),
    "html": (
        encoded(b"<p>Gr&uuml;&szlig;e <b>aus</b> K&#246;ln</p>", charset="utf-8", encoding="base64", kind="html"),
        "grüße aus köln",
    ),
    "line break": (letter(body="the first\nsecond line"), "first second"),
}


@pytest.mark.parametrize("name", ODD_BODIES)
async def test_a_body_is_found_however_it_is_encoded(world: World, name: str) -> None:
    raw, asked = ODD_BODIES[name]
    await world.put(Mail(raw), Mail(letter("something else", body="nothing of the kind", number=1)))
    inbox = await box(world)
    for field in (Field.BODY, Field.TEXT):
        page = await world.backend.search([inbox], Contains(field, asked), Page(25))
        assert [row.subject for row in page.rows] != ["something else"]
        assert len(page.rows) == 1


async def test_people_are_found_by_name_and_address(world: World) -> None:
    await world.put(
        Mail(letter("from", sender="=?utf-8?q?J=C3=B6rg_Mei=C3=9Fner?= <joerg@example.org>")),
        Mail(letter("to", to='"Berg, Anna" <other@example.org>', sender="x@example.com", number=1)),
        Mail(letter("cc", extra="Cc: Team <team@example.net>\n", sender="y@example.com", number=2)),
    )
    assert await found(world, Contains(Field.FROM, "jörg meissner")) == ["from"]
    assert await found(world, Contains(Field.FROM, "JOERG@EXAMPLE")) == ["from"]
    assert await found(world, Contains(Field.TO, "berg, anna")) == ["to"]
    assert await found(world, Contains(Field.CC, "team")) == ["cc"]
    assert await found(world, Contains(Field.PARTICIPANT, "example.net")) == ["cc"]
    assert await found(world, Contains(Field.PARTICIPANT, "jörg")) == ["from"]


async def test_terms_can_be_combined(world: World) -> None:
    await world.put(
        Mail(letter("apple", body="red"), flags=frozenset({"seen"})),
        Mail(letter("banana", body="yellow", number=1), flags=frozenset({"flagged"})),
        Mail(letter("cherry", body="red", number=2)),
    )
    red = Contains(Field.BODY, "red")
    assert await found(world, And((red, Not(HasFlag("seen"))))) == ["cherry"]
    assert await found(world, Or((HasFlag("flagged"), Contains(Field.SUBJECT, "apple")))) == ["apple", "banana"]
    assert await found(world, Not(Or((red, HasFlag("flagged"))))) == []
    assert await found(world, And((Not(red), Not(HasFlag("seen"))))) == ["banana"]


async def test_dates_are_compared_to_the_second(world: World) -> None:
    await world.put(
        *[Mail(letter(f"hour {hour}", number=hour), DAY + timedelta(hours=hour)) for hour in (0, 11, 12, 36)]
    )
    since, before = DAY + timedelta(hours=11), DAY + timedelta(hours=36)
    assert await found(world, Received(since, before)) == ["hour 11", "hour 12"]
    assert await found(world, Received(before=since)) == ["hour 0"]
    assert await found(world, Not(Received(since=since))) == ["hour 0"]


async def test_size_attachments_and_headers_are_found(world: World) -> None:
    await world.put(
        Mail(letter("small", extra="X-Ticket: =?utf-8?q?Gr=C3=BC=C3=9Fe-17?=\n")),
        Mail(with_attachment(bytes(range(256)) * 40)),
    )
    assert await found(world, Size(larger=5_000)) == ["With a file"]
    assert await found(world, Size(smaller=5_000)) == ["small"]
    assert await found(world, HasAttachment()) == ["With a file"]
    assert await found(world, Not(HasAttachment())) == ["small"]
    assert await found(world, HeaderContains("X-Ticket", "grüße-17")) == ["small"]
    assert await found(world, HeaderContains("x-ticket", "")) == ["small"]


async def test_a_message_id_is_compared_exactly(world: World) -> None:
    await world.put(
        Mail(letter("one", number=1)), Mail(letter("two", number=2, extra="In-Reply-To: <m1@example.org>\n"))
    )
    assert await found(world, MessageId("<m1@example.org>")) == ["one"]
    assert await found(world, MessageId("<M1@example.org>")) == []
    assert await found(world, Linked(frozenset({"<m1@example.org>"}))) == ["one", "two"]


async def test_a_text_in_a_large_message_is_found_without_its_attachment(world: World) -> None:
    await world.put(Mail(with_attachment(b"\0" * 900_000, body="The needle is here.")))
    assert await found(world, Contains(Field.BODY, "needle is")) == ["With a file"]
    assert await found(world, Contains(Field.BODY, "AAAAAAAA")) == []


async def test_hits_come_newest_first_and_in_pages(world: World) -> None:
    for number in (3, 9, 1, 7, 5, 8, 2):
        await world.put(Mail(letter(f"report {number}", number=number), DAY + timedelta(days=number)))
    inbox = await box(world)
    seen: list[str] = []
    page = Page(3)
    while True:
        answer = await world.backend.search([inbox], Contains(Field.SUBJECT, "REPORT"), page)
        seen += [row.subject for row in answer.rows]
        if answer.continuation is None:
            break
        page = Page(3, continuation=answer.continuation)
    assert seen == [f"report {number}" for number in (9, 8, 7, 5, 3, 2, 1)]


async def test_a_complete_answer_says_so_and_names_what_was_looked_at(world: World) -> None:
    await world.put(Mail(letter("one")), Mail(letter("two", number=1)))
    inbox = await box(world)
    answer = await world.backend.search([inbox], Contains(Field.SUBJECT, "one"), Page(5))
    assert answer.coverage.complete
    assert answer.continuation is None
    (covered,) = answer.coverage.mailboxes
    assert (covered.mailbox, covered.looked_at, covered.of) == (inbox.path, 2, 2)


async def test_new_mail_is_found_by_the_same_search(world: World) -> None:
    await world.put(Mail(letter("first apple")))
    query = Contains(Field.SUBJECT, "apple")
    assert await found(world, query) == ["first apple"]
    await world.put(Mail(letter("second apple", number=1)))
    assert await found(world, query) == ["first apple", "second apple"]


async def test_what_was_destroyed_is_not_found(world: World) -> None:
    await world.put(Mail(letter("apple")))
    query = Contains(Field.SUBJECT, "apple")
    assert await found(world, query) == ["apple"]
    await world.empty_inbox()
    assert await found(world, query) == []
