"""The owner's friends: a journey being planned, and letters from abroad in other languages and charsets."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from mcp_proton.simulator.correspondence import files
from mcp_proton.simulator.correspondence.letter import Letter
from mcp_proton.simulator.correspondence.people_of_the_story import ANNA, JUERGEN, KARIM, LI, OLGA, YUKI

if TYPE_CHECKING:
    from mcp_proton.simulator.correspondence.owner import Owner


def letters(owner: Owner, now: datetime) -> list[Letter]:
    """All of them, in no order."""
    return [*_lisbon(owner, now), *_friends_abroad(owner)]


def _lisbon(owner: Owner, now: datetime) -> list[Letter]:
    keys = [f"lisbon-{number}@briefkasten.example" for number in range(1, 5)]
    subject = "Lisbon in spring?"
    ticket = files.pdf(
        "e-ticket-K7QX2M.pdf",
        [
            "Aviana Air",
            f"Passenger: {owner.name}",
            "Booking K7QX2M",
            "AV 318 to Lisbon, seat 14A",
            "Return AV 319, seat 9C",
        ],
    )
    flight = files.event(
        "Flight AV 318 to Lisbon",
        now + timedelta(days=41),
        "bookings@aviana-air.example",
        owner.address,
        uid="K7QX2M@aviana-air.example",
        method="PUBLISH",
    )
    base = Letter(timedelta(), ANNA, str(owner), subject, labels=("Labels/Travel",))
    reply = replace(base, sender=str(owner), to=ANNA, subject=f"Re: {subject}", place="sent", kind="sent")
    return [
        replace(
            base,
            ago=timedelta(days=16, hours=2),
            key=keys[0],
            place="archive",
            text=(
                f"Dear {owner.first},\n\nremember the tram, the custard tarts and the rain? Let us go again, in spring this"
                " time. I can take the first or the third week.\n\nHugs,\nAnna\n"
            ),
        ),
        replace(
            reply,
            ago=timedelta(days=15, hours=20),
            key=keys[1],
            answers=(keys[0],),
            text=(f"Yes! I will look at flights tonight. Same guest house by the park?\n\n{owner.first}\n"),
        ),
        replace(
            base,
            ago=timedelta(days=15, hours=1),
            subject=f"Re: {subject}",
            key=keys[2],
            answers=tuple(keys[:2]),
            place="archive",
            text=(
                "The guest house is full in the first week, but has two rooms in the third. Shall I hold them?\n\nAnna\n"
            ),
        ),
        replace(
            base,
            ago=timedelta(hours=27),
            subject=f"Re: {subject}",
            key=keys[3],
            answers=tuple(keys[:3]),
            unread=True,
            text=(
                "They hold the two rooms only until Wednesday. Is the third week all right for you? If so I pay the deposit"
                " (80 EUR each) and you can give me your half in pastéis.\n\nAnna\n"
            ),
        ),
        Letter(
            timedelta(days=14, hours=5),
            "Aviana Air <bookings@aviana-air.example>",
            str(owner),
            "Your booking K7QX2M: Lisbon, 2 passengers",
            key="K7QX2M@aviana-air.example",
            place="Folders/Travel",
            labels=("Labels/Travel",),
            files=(ticket, flight),
            text=f"Dear {owner.name},\n\nthank you for flying with us. Your tickets are attached.\n\nBooking code: K7QX2M\n"
            "AV 318 to Lisbon, departs 07:55\nAV 319 from Lisbon, departs 20:10\n\nOnline check-in opens 24 hours"
            " before departure.\n\nTotal paid: 412.60 EUR\n",
            html=f"<html><body><h1>Your booking K7QX2M</h1><p>Dear {owner.name},</p><p>your tickets are attached.</p>"
            "<table><tr><td>AV 318</td><td>to Lisbon</td><td>07:55</td></tr><tr><td>AV 319</td><td>from Lisbon</td>"
            "<td>20:10</td></tr></table><p>Total paid: <b>412.60 EUR</b></p></body></html>",
        ),
    ]


def _friends_abroad(owner: Owner) -> list[Letter]:
    return [
        Letter(
            timedelta(days=3, hours=2),
            JUERGEN,
            str(owner),
            "Grüße aus Köln und eine Frage zum Papier",
            key="papier@druckhaus-nord.example",
            charset="iso-8859-1",
            unread=True,
            text=(
                f"Liebe Grüße aus Köln, {owner.first}!\n\nFür die Broschüre hätte ich 170 g/m² oder 250 g/m² da. Welches"
                " möchtest du? Bis Freitag könnte ich drucken.\n\nHerzlich\nJürgen\n"
            ),
        ),
        Letter(
            timedelta(days=8),
            YUKI,
            str(owner),
            "展覧会のご案内",
            key="tenrankai@tegami.example",
            charset="iso-2022-jp",
            encoding="base64",
            text=(
                f"{owner.first}様\n\n来月、京都で小さな展覧会を開きます。もし日本にいらっしゃるなら、ぜひお立ち寄りください。\n\n佐藤由紀\n"
            ),
        ),
        Letter(
            timedelta(days=9, hours=5),
            LI,
            str(owner),
            "关于样品的报价",
            key="baojia@suppliers.example",
            charset="gb18030",
            encoding="base64",
            place="Folders/Clients/Harbour Museum",
            text="您好，\n\n铜字样品已经寄出，单价为每个38元，一百个以上可以打九折。请确认数量。\n\n李伟\n",
        ),
        Letter(
            timedelta(days=25),
            OLGA,
            str(owner),
            "С днём рождения!",
            key="birthday@pochta.example",
            charset="windows-1251",
            starred=True,
            place="archive",
            text=(
                "Дорогой друг,\n\nпоздравляю тебя с днём рождения! Желаю здоровья, интересной работы и побольше свободных "
                "вечеров. Приезжай летом на дачу, вишня уже ждёт.\n\nОля\n"
            ),
        ),
        Letter(
            timedelta(days=18),
            KARIM,
            str(owner),
            "شكرا على الترجمة",
            key="shukran@barid.example",
            place="archive",
            encoding="base64",
            text="مرحبا،\n\nوصلتني الترجمة، وهي ممتازة. سأرسل لك النص الجديد الأسبوع القادم.\n\nكريم\n",
        ),
        Letter(
            timedelta(days=44),
            "Zoë Ångström <zoe@nordlys.example>",
            str(owner),
            "Skønne dage på Læsø",
            key="laeso@nordlys.example",
            place="archive",
            text="Hej!\n\nHer er blæst, sol og jomfruhummer. Kom næste år.\n\nZoë\n",
        ),
    ]
