"""Documents made to do harm, and damaged ones: each is named as what it is, and none takes anything with it."""

from __future__ import annotations

import io
import random
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.documents import archive
from mcp_proton.documents.refusals import Reason, Unreadable
from mcp_proton.domain.documents import Span

from . import made
from .made import paragraph
from .test_formats import PARTS, excerpt, texts

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def laughing(part: str, root: str) -> bytes:
    """A document whose `part` defines entities."""
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(root.encode("latin-1"))) as given, zipfile.ZipFile(held, "w") as made_new:
        for name in given.namelist():
            content = given.read(name)
            made_new.writestr(name, made.LAUGHS.encode() + content.split(b"?>")[-1] if name == part else content)
    return held.getvalue()


def with_flag(octets: bytes) -> bytes:
    """The same archive with its entries marked as encrypted."""
    held = bytearray(octets)
    place = 0
    while (place := held.find(b"PK\x01\x02", place)) >= 0:
        held[place + 8] |= 1
        place += 4
    return bytes(held)


NAMED = {
    "an encrypted PDF": (made.encrypted_pdf(), Reason.ENCRYPTED),
    "an encrypted Office file": (OLE + bytes(600) + "EncryptedPackage".encode("utf-16-le"), Reason.ENCRYPTED),
    "an encrypted OpenDocument": (made.odf("text", "", manifest="<m><encryption-data/></m>"), Reason.ENCRYPTED),
    "an encrypted archive": (with_flag(made.docx(paragraph("a"))), Reason.ENCRYPTED),
    "an Office file of before 2007": (OLE + bytes(600), Reason.OLD_OFFICE),
    "half a PDF": (made.pdf("a", "b")[:150], Reason.DAMAGED),
    "half an archive": (made.docx(paragraph("a"))[:300], Reason.DAMAGED),
    "another kind of archive": (made.packed({"a.txt": "a"}), Reason.UNKNOWN),
    "nothing": (b"", Reason.UNKNOWN),
    "something else": (b"MZ\x90\x00", Reason.DAMAGED),
    "broken XML": (made.docx("<w:p>"), Reason.DAMAGED),
    "a document without its body": (made.packed({"mimetype": "x", "content.xml": "<x/>"}), Reason.DAMAGED),
    "a part that is not there": (made.packed({"[Content_Types].xml": "<T/>", "word/x.xml": "<x/>"}), Reason.DAMAGED),
    "entities in a Word document": (laughing("word/document.xml", made.docx("").decode("latin-1")), Reason.XML_BOMB),
    "entities in relationships": (laughing("_rels/.rels", made.docx("").decode("latin-1")), Reason.XML_BOMB),
    "entities in a presentation": (laughing("ppt/slides/slide1.xml", PARTS["slides"].decode("latin-1")), Reason.XML_BOMB),
    "entities in an OpenDocument": (laughing("content.xml", PARTS["open document"].decode("latin-1")), Reason.XML_BOMB),
    "entities in a sheet": (laughing("xl/worksheets/sheet1.xml", PARTS["sheets"].decode("latin-1")), Reason.XML_BOMB),
    "a part that unpacks to 400 MiB": (made.claiming(made.docx(""), "word/document.xml", 400 << 20), Reason.ZIP_BOMB),
    "a sheet that unpacks to 400 MiB": (
        made.claiming(made.xlsx(A=[["a"]]), "xl/worksheets/sheet1.xml", 400 << 20), Reason.ZIP_BOMB
    ),
    "a part that unpacks to more than it says": (
        made.claiming(made.docx(paragraph("a" * 9_000)), "word/document.xml", 500), Reason.DAMAGED
    ),
}  # fmt: skip


@pytest.mark.parametrize(("octets", "reason"), NAMED.values(), ids=NAMED.keys())
def test_what_cannot_be_read_is_named_as_what_it_is(octets: bytes, reason: Reason) -> None:
    with pytest.raises(Unreadable) as refused:
        excerpt(octets)
    assert refused.value.reason is reason


