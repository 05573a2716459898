"""Endless everyday correspondence in many languages and shapes, each letter made from numbers alone."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from mcp_proton.simulator.correspondence import oddities
from mcp_proton.simulator.correspondence.files import event, pdf, picture, table
from mcp_proton.simulator.correspondence.letter import File, Letter
from mcp_proton.simulator.correspondence.tongues import TONGUES, Tongue

if TYPE_CHECKING:
    from datetime import datetime

    from mcp_proton.simulator.correspondence.owner import Owner

_YEARS = timedelta(days=730)
_RECENT = timedelta(days=45)
_SHOPS = (
    "Paper & Ink",
    "Northern Tools",
    "Tea Harbour",
    "Lamp Works",
    "Garden Gate",
    "Book Nook",
    "Wool Shed",
    "Bike Barn",
)
_LISTS = (
    "Tides and Times",
    "The Sunday Seed",
    "Letters on Type",
    "Harbour News",
    "Slow Code",
    "Bird Notes",
    "Map of the Week",
)
_FOLDERS = ("Folders/Clients", "Folders/Clients/Harbour Museum", "Folders/Clients/City Library", "Folders/Travel")
_LABELS: tuple[tuple[str, ...], ...] = (
    (), (), (), (), ("Labels/Work",), ("Labels/Home",), ("Labels/Work", "Labels/Important"),
)  # fmt: skip
_SHAPES = ("note", "newsletter", "receipt", "invoice", "invitation", "odd")
_SHAPE_SHARES = (34, 26, 18, 10, 6, 6)
_TONGUE_SHARES = tuple(tongue.share for tongue in TONGUES)
_LENGTHS = (1,) * 36 + (2, 3, 3, 4, 5, 7)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One exchange: when each of its letters was written, and where the owner keeps those that came."""

    seed: int
    agos: tuple[timedelta, ...]
    shape: str
    tongue: Tongue
    place: str
    labels: tuple[str, ...]
    starred: bool
    unread: bool


def exchange(seed: int, number: int) -> Exchange:
    """The outline of an exchange, without a word of it; always the same for the same numbers."""
    own_seed = (seed * 1_000_003 + number) & 0xFFFF_FFFF_FFFF
    luck = _luck(own_seed)
    # More of the mail is recent: a mailbox grows.
    agos = [_YEARS * luck.random() ** 1.4]
    for position in range(1, luck.choice(_LENGTHS)):
        agos.append(max(timedelta(minutes=10 - position), agos[-1] - timedelta(hours=luck.uniform(1, 70))))
    shape = "conversation" if len(agos) > 1 else luck.choices(_SHAPES, _SHAPE_SHARES)[0]
    recent = agos[0] < _RECENT
    shelf = luck.choice(_FOLDERS)
    place = luck.choices(("inbox", "archive", shelf, "trash"), (70, 20, 8, 2) if recent else (25, 55, 17, 3))[0]
    return Exchange(
        seed=own_seed,
        agos=tuple(agos),
        shape=shape,
        tongue=luck.choices(TONGUES, _TONGUE_SHARES)[0],
        place="Folders/Receipts" if shape == "receipt" else place,
        labels=("Labels/Invoices",) if shape == "invoice" else luck.choice(_LABELS),
        starred=luck.random() < 0.04,
        unread=luck.random() < (0.3 if recent else 0.03),
    )


def mine(position: int) -> bool:
    """Whether the owner wrote the letter at this place of an exchange: every second one."""
    return position % 2 == 1


def letter(plan: Exchange, position: int, now: datetime, owner: Owner) -> Letter:
    """One letter of an exchange; always the same for the same arguments."""
    luck = _luck(plan.seed + 7_919 * (position + 1))
    match plan.shape:
        case "conversation":
            found = _turn(plan, position, luck, owner)
        case "newsletter":
            found = _newsletter(plan, luck, now, owner)
        case "receipt":
            found = _receipt(luck, owner)
        case "invoice":
            found = _invoice(plan, luck, now, owner)
        case "invitation":
            found = _invitation(plan, luck, now, owner)
        case _:
            found = _note(plan.tongue, luck, _person(plan), owner)
            found = oddities.twisted(found, luck) if plan.shape == "odd" else found
    found.ago = plan.agos[position]
    found.key = _key(plan, position, found.sender)
    found.kind = "sent" if mine(position) else "received"
    return found


