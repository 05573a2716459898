"""A letter with a document, for a service that runs where it will: its reader has to work there too."""

from __future__ import annotations

from email.message import EmailMessage

from tests.unit.documents import made

WORD = "quarterly7f3k"


def _letter() -> bytes:
    letter = EmailMessage()
    letter["From"], letter["To"] = "Anna <anna@example.org>", "alex@proton.example"
    letter["Subject"] = f"The {WORD} figures"
    letter["Date"] = "Mon, 30 Nov 2026 09:00:00 +0000"
    letter.set_content("See attached.")
    letter.add_attachment(made.pdf("figures in a document"), maintype="application", subtype="pdf", filename="a.pdf")
    return letter.as_bytes()


WITH_A_DOCUMENT = _letter()