def test_parts_that_are_each_small_enough_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_UNPACKED", 2_000)
    assert excerpt(made.docx(paragraph("a" * 500))).total == 1
    with pytest.raises(Unreadable, match=Reason.ZIP_BOMB):
        excerpt(made.docx(paragraph("a" * 500), header=paragraph("b" * 800), footnotes=paragraph("c" * 800)))


def test_an_archive_of_very_many_entries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_ENTRIES", 3)
    with pytest.raises(Unreadable, match=Reason.ZIP_BOMB):
        excerpt(made.docx(paragraph("a")))


def test_a_pdf_that_claims_a_million_pages_is_read_as_far_as_there_are_any() -> None:
    found = excerpt(made.pdf("one", "two", counted=999_999))
    assert texts(found)[:2] == ["one", "two"]
    assert len(found.passages) < 100
    assert found.following is None
    assert found.notices == {"pages_damaged"}


def test_a_pdf_of_pictures_says_that_it_has_no_text() -> None:
    found = excerpt(made.pdf("", ""))
    assert (found.total, "".join(texts(found)), found.notices) == (2, "", {"no_text_layer"})


def test_a_very_deep_document_is_read_or_refused() -> None:
    deep = 50_000
    assert texts(excerpt(b"{\\rtf1 " + b"{" * deep + b"deep" + b"}" * deep + b"}")) == ["deep"]
    nested = "<w:sdt>" * 5_000 + paragraph("deep") + "</w:sdt>" * 5_000
    assert texts(excerpt(made.docx(nested))) == ["deep"]


def test_a_sheet_with_one_cell_at_its_far_end_is_read() -> None:
    far = made.xlsx(A=[["near"]])
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(far)) as given, zipfile.ZipFile(held, "w") as new:
        for name in given.namelist():
            content = given.read(name)
            if name == "xl/worksheets/sheet1.xml":
                cell = b'<row r="100000"><c r="XFD100000" t="inlineStr"><is><t>far</t></is></c></row></sheetData>'
                content = content.replace(b"</sheetData>", cell)
            new.writestr(name, content)
    found = excerpt(held.getvalue())
    assert texts(found)[0].startswith("near")
    assert "truncated" in found.notices


def mutated(octets: bytes, seed: int) -> bytes:
    """The document with a few octets changed, cut out or doubled."""
    chance = random.Random(seed)
    held = bytearray(octets)
    for _ in range(chance.randint(1, 12)):
        place = chance.randrange(len(held))
        match chance.randrange(4):
            case 0:
                held[place] = chance.randrange(256)
            case 1:
                del held[place : place + chance.randint(1, 40)]
            case 2:
                held[place:place] = held[place : place + chance.randint(1, 40)]
            case 3:
                held[place : place + 1] = chance.choice([b"\xff\xff\xff\x7f", b"<", b"{", b"\\", b"&", b"\0" * 9])
        if not held:
            return b""
    return bytes(held)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(set(PARTS) - {"pdf"})), st.integers(0, 1 << 32))
def test_a_damaged_document_is_read_or_named_but_nothing_else_comes_of_it(kind: str, seed: int) -> None:
    """PDF is left to the child: its reader is native code."""
    try:
        found = excerpt(mutated(PARTS[kind], seed), Span(), 500)
    except Unreadable:
        return
    assert sum(len(one.text) for one in found.passages) <= 500


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(["word/document.xml", "ppt/slides/slide1.xml", "content.xml"]), st.integers(0, 1 << 32))
def test_damaged_xml_inside_a_whole_archive_is_read_or_named(part: str, seed: int) -> None:
    """An archive's own checks would hide from the readers what is changed from outside."""
    source = {"w": PARTS["word"], "p": PARTS["slides"], "c": PARTS["open document"]}[part[0]]
    with zipfile.ZipFile(io.BytesIO(source)) as given_parts:
        parts = {name: given_parts.read(name) for name in given_parts.namelist()}
    try:
        excerpt(made.packed(parts | {part: mutated(parts[part], seed)}), Span(), 500)
    except Unreadable:
        return