def _luck(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311  (made-up mail needs no secrets)


def _key(plan: Exchange, position: int, sender: str) -> str:
    return f"{plan.seed:x}.{position}@{sender.rpartition('@')[2].rstrip('>')}"


def _person(plan: Exchange) -> str:
    """The stranger of an exchange, the same in all its letters."""
    tongue = plan.tongue
    given = tongue.given[plan.seed % len(tongue.given)]
    family = tongue.family[plan.seed // 7 % len(tongue.family)]
    name = f"{family}{given}" if tongue.family_first else f"{given} {family}"
    return f"{name} <{tongue.code}{plan.seed % 90}@{tongue.domain}>"


def _words(luck: random.Random, tongue: Tongue) -> str:
    picked = luck.sample(tongue.sentences, k=min(len(tongue.sentences), luck.randint(2, 6)))
    cut = max(1, len(picked) // 2)
    join = "" if tongue.family_first else " "
    return join.join(picked[:cut]) + "\n\n" + join.join(picked[cut:])


def _signed(luck: random.Random, tongue: Tongue, reader: str, writer: str) -> str:
    return f"{tongue.greeting.format(reader)}\n\n{_words(luck, tongue)}\n\n{tongue.farewell}\n{writer}\n"


def _note(tongue: Tongue, luck: random.Random, sender: str, owner: Owner) -> Letter:
    text = _signed(luck, tongue, owner.first, sender.partition(" <")[0])
    charset, encoding = luck.choice(tongue.styles)
    form = luck.random()
    page = "".join(f"<p>{line}</p>" for line in text.split("\n") if line)
    return Letter(
        timedelta(), sender, str(owner), luck.choice(tongue.subjects), "" if form < 0.1 else text,
        html=f"<html><body>{page}</body></html>" if form < 0.35 else "", charset=charset, encoding=encoding,
        files=(_attachment(luck),) if luck.random() < 0.12 else (),
    )  # fmt: skip


def _turn(plan: Exchange, position: int, luck: random.Random, owner: Owner) -> Letter:
    friend = _person(plan)
    subject = plan.tongue.subjects[plan.seed % len(plan.tongue.subjects)]
    charset, encoding = plan.tongue.styles[plan.seed % len(plan.tongue.styles)]
    writers = (friend, str(owner))
    sender, to = writers[position % 2], writers[(position + 1) % 2]
    names = (friend.partition(" <")[0], owner.first)
    return Letter(
        timedelta(), sender, to, f"Re: {subject}" if position else subject,
        _signed(luck, plan.tongue, names[(position + 1) % 2], names[position % 2]), charset=charset, encoding=encoding,
        answers=tuple(_key(plan, earlier, writers[earlier % 2]) for earlier in range(position)),
        files=(_attachment(luck),) if luck.random() < 0.08 else (),
    )  # fmt: skip


def _newsletter(plan: Exchange, luck: random.Random, now: datetime, owner: Owner) -> Letter:
    name = luck.choice(_LISTS)
    domain = name.lower().replace(" ", "-") + ".example"
    issue = (now - plan.agos[0]).toordinal() % 600
    body = _words(luck, plan.tongue)
    page = body.replace("\n\n", "</p><p>")
    headers = (
        ("List-Id", f"{name} <list.{domain}>"),
        ("List-Unsubscribe", f"<https://{domain}/off?i={issue}>, <mailto:off@{domain}>"),
    )
    return Letter(
        timedelta(), f"{name} <news@{domain}>", str(owner), f"{name} {issue}: {luck.choice(plan.tongue.subjects)}",
        f"{body}\n\nhttps://{domain}/{issue}\n", headers=headers,
        html=f'<html><body><h1>{name} {issue}</h1><p>{page}</p><a href="https://{domain}/off">Unsubscribe</a></body></html>',
    )  # fmt: skip


def _shop(luck: random.Random, desk: str) -> tuple[str, str]:
    name = luck.choice(_SHOPS)
    return name, f"{desk}@{name.lower().replace(' & ', '-').replace(' ', '-')}.example"


def _receipt(luck: random.Random, owner: Owner) -> Letter:
    shop, address = _shop(luck, "till")
    text = f"{shop}\n\nTotal: {luck.uniform(3, 240):.2f} EUR\nThank you!\n"
    subject = f"Receipt {luck.randrange(10_000, 99_999)} from {shop}"
    return Letter(timedelta(), f"{shop} <{address}>", str(owner), subject, text)


def _invoice(plan: Exchange, luck: random.Random, now: datetime, owner: Owner) -> Letter:
    shop, address = _shop(luck, "accounts")
    number = f"{now - plan.agos[0]:%Y}-{plan.seed % 9000 + 1000}"
    total = f"{luck.uniform(40, 2400):.2f} EUR"
    page = pdf(f"Invoice-{number}.pdf", [shop, f"Invoice {number}", f"Bill to: {owner.name}", f"Total: {total}"])
    text = f"Dear {owner.name},\n\nattached is invoice {number} over {total}.\n\n{shop}\n"
    return Letter(timedelta(), f"{shop} Accounts <{address}>", str(owner), f"Invoice {number}", text, files=(page,))


def _invitation(plan: Exchange, luck: random.Random, now: datetime, owner: Owner) -> Letter:
    tongue = plan.tongue
    sender = _person(plan)
    subject = luck.choice(tongue.subjects)
    start = now - plan.agos[0] + timedelta(days=luck.randint(1, 20))
    organizer = sender.rpartition("<")[2].rstrip(">")
    meeting = event(subject, start, organizer, owner.address, uid=f"{plan.seed:x}@meet.example")
    text = f"{tongue.greeting.format(owner.first)}\n\n{luck.choice(tongue.sentences)}\n"
    return Letter(timedelta(), sender, str(owner), f"Invitation: {subject}", text, files=(meeting,))


def _attachment(luck: random.Random) -> File:
    match luck.randrange(4):
        case 0:
            return pdf(
                f"notes-{luck.randrange(999)}.pdf", ["Notes", *(f"{n}. {luck.randrange(9999)}" for n in range(1, 5))]
            )
        case 1:
            return table(
                "figures.csv", [("day", "value"), *((str(day), str(luck.randrange(500))) for day in range(1, 13))]
            )
        case 2:
            return picture(f"IMG_{luck.randrange(1000, 9999)}.png", (luck.randrange(256), luck.randrange(256), 80))
        case _:
            return File("résumé.txt", "text/plain", b"Une page.\r\n")
