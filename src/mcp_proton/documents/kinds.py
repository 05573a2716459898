"""What kind of document a file is: by name, to know whether a reader is worth starting; by its octets, to choose one."""

from __future__ import annotations

import zipfile
from enum import StrEnum
from typing import BinaryIO

from .refusals import Reason, Unreadable

_HEAD = 1024
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SCAN = 1 << 20
_LOCKED = "EncryptedPackage".encode("utf-16-le")
_OFFICE = "application/vnd.openxmlformats-officedocument."
_OPEN = "application/vnd.oasis.opendocument."
_TYPES = frozenset(
    {
        "application/pdf",
        "application/x-pdf",
        "application/rtf",
        "application/x-rtf",
        "text/rtf",
        "text/richtext",
    }
)
_ENDINGS = frozenset(
    ("pdf", "rtf", "doc", "docx", "docm", "dotx", "xls", "xlsx", "xlsm", "xltx", "ppt", "pptx", "pptm", "ppsx")
) | frozenset(("odt", "ott", "ods", "ots", "odp", "otp"))
_VAGUE = frozenset(
    {
        "application/binary",
        "application/msword",
        "application/octet-stream",
        "application/x-octet-stream",
        "application/zip",
    }
)


class Kind(StrEnum):
    """A kind of document that has a reader."""

    PDF = "pdf"
    WORD = "word"
    SHEETS = "sheets"
    SLIDES = "slides"
    OPEN_DOCUMENT = "open document"
    RTF = "rtf"


def expected(media_type: str, filename: str) -> bool:
    """Say whether a file that calls itself so may be a document."""
    media_type = media_type.lower()
    if media_type in _TYPES or media_type.startswith((_OFFICE, _OPEN)):
        return True
    vague = media_type in _VAGUE or media_type.startswith("application/vnd.ms-")
    return vague and filename.lower().rpartition(".")[2] in _ENDINGS


def recognise(file: BinaryIO) -> Kind:
    """Return what a file really is, whatever it calls itself. Raises `Unreadable` for what has no reader."""
    file.seek(0)
    head = file.read(_HEAD)
    if b"%PDF-" in head:
        return Kind.PDF
    if head.startswith(b"PK\x03\x04"):
        return _packed(file)
    if head.lstrip().startswith(b"{\\rtf"):
        return Kind.RTF
    if head.startswith(_OLE):
        raise Unreadable(Reason.ENCRYPTED if _locked(file) else Reason.OLD_OFFICE)
    raise Unreadable(Reason.DAMAGED if head else Reason.UNKNOWN)


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
