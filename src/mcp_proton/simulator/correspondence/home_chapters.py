"""The owner's life at home: a kitchen, a landlady, family."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from mcp_proton.simulator.correspondence import files
from mcp_proton.simulator.correspondence.letter import Letter
from mcp_proton.simulator.correspondence.people_of_the_story import HALVORSEN, MAYA, MUM, TOMAS

if TYPE_CHECKING:
    from mcp_proton.simulator.correspondence.owner import Owner


def letters(owner: Owner) -> list[Letter]:
    """All of them, in no order."""
    return [*_kitchen(owner), *_flat(owner), *_family(owner)]


def _kitchen(owner: Owner) -> list[Letter]:
    keys = [f"kitchen-{number}@ferreira-woodwork.example" for number in range(1, 6)]
    subject = "Kitchen cabinets: measurements and quote"
    quote = files.pdf(
        "Quote-2207-kitchen.pdf",
        [
            "Ferreira Woodwork",
            "Quote 2207",
            "Oak fronts, 9 units: 3,850.00 EUR",
            "Worktop, ash, oiled: 1,240.00 EUR",
            "Fitting, 3 days: 1,150.00 EUR",
            "Total: 6,240.00 EUR",
            "Valid for 30 days",
        ],
    )
    base = Letter(timedelta(), TOMAS, str(owner), subject, labels=("Labels/Home",))
    reply = replace(base, sender=str(owner), to=TOMAS, subject=f"Re: {subject}", place="sent", kind="sent")
    return [
        replace(
            reply,
            ago=timedelta(days=12, hours=3),
            subject=subject,
            key=keys[0],
            text=(
                f"Hello Tomás,\n\nAnna gave me your number. I would like new fronts for my kitchen, nine units, and a worktop"
                f" of about 3.2 metres. Could you come by and measure?\n\nThanks,\n{owner.first}\n"
            ),
        ),
        replace(
            base,
            ago=timedelta(days=11, hours=22),
            subject=f"Re: {subject}",
            key=keys[1],
            answers=(keys[0],),
            place="archive",
            text=(
                f"Hi {owner.first},\n\nHappy to. Thursday at 17:30 works for me. Oak or ash? Both are in the workshop now.\n\n"
                "Best,\nTomás\n"
            ),
        ),
        replace(
            reply,
            ago=timedelta(days=11, hours=20),
            key=keys[2],
            answers=(keys[0], keys[1]),
            text=(f"Thursday 17:30 is perfect. Oak for the fronts, please. Ring the lower bell.\n\n{owner.first}\n"),
        ),
        replace(
            base,
            ago=timedelta(days=4, hours=6),
            subject=f"Re: {subject}",
            key=keys[3],
            answers=tuple(keys[:3]),
            starred=True,
            files=(quote,),
            text=(
                f"Hi {owner.first},\n\nThe quote is attached. 6,240 EUR with fitting; without the worktop it would be 5,000.\n"
                "I can start on the 14th if I order the oak this week, so I need a yes by Friday.\n\nBest,\nTomás\n"
            ),
        ),
        replace(
            base,
            ago=timedelta(hours=19),
            subject=f"Re: {subject}",
            key=keys[4],
            answers=tuple(keys[:4]),
            starred=True,
            unread=True,
            text=(
                f"Hi {owner.first},\n\nJust checking that the quote reached you. Can you tell me by tomorrow whether I should"
                " order the oak? After that the next free week is in two months.\n\nTomás\n"
            ),
        ),
    ]


def _flat(owner: Owner) -> list[Letter]:
    radiators = "radiators-1@hus-og-hjem.example"
    minutes = files.pdf(
        "Minutes-residents-meeting.pdf",
        [
            "Minutes of the residents' meeting",
            "1. Roof: offers are being collected",
            "2. Bicycle cellar: clear by month's end",
            "3. Any other business",
        ],
    )
    return [
        Letter(
            timedelta(days=2, hours=4),
            HALVORSEN,
            str(owner),
            "Reading the radiators, please choose a time",
            key=radiators,
            unread=True,
            labels=("Labels/Home",),
            text=(
                f"Dear {owner.first},\n\nthe meter reader comes on the 9th. Please choose one of these times:\n\n"
                "- 08:00 to 10:00\n"
                "- 12:00 to 14:00\n- 16:00 to 18:00\n\nHe needs ten minutes in your flat. Could you answer by Thursday?\n\n"
                "Kind regards\nGrete Halvorsen\n"
            ),
        ),
        Letter(
            timedelta(days=33),
            HALVORSEN,
            str(owner),
            "Minutes of the residents' meeting",
            key="minutes@hus-og-hjem.example",
            place="archive",
            labels=("Labels/Home",),
            files=(minutes,),
            text="Dear all,\n\nhere are the minutes. The bicycle cellar must be empty by the end of the month.\n\n"
            "Grete Halvorsen\n",
        ),
        Letter(
            timedelta(days=61),
            HALVORSEN,
            str(owner),
            "Water off on Tuesday, 9 to 11",
            key="water@hus-og-hjem.example",
            place="archive",
            labels=("Labels/Home",),
            text="Dear residents,\n\nthe plumber replaces a valve in the cellar. Please fill a kettle before nine.\n\n"
            "Grete Halvorsen\n",
        ),
    ]


def _family(owner: Owner) -> list[Letter]:
    lunch = [f"lunch-{number}@post.example" for number in range(1, 4)]
    return [
        Letter(
            timedelta(days=6, hours=8),
            MUM,
            str(owner),
            "Sunday lunch",
            key=lunch[0],
            place="archive",
            text=(
                f"Dear {owner.first},\n\nare you coming on Sunday? Uncle Per brings the plum cake, you could bring the"
                " potatoes."
                "\n\nLove,\nMum\n"
            ),
        ),
        Letter(
            timedelta(days=6, hours=1),
            str(owner),
            MUM,
            "Re: Sunday lunch",
            key=lunch[1],
            answers=(lunch[0],),
            place="sent",
            kind="sent",
            text=f"Of course. How many potatoes?\n\n{owner.first}\n",
        ),
        Letter(
            timedelta(days=5, hours=21),
            MUM,
            str(owner),
            "Re: Sunday lunch",
            key=lunch[2],
            answers=tuple(lunch[:2]),
            starred=True,
            text="Two kilos. And the recipe you promised Per, he asks every week.\n\nMum\n",
        ),
        Letter(
            timedelta(hours=4),
            MAYA,
            str(owner),
            "I lost a tooth 🦷🎉",
            key="tooth@kids.example",
            unread=True,
            encoding="8bit",
            text=(
                f"Hi {owner.first}!!\n\nIt came out in an apple 🍎. Mum says the tooth fairy 🧚 has your address too. "
                "When do you visit?\n\n💛 Maya\n"
            ),
        ),
        Letter(
            timedelta(days=20),
            MUM,
            str(owner),
            "Grandma's cinnamon buns, at last",
            key="buns@post.example",
            place="Folders/Recipes",
            starred=True,
            text=(
                "Found it in the blue tin:\n\n500 g flour, 2.5 dl milk, 50 g yeast, 100 g butter, 1 dl sugar, cardamom.\n"
                "Warm the milk, dissolve the yeast, knead for ten minutes, rest for forty. Roll, butter, cinnamon, fold,"
                " cut, rest again. 225 degrees, eight minutes.\n\nDon't be mean with the butter.\n\nMum\n"
            ),
        ),
    ]
