"""What kind of file an attachment is: by its name, to know whether there is a reader; by its octets, to choose the reader."""

from __future__ import annotations

import re
import zipfile
from enum import StrEnum
from typing import TYPE_CHECKING, BinaryIO

from mcp_proton.documents.refusals import Reason, Unreadable
from mcp_proton.domain.documents import Claim

if TYPE_CHECKING:
    from mcp_proton.domain.mail import Attachment


class Kind(StrEnum):
    """A kind of file that has a reader: the module of that name in `readers`."""

    CALENDAR = "calendar"
    HTML = "html"
    MESSAGE = "message"
    OPEN_DOCUMENT = "open_document"
    PDF = "pdf"
    RTF = "rtf"
    SHEETS = "sheets"
    SLIDES = "slides"
    TABLE = "table"
    TEXT = "text"
    WORD = "word"


TEXTS = frozenset({Kind.CALENDAR, Kind.HTML, Kind.MESSAGE, Kind.TABLE, Kind.TEXT})
"""Text by itself: one page, whose beginning is of use alone. Its octets do not tell its kind."""
IN_CHARSETS = TEXTS | {Kind.RTF}
MOST_OF_A_DOCUMENT = 64 << 20
"""A larger file is not read: no mail server that is known takes one."""
MOST_OF_A_TEXT = 8 << 20
"""Of a text so many octets are read."""

_BY_TYPE = {
    media_type: kind
    for kind, media_types in {
        Kind.CALENDAR: "application/ics text/calendar",
        Kind.HTML: "application/xhtml+xml text/html",
        Kind.MESSAGE: "message/global message/rfc822",
        Kind.PDF: "application/pdf application/x-pdf",
        Kind.RTF: "application/rtf application/x-rtf text/richtext text/rtf",
        Kind.TABLE: "application/csv text/comma-separated-values text/csv text/tab-separated-values text/x-csv",
        Kind.TEXT: "application/javascript application/json application/pgp-keys application/sql application/toml "
        "application/x-ndjson application/x-sh application/x-yaml application/xml application/yaml "
        "message/delivery-status message/disposition-notification message/feedback-report",
    }.items()
    for media_type in media_types.split()
}
_BY_FAMILY = (
    ("application/vnd.openxmlformats-officedocument.wordprocessingml", Kind.WORD),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml", Kind.SHEETS),
    ("application/vnd.openxmlformats-officedocument.presentationml", Kind.SLIDES),
    ("application/vnd.oasis.opendocument.", Kind.OPEN_DOCUMENT),
)
_BY_ENDING = {
    ending: kind
    for kind, endings in {
        Kind.CALENDAR: "ics",
        Kind.HTML: "htm html",
        Kind.MESSAGE: "eml",
        Kind.OPEN_DOCUMENT: "odt ott ods ots odp otp",
        Kind.PDF: "pdf",
        Kind.RTF: "rtf",
        Kind.SHEETS: "xls xlsx xlsm xltx",
        Kind.SLIDES: "ppt pptx pptm ppsx",
        Kind.TABLE: "csv tsv",
        Kind.TEXT: "asc cfg conf diff ini json log md patch rst sql toml txt vcf xml yaml yml",
        Kind.WORD: "doc docx docm dotx",
    }.items()
    for ending in endings.split()
}
_VAGUE = frozenset(
    {
        "application/binary",
        "application/msword",
        "application/octet-stream",
        "application/unknown",
        "application/x-octet-stream",
        "application/zip",
    }
)
_CHARSET = re.compile(r"[\w.:\"'*-]{1,60}", re.ASCII)

_HEAD = 1024
_PDF, _ZIP, _OLE = b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SCAN = 1 << 20
_LOCKED = "EncryptedPackage".encode("utf-16-le")


def claim(attachment: Attachment) -> Claim | None:
    """Return what an attachment says it is; None where that has no reader."""
    kind = _named(attachment.media_type.lower(), attachment.filename.lower().rpartition(".")[2])
    if kind is None:
        return None
    part = attachment.part
    charset = part.charset and (part.charset if _CHARSET.fullmatch(part.charset) else "not-a-charset")
    return Claim(
        kind=kind.value,
        most=MOST_OF_A_TEXT if kind in TEXTS else MOST_OF_A_DOCUMENT,
        whole=kind not in TEXTS,
        charset=charset or None,
        flowed=part.parameters.get("format", "").lower() == "flowed",
        delete_space=part.parameters.get("delsp", "").lower() == "yes",
    )


def _named(media_type: str, ending: str) -> Kind | None:
    """Choose by media type; by the ending of the name where the type says nothing. What is called text is read as one."""
    if media_type == "text/plain":
        return kind if (kind := _BY_ENDING.get(ending)) in TEXTS else Kind.TEXT
    if media_type in _VAGUE or media_type.startswith("application/vnd.ms-"):
        return _BY_ENDING.get(ending)
    if media_type in _BY_TYPE:
        return _BY_TYPE[media_type]
    for family, kind in _BY_FAMILY:
        if media_type.startswith(family):
            return kind
    return Kind.TEXT if media_type.startswith("text/") or media_type.endswith(("+xml", "+json", "+yaml")) else None


def recognise(file: BinaryIO, claimed: Kind) -> Kind:
    """Return what a file really is: by its octets, or what it claims where it is text. `Unreadable` for what has no reader."""
    file.seek(0)
    head = file.read(_HEAD)
    if head.startswith(_PDF) or (_PDF in head and claimed not in TEXTS):
        return Kind.PDF
    if head.startswith(_ZIP):
        return _packed(file)
    if head.startswith(_OLE):
        raise Unreadable(Reason.ENCRYPTED if _locked(file) else Reason.OLD_OFFICE)
    if head.lstrip().startswith(b"{\\rtf"):
        return Kind.RTF
    if claimed in TEXTS:
        return claimed
    if claimed in {Kind.SHEETS, Kind.WORD} and (kind := _exported(head, claimed)):
        return kind
    raise Unreadable(Reason.DAMAGED if head else Reason.UNKNOWN)


def _exported(head: bytes, claimed: Kind) -> Kind | None:
    """Tell what programs export under the name of an Office file: HTML, or, for a workbook, separated values."""
    if b"\0" in head:
        return None
    if b"<table" in head.lower() or b"<html" in head.lower():
        return Kind.HTML
    first = head.partition(b"\n")[0]
    separated = claimed is Kind.SHEETS and any(mark in first for mark in (b",", b";", b"\t"))
    return Kind.TABLE if separated else None


def _packed(file: BinaryIO) -> Kind:
    try:
        names = set(zipfile.ZipFile(file).namelist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, EOFError):
        raise Unreadable(Reason.DAMAGED) from None
    if "mimetype" in names and "content.xml" in names:
        return Kind.OPEN_DOCUMENT
    if "[Content_Types].xml" in names:
        for folder, kind in (("word/", Kind.WORD), ("xl/", Kind.SHEETS), ("ppt/", Kind.SLIDES)):
            if any(name.startswith(folder) for name in names):
                return kind
    raise Unreadable(Reason.UNKNOWN)


def _locked(file: BinaryIO) -> bool:
    """Whether an OLE file holds a modern document under a password (MS-OFFCRYPTO 2.3)."""
    file.seek(0)
    before = b""
    while chunk := file.read(_SCAN):
        if _LOCKED in before + chunk:
            return True
        before = chunk[-len(_LOCKED) :]
    return False
