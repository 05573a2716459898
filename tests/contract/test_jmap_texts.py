"""A text that comes along with a conversation is the text that reading the message gives, or it does not come along."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.services.presenting import content
from tests.contract import worlds
from tests.contract.letters import letter
from tests.contract.worlds import Mail

if TYPE_CHECKING:
    from tests.contract.worlds import World

HEAD = (
    "From: A <a@example.org>\nTo: B <b@example.org>\nSubject: Kinds\nReferences: <m1@example.org>\nMIME-Version: 1.0\n"
)
PLAIN = "Content-Type: text/plain; charset=utf-8\n"
HTML = "Content-Type: text/html; charset=utf-8\n"
WEB = '<p>Hello <b>there</b></p><p style="display:none">hidden words</p><a href="https://example.org/x">a link</a>'


def of(number: int, rest: str) -> bytes:
    return f"{HEAD}Message-ID: <k{number}@example.org>\nIn-Reply-To: <m1@example.org>\n{rest}".encode()


def parts(kind: str, *several: str) -> str:
    body = "".join(f"--=b\n{one}\n" for one in several)
    return f'Content-Type: multipart/{kind}; boundary="=b"\n\n{body}--=b--\n'


KINDS = {
    "plain": f"{PLAIN}\nGood day.\n\nSecond  paragraph.\n> quoted\n",
    "latin": "Content-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nGr=FC=DFe\n",
    "flowed": "Content-Type: text/plain; charset=utf-8; format=flowed\n\nOne line \nthat goes on.\n",
    "html": f"{HTML}\n{WEB}\n",
    "both": parts("alternative", f"{PLAIN}\nThe plain one.\n", f"{HTML}\n{WEB}\n"),
    "stub": parts("alternative", f"{PLAIN}\nhttps://example.org/view\n", f"{HTML}\n{WEB}\n"),
    "attached": parts(
        "mixed", f"{PLAIN}\nBody.\n", "Content-Type: application/pdf\nContent-Disposition: attachment\n\nx\n"
    ),
    "two": parts("mixed", f"{PLAIN}\nFirst.\n", f"{PLAIN}\nSecond.\n"),
    "unknown charset": "Content-Type: text/plain; charset=x-no-such\n\nabc \xe9\n",
    "empty": f"{PLAIN}\n\n",
    "long": PLAIN + "\n" + "word " * 9_000 + "\n",
    "calendar": "Content-Type: text/calendar; charset=utf-8\n\nBEGIN:VCALENDAR\nEND:VCALENDAR\n",
}
SIMPLE = {"plain", "latin", "html", "both", "attached"}


async def test_what_comes_along_is_what_reading_gives(jmap_world: World) -> None:
    """J-10, B-02: hidden text stays hidden, whichever way a message is read."""
    mails = [Mail(letter("Kinds", number=1)), *(Mail(of(number, rest)) for number, rest in enumerate(KINDS.values()))]
    await jmap_world.put(*mails)
    rows = await worlds.newest(jmap_world, 50)
    first = next(row for row in rows if row.message_id == "<m1@example.org>")
    backend = jmap_world.backend
    assert backend.powers is not None
    told = await backend.powers.conversation(first.handle, [await worlds.box(jmap_world)])
    names = {f"<k{number}@example.org>": name for number, name in enumerate(KINDS)}
    came = {names.get(row.message_id, "plain") for row in told.rows if row.handle in told.texts}
    assert len(told.rows) == len(mails)
    assert came >= SIMPLE
    assert not came & {"flowed", "stub", "two", "long", "empty"}
    for handle, text in told.texts.items():
        assert text.strip() == (await content.read(backend, handle)).text.strip()
        assert "hidden" not in text
