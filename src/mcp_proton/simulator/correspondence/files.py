"""Small real files to attach: a PDF page, a table, an event, a picture."""

from __future__ import annotations

import struct
import zlib
from datetime import UTC, datetime, timedelta

from mcp_proton.simulator.correspondence.letter import File


def pdf(name: str, lines: list[str]) -> File:
    """One page of text that any PDF reader opens."""
    escaped = [line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)") for line in lines]
    drawn = "BT /F1 12 Tf 60 780 Td 18 TL " + " ".join(f"({line}) Tj T*" for line in escaped) + " ET"
    stream = drawn.encode("cp1252", "replace")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
            b" /Resources << /Font << /F1 5 0 R >> >> >>"
        ),
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    document = b"%PDF-1.4\n"
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(document))
        document += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    document += b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1, table, len(objects) + 1, len(document),
    )  # fmt: skip
    return File(name, "application/pdf", document)


def table(name: str, rows: list[tuple[str, ...]]) -> File:
    """A CSV file."""
    return File(name, "text/csv", "".join(",".join(row) + "\r\n" for row in rows).encode("utf-8"))


def event(
    summary: str, start: datetime, organizer: str, attendee: str, *, uid: str, method: str = "REQUEST", place: str = ""
) -> File:
    """An iCalendar file with one meeting of an hour."""
    utc = start.astimezone(UTC)
    lines = [
        "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Example//Calendar//EN", f"METHOD:{method}", "BEGIN:VEVENT",
        f"UID:{uid}", f"DTSTAMP:{utc - timedelta(days=7):%Y%m%dT%H%M%SZ}", f"DTSTART:{utc:%Y%m%dT%H%M%SZ}",
        f"DTEND:{utc + timedelta(hours=1):%Y%m%dT%H%M%SZ}", f"SUMMARY:{summary}",
        *([f"LOCATION:{place}"] if place else []), f"ORGANIZER:mailto:{organizer}",
        f"ATTENDEE;RSVP=TRUE;PARTSTAT=NEEDS-ACTION:mailto:{attendee}",
        *(["STATUS:CANCELLED"] if method == "CANCEL" else []), "END:VEVENT", "END:VCALENDAR",
    ]  # fmt: skip
    content = "".join(f"{line}\r\n" for line in lines).encode("utf-8")
    return File("invite.ics", "text/calendar", content, parameters=(("method", method), ("charset", "utf-8")))


def picture(name: str, colour: tuple[int, int, int], content_id: str = "") -> File:
    """A PNG of 8 by 8 pixels in one colour."""
    rows = (b"\0" + bytes(colour) * 8) * 8
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows, 9)),
        (b"IEND", b""),
    ]
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return File(name, "image/png", content, content_id)
