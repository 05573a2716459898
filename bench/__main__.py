"""`make bench`: every measurement, as ratios in one run. Name parts to run only those."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable

from tests.servers import gluon_build
from tests.servers.mail import Mail

from . import (
    door,
    extensions,
    filing,
    jmap,
    journal,
    listing,
    memory,
    pacing,
    passing,
    places,
    reading,
    searching,
    sending,
    serving,
    startup,
    transfer,
    trashing,
    walking,
    watching,
)
from .timing import Figure, tell

MANY = 50_000


def run_listing() -> None:
    """Pages on Dovecot and on the simulator."""
    with places.dovecot() as mailbox:
        tell(asyncio.run(listing.pages(mailbox(places.letters(MANY)), MANY)))
        tell(asyncio.run(listing.growth(mailbox(places.letters(100)), mailbox(places.letters(MANY)))))
    with places.simulator(20_000) as place:
        tell(asyncio.run(listing.pages(place, 20_000)))


def run_reading() -> None:
    """The next page, single messages and all flags, on Dovecot; a small message and flags on the simulator."""
    with places.dovecot() as mailbox:
        many = mailbox(places.letters(MANY))
        tell([asyncio.run(reading.next_page(many, MANY)), asyncio.run(reading.flags(many, MANY))])
        small = mailbox(places.letters(1, size=10_000, needles=0))
        large = mailbox(iter([Mail(places.big(25))]))
        tell([asyncio.run(reading.message(small, "10 KB")), asyncio.run(reading.message(large, "25 MB"))])
    with places.simulator(20_000) as place:
        tell([asyncio.run(reading.next_page(place, 20_000)), asyncio.run(reading.flags(place, 20_000))])


def run_searching() -> None:
    """Searches on Dovecot and on the simulator."""
    with places.dovecot() as mailbox:
        place = mailbox(places.letters(20_000))
        tell(asyncio.run(searching.by_header(place, "needle@rare", 100)))
        tell(asyncio.run(searching.by_body(place, "quitespecialword")))
    with places.simulator(20_000) as place:
        tell(asyncio.run(searching.by_header(place, "anna", None)))


def run_engine() -> None:
    """Pages, searches and moves on Proton's own IMAP engine with 20,000 messages."""
    if lacks := gluon_build.missing():
        print(gluon_build.left_out(lacks))
        return
    with places.engine(places.letters(20_000)) as place:
        tell(asyncio.run(listing.pages(place, 20_000)))
        tell(asyncio.run(searching.by_header(place, "needle@rare", 100)))
        tell(asyncio.run(searching.by_body(place, "quitespecialword")))
        tell(asyncio.run(filing.recipe(place, 1_000)))


def run_filing() -> None:
    """Moves and flags on Dovecot and on the simulator."""
    with places.dovecot() as mailbox:
        tell(asyncio.run(filing.moves(mailbox(places.letters(20_000)), 1_000)))
        tell(asyncio.run(filing.flags(mailbox(places.letters(10_000)), 10_000)))
    with places.simulator(20_000) as place:
        tell(asyncio.run(filing.recipe(place, 350)))


def run_transfer() -> None:
    """Mail into files and back: at the pace of Bridge, on Dovecot, and on Proton's own IMAP engine."""
    with places.dovecot() as mailbox:
        with pacing.paced(mailbox(places.mixed(1_000))) as place:
            tell(asyncio.run(transfer.exports(place, 1_000, MIXED, goal=True)))
        with pacing.paced(mailbox(places.letters(1_000))) as place:
            tell(asyncio.run(transfer.exports(place, 1_000, "of 1 KB", goal=True)))
        tell(asyncio.run(transfer.exports(mailbox(places.mixed(1_000)), 1_000, MIXED)))
        tell(asyncio.run(transfer.exports(mailbox(places.letters(1_000, size=8_000)), 1_000, "of 8 KB")))
        tell(asyncio.run(transfer.imports(mailbox(places.letters(1)), 1_000)))
    if lacks := gluon_build.missing():
        print(gluon_build.left_out(lacks))
        return
    with places.engine(places.mixed(1_000)) as place:
        tell(asyncio.run(transfer.exports(place, 1_000, MIXED)))
    with places.engine(places.letters(1_000, size=8_000)) as place:
        tell(asyncio.run(transfer.exports(place, 1_000, "of 8 KB")))
    with places.engine(places.letters(1)) as place:
        tell(asyncio.run(transfer.imports(place, 200, looks=True)))


MIXED = "of 45 KB on average"
PARTS: dict[str, Callable[[], list[Figure] | None]] = {
    "listing": run_listing,
    "reading": run_reading,
    "searching": run_searching,
    "filing": run_filing,
    "walking": walking.measure,
    "extensions": extensions.measure,
    "watching": watching.measure,
    "jmap": jmap.measure,
    "transfer": run_transfer,
    "engine": run_engine,
    "trashing": trashing.measure,
    "journal": journal.measure,
    "sending": sending.measure,
    "passing": passing.measure,
    "door": door.measure,
    "memory": memory.measure,
    "startup": startup.measure,
    "serving": serving.measure,
}


def _part(name: str) -> str:
    if name not in PARTS:
        raise argparse.ArgumentTypeError(f"there is no part {name!r}")
    return name


def main() -> None:
    """Run the parts named, or all of them."""
    reader = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    reader.add_argument("part", nargs="*", type=_part, metavar="PART", help=f"one of {', '.join(PARTS)}")
    for name in reader.parse_args().part or list(PARTS):
        print(f"\n{name}", flush=True)
        figures = PARTS[name]()
        if figures:
            tell(figures)


if __name__ == "__main__":
    main()
