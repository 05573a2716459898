"""Documents made for the tests: small, whole, and written by hand where a library would not write what is wanted."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_KIND = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "draw")
)


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive of these parts."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return held.getvalue()


def relations(*pairs: tuple[str, str, str]) -> str:
    """Relationships: each an id, a kind, a target."""
    lines = "".join(f'<Relationship Id="{i}" Type="{_KIND}/{kind}" Target="{target}"/>' for i, kind, target in pairs)
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{lines}</Relationships>'
    )


def docx(body: str, **beside: str) -> bytes:
    """A Word document with this body; `header="…"` and so on beside it."""
    parts = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relations(("rId1", "officeDocument", "word/document.xml")),
        "word/document.xml": f"<w:document {W}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": relations(*((f"r{kind}", kind, f"{kind}.xml") for kind in beside)),
    }
    return packed(parts | {f"word/{kind}.xml": f"<w:x {W}>{content}</w:x>" for kind, content in beside.items()})


def paragraph(text: str, properties: str = "") -> str:
    """One paragraph of one run."""
    return f"<w:p><w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def pptx(*slides: str, hidden: Sequence[int] = (), notes: str = "") -> bytes:
    """A presentation of these texts."""
    numbers = range(1, len(slides) + 1)
    order = "".join(f'<p:sldId id="{255 + n}" r:id="rId{n}"/>' for n in numbers)
    parts = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relations(("rId1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {_P} {_R}><p:sldIdLst>{order}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(*((f"rId{n}", "slide", f"slides/slide{n}.xml") for n in numbers)),
    }
    for number, text in zip(numbers, slides, strict=True):
        show = ' show="0"' if number in hidden else ""
        parts[f"ppt/slides/slide{number}.xml"] = (
            f"<p:sld {_P} {_A}{show}><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>"
        )
    if notes:
        parts["ppt/slides/_rels/slide1.xml.rels"] = relations(("rId1", "notesSlide", "../notesSlides/notes1.xml"))
        parts["ppt/notesSlides/notes1.xml"] = f"<p:notes {_P} {_A}><a:p><a:r><a:t>{notes}</a:t></a:r></a:p></p:notes>"
    return packed(parts)


def odf(kind: str, body: str, styles: str = "", manifest: str = "<manifest/>") -> bytes:
    """An OpenDocument file: `kind` is text, spreadsheet or presentation."""
    content = (
        f"<office:document-content {_ODF}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )
    return packed(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": content,
            "META-INF/manifest.xml": manifest,
        }
    )


def xlsx(**sheets: Sequence[Sequence[Any]]) -> bytes:
    """A workbook of these sheets."""
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        if name.startswith("Hidden"):
            sheet.sheet_state = "hidden"
    held = io.BytesIO()
    book.save(held)
    return held.getvalue()


def pdf(*pages: str, extra: str = "", counted: int | None = None) -> bytes:
    """A PDF with one line of text a page; `extra` goes into its trailer, `counted` is how many pages it claims."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages) if counted is None else counted} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        shown = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        content = f"BT /F1 12 Tf 72 720 Td ({shown}) Tj ET" if text else "0 0 100 100 re f"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    held, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, start=1):
        places.append(len(held))
        held += f"{number} 0 obj\n{content}\nendobj\n".encode("latin-1")
    start = len(held)
    held += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    held += "".join(f"{place:010d} 00000 n \n" for place in places).encode()
    held += f"trailer << /Size {len(objects) + 1} /Root 1 0 R {extra} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(held)


def encrypted_pdf() -> bytes:
    """A PDF that asks for a password (standard handler, revision 2: these keys fit none that is empty)."""
    keys = f"/O <{'41' * 32}> /U <{'42' * 32}> /P -44"
    return pdf("secret", extra=f"/Encrypt << /Filter /Standard /V 1 /R 2 {keys} >> /ID [<00> <00>]")


def claiming(octets: bytes, name: str, size: int) -> bytes:
    """The same archive, in whose directory a part says that it unpacks to so many octets."""
    held = bytearray(octets)
    place = 0
    while (place := held.find(b"PK\x01\x02", place)) >= 0:
        if held[place + 46 : place + 46 + len(name)] == name.encode():
            held[place + 24 : place + 28] = size.to_bytes(4, "little")
        place += 4
    return bytes(held)


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
"""The head of a document that defines entities of its own."""
