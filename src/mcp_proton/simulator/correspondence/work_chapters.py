"""The owner's work: a museum's signs, bills, meetings, forwarded and oddly packed mail."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from mcp_proton.simulator.correspondence import files
from mcp_proton.simulator.correspondence.letter import File, Letter
from mcp_proton.simulator.correspondence.people_of_the_story import DANIEL, MARLOW, PRIYA

if TYPE_CHECKING:
    from mcp_proton.simulator.correspondence.owner import Owner

_MUSEUM = "Folders/Clients/Harbour Museum"


def letters(owner: Owner, now: datetime) -> list[Letter]:
    """All of them, in no order."""
    return [*_museum(owner), *_meetings(owner, now), *_bills(owner, now), *_odd(owner), *_drafts(owner)]


def _museum(owner: Owner) -> list[Letter]:
    keys = [f"signage-{number}@harbour-museum.example" for number in range(1, 8)]
    subject = "Harbour Museum: signs for the new wing"
    budget = files.table(
        "signage-budget.csv",
        [
            ("item", "count", "unit price EUR", "total EUR"),
            ("Brass letters", "120", "4.80", "576.00"),
            ("Floor plans", "6", "210.00", "1260.00"),
            ("Light boxes", "4", "385.00", "1540.00"),
            ("Fitting", "1", "950.00", "950.00"),
        ],
    )
    plan = files.picture("floor-plan.png", (214, 178, 94), "plan@harbour-museum.example")
    page = (
        '<html><body><p>Here is the new route through the wing:</p><p><img src="cid:plan@harbour-museum.example"></p>'
        "<p>The two rooms on the left are accessible by lift only.</p></body></html>"
    )
    base = Letter(timedelta(), PRIYA, str(owner), f"Re: {subject}", cc=DANIEL, place=_MUSEUM, labels=("Labels/Work",))
    reply = replace(base, sender=str(owner), to=PRIYA, place="sent", kind="sent")
    return [
        replace(
            base,
            ago=timedelta(days=29),
            subject=subject,
            key=keys[0],
            text=(
                f"Hello {owner.first},\n\nthe board has said yes to the new wing. We need signs in three languages for eleven"
                " rooms, and we open in ten weeks. Are you free to take it on, with Daniel for the lights?"
                "\n\nBest wishes\nPriya\n"
            ),
        ),
        replace(
            reply,
            ago=timedelta(days=28, hours=18),
            key=keys[1],
            answers=(keys[0],),
            text=(
                f"Dear Priya,\n\ngladly. I will send a plan and a budget next week. Who reads the Arabic proofs?"
                f"\n\n{owner.first}\n"
            ),
        ),
        replace(
            base,
            ago=timedelta(days=28, hours=2),
            sender=DANIEL,
            cc=PRIYA,
            key=keys[2],
            answers=tuple(keys[:2]),
            text=("Light boxes: four are enough if the letters are brass. I have two in stock.\n\nDaniel\n"),
        ),
        replace(
            reply,
            ago=timedelta(days=21),
            key=keys[3],
            answers=tuple(keys[:3]),
            files=(budget,),
            text=(
                f"Dear both,\n\nthe budget is attached: 4,326 EUR in all. The brass letters are the largest risk, the supplier"
                f" needs five weeks.\n\n{owner.first}\n"
            ),
        ),
        replace(
            base,
            ago=timedelta(days=13),
            key=keys[4],
            answers=tuple(keys[:4]),
            files=(plan,),
            html=page,
            text="Here is the new route through the wing. The two rooms on the left are accessible by lift only.\n",
        ),
        replace(
            base,
            ago=timedelta(days=1, hours=7),
            key=keys[5],
            answers=tuple(keys[:5]),
            place="inbox",
            starred=True,
            unread=True,
            text=(
                f"Hello {owner.first},\n\nthe board meets on Friday at ten and wants to see the final wording of the signs. Can"
                " you send me the texts in all three languages by Thursday evening? The budget is approved as you sent it."
                "\n\nBest wishes\nPriya\n"
            ),
        ),
        replace(
            base,
            ago=timedelta(hours=9),
            sender=DANIEL,
            cc=PRIYA,
            key=keys[6],
            answers=tuple(keys[:6]),
            place="inbox",
            unread=True,
            text=(
                "One question before Friday: do the light boxes go left or right of the doors? I have to order the cables"
                " today.\n\nDaniel\n"
            ),
        ),
    ]


def _meetings(owner: Owner, now: datetime) -> list[Letter]:
    review = files.event(
        "Review of the signage texts",
        now + timedelta(days=3, hours=2),
        "priya@harbour-museum.example",
        owner.address,
        uid="review-texts@harbour-museum.example",
        place="Harbour Museum, room 2",
    )
    dentist = files.event(
        "Check-up",
        now + timedelta(days=12),
        "praxis@dr-lind.example",
        owner.address,
        uid="checkup@dr-lind.example",
        place="Dr Lind, Bridge Street 4",
    )
    cancelled = files.event(
        "Photographer on site",
        now - timedelta(days=2),
        "daniel.osei@osei-lighting.example",
        owner.address,
        uid="photos@osei-lighting.example",
        method="CANCEL",
    )
    return [
        Letter(
            timedelta(hours=26),
            PRIYA,
            str(owner),
            "Invitation: Review of the signage texts",
            unread=True,
            key="review-texts-invitation@harbour-museum.example",
            labels=("Labels/Work",),
            files=(review,),
            text="Priya Raman invites you to: Review of the signage texts\nHarbour Museum, room 2\n\nPlease answer.\n",
        ),
        Letter(
            timedelta(days=7),
            "Praxis Dr Lind <praxis@dr-lind.example>",
            str(owner),
            "Your appointment",
            files=(dentist,),
            key="checkup-invitation@dr-lind.example",
            text=f"Dear {owner.name},\n\nwe look forward to seeing you.\n",
        ),
        Letter(
            timedelta(days=5),
            DANIEL,
            str(owner),
            "Cancelled: Photographer on site",
            files=(cancelled,),
            key="photos-cancelled@osei-lighting.example",
            text="The photographer is ill. New date to follow.\n\nDaniel\n",
        ),
    ]


def _bills(owner: Owner, now: datetime) -> list[Letter]:
    found = []
    for months in range(6):
        day = now - timedelta(days=30 * months + 3)
        number = f"INV-{day:%Y}-{1041 - 17 * months}"
        total = ("348.50", "1,120.00", "86.40", "512.75", "240.00", "698.20")[months]
        found.append(
            Letter(
                timedelta(days=30 * months + 3, hours=5),
                MARLOW,
                str(owner),
                f"Invoice {number} from Marlow Printing",
                key=f"{number.lower()}@marlow-printing.example",
                unread=months == 0,
                labels=("Labels/Invoices",),
                place="inbox" if months < 2 else "Folders/Receipts",
                files=(
                    files.pdf(
                        f"{number}.pdf",
                        [
                            "Marlow Printing Ltd",
                            f"Invoice {number}",
                            f"Bill to: {owner.name}",
                            f"Printing and binding: {total} EUR",
                            "Payable within 14 days",
                        ],
                    ),
                ),
                text=f"Dear {owner.name},\n\nplease find attached invoice {number} over {total} EUR, payable within 14"
                " days.\n\n"
                "Kind regards\nMarlow Printing, accounts\n",
            )
        )
    found += [
        Letter(
            timedelta(days=10),
            MARLOW,
            str(owner),
            "Reminder: two weeks left on your proof approval",
            key="proof@marlow-printing.example",
            place="archive",
            text="The proof of your brochure waits for your approval.\n",
        ),
        Letter(
            timedelta(days=17),
            "Nordlicht Energie <rechnung@nordlicht-energie.example>",
            str(owner),
            "Ihre Stromrechnung für das letzte Quartal",
            key="strom@nordlicht-energie.example",
            place="Folders/Receipts",
            labels=("Labels/Invoices",),
            files=(
                files.pdf(
                    "Rechnung-88213.pdf",
                    ["Nordlicht Energie", "Rechnung 88213", "Verbrauch: 612 kWh", "Betrag: 187,30 EUR"],
                ),
            ),
            text="Sehr geehrte Damen und Herren,\n\nim Anhang finden Sie Ihre Rechnung über 187,30 €. Der Betrag wird am 15."
            " abgebucht.\n\nFreundliche Grüße\nNordlicht Energie\n",
        ),
        Letter(
            timedelta(hours=50),
            str(owner),
            "Jürgen Groß <j.gross@druckhaus-nord.example>",
            "Brochure, final files",
            key="brochure@studio.example",
            place="sent",
            kind="sent",
            text=f"Hallo Jürgen,\n\nthe files are on your server. Paper: whatever you would take yourself."
            f"\n\n{owner.first}\n",
        ),
    ]
    return found


def _odd(owner: Owner) -> list[Letter]:
    inner = (
        b"From: Leyla Aydin <leyla@archive-of-maps.example>\r\nTo: priya@harbour-museum.example\r\n"
        b"Subject: Permission for the harbour map of 1874\r\nDate: Mon, 03 Mar 2025 09:12:00 +0000\r\n"
        b"Message-ID: <map-1874@archive-of-maps.example>\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: text/plain; charset=utf-8\r\n\r\n"
        b'You may print the map up to A1, with the credit line "Archive of Maps".\r\n\r\nLeyla Aydin\r\n'
    )
    return [
        Letter(
            timedelta(days=15),
            PRIYA,
            str(owner),
            "Fwd: Permission for the harbour map of 1874",
            place=_MUSEUM,
            key="fwd-map@harbour-museum.example",
            labels=("Labels/Work",),
            files=(File("permission.eml", "message/rfc822", inner),),
            text="For your files. The credit line must be on the sign.\n\nPriya\n",
        ),
        Letter(
            timedelta(days=23),
            "Geoff Marsh <g.marsh@old-office.example>",
            str(owner),
            "Contract draft",
            key="winmail@old-office.example",
            place="archive",
            files=(File("winmail.dat", "application/ms-tnef", b"\x78\x9f\x3e\x22\x01\x00" + bytes(range(90))),),
            text="Please see the attached contract.\n\nGeoff\n",
        ),
        Letter(
            timedelta(days=40),
            "Print Shop <noreply@print-shop.example>",
            str(owner),
            "Scan from device 3",
            key="scan@print-shop.example",
            place="archive",
            without=frozenset({"MIME-Version"}),
            source=b'Content-Type: multipart/mixed; boundary="scan"\r\n\r\n--scan\r\nContent-Type: application/pdf\r\n'
            b"Content-Disposition: attachment; filename*=utf-8''Pr%C3%BCfbericht%202.pdf\r\n"
            b"Content-Transfer-Encoding: base64\r\n\r\nJVBERi0xLjQKJSVFT0YK\r\n--scan--\r\n",
        ),
        Letter(
            timedelta(days=52),
            "Timetable <info@ferry-line.example>",
            str(owner),
            "Winter timetable",
            key="ferry@ferry-line.example",
            place="archive",
            imported=True,
            text="Mon-Fri 06:20, 07:50, 16:35\nSat 08:00\nSun none\n",
            html="<html><body><table><tr><th>Mon-Fri</th><td>06:20, 07:50, 16:35</td></tr></table></body></html>",
        ),
    ]


def _drafts(owner: Owner) -> list[Letter]:
    return [
        Letter(
            timedelta(hours=30),
            str(owner),
            PRIYA,
            "Texts for the signs (not finished)",
            key="draft-1@studio.example",
            place="drafts",
            kind="draft",
            text="Dear Priya,\n\nhere are the texts for rooms 1 to 7. Rooms 8 to 11 follow\n",
        ),
        Letter(
            timedelta(days=9, hours=2),
            str(owner),
            MARLOW,
            "Question about invoice",
            key="draft-2@studio.example",
            place="drafts",
            kind="draft",
            text="Hello,\n\non your last invoice the binding is counted twice, isn't it?\n",
        ),
    ]
