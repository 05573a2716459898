"""The body and the attachments of a message, chosen from its parts as Bridge chooses them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mcp_proton.simulator.texts.go_text import decode_charset, known_charset, octets, text
from mcp_proton.simulator.texts.markup import as_html, declared_utf8
from mcp_proton.simulator.texts.media_types import InvalidMediaType, parse_media_type
from mcp_proton.simulator.texts.transfer_encodings import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mcp_proton.simulator.texts.sections import Section

_EXTENSIONS = {
    "application/json": ".json", "application/pdf": ".pdf", "application/pgp-encrypted": ".gpg",
    "application/pgp-keys": ".key", "application/pgp-signature": ".sig", "application/zip": ".zip",
    "image/gif": ".gif", "image/jpeg": ".jpeg", "image/png": ".png", "image/svg+xml": ".svg", "image/webp": ".webp",
    "text/calendar": ".ics", "text/css": ".css", "text/csv": ".csv", "text/html": ".htm", "text/xml": ".xml",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file of a message; `content_id` is the Content-ID field with its brackets, or empty.

    `parameters` are those of its media type that went to the API with it.
    """

    name: str
    media_type: str
    disposition: str
    content_id: str
    content: bytes
    parameters: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Content:
    """One body in UTF-8 and the files beside it."""

    media_type: str
    body: bytes
    attachments: list[Attachment]


def of_delivery(message: Section) -> Content:
    """What a delivery or a draft keeps: HTML before plain text, attachments in order of their names."""
    bodies = _bodies(message, "text/html")
    kind = "text/html" if any(part.media_type[0] == "text/html" for part in bodies) else "text/plain"
    body = b"".join(map(_converted, bodies))
    files = [_file(part, _file_text(part), "message.eml") for part in leaves(message) if not is_body(part)]
    files.sort(key=lambda file: file.name)
    content = Content(kind, body, files)
    return _with_images_named(content) if any(map(_nameless_image, files)) else content


def of_composer(message: Section) -> Content:
    """What Bridge makes of a draft or of mail to be sent: as a delivery, but files keep the parameters of their types."""
    content = of_delivery(message)
    files = [part for part in leaves(message) if not is_body(part)]
    files.sort(key=lambda part: _file_name(part, "message.eml"))
    kept = [_as_uploaded(file, part) for file, part in zip(content.attachments, files, strict=True)]
    kept.sort(key=lambda file: file.disposition != "inline")
    return replace(content, attachments=kept)


def _as_uploaded(file: Attachment, part: Section) -> Attachment:
    parameters = {name: value for name, value in part.media_type[1].items() if name not in {"name", "boundary"}}
    if _is_converted(part):
        parameters["charset"] = "UTF-8"
    # Nothing in the text could show it.
    inline = file.disposition == "inline" and bool(file.content_id)
    return replace(file, parameters=tuple(parameters.items()), disposition="inline" if inline else "attachment")


def of_import(message: Section) -> Content:
    """What an import with one text part at most keeps: everything, in the order it came."""
    texts = inline_texts(message)
    files = [_file(part, decoded(part), "attachment.bin") for part in leaves(message) if part not in texts]
    kind = texts[0].media_type[0] if texts else "text/plain"
    return Content(kind, utf8(texts[0]) if texts else b"", files)


def leaves(message: Section) -> Iterator[Section]:
    """Every part that isn't a multipart, depth first; messages within aren't opened."""
    if message.media_type[0].startswith("multipart/") and message.children:
        for child in message.children:
            yield from leaves(child)
    else:
        yield message


def is_body(part: Section) -> bool:
    """Whether a part is text to be read in the message, as against a file."""
    return part.media_type[0] in ("text/plain", "text/html") and disposition(part)[0] != "attachment"


def inline_texts(message: Section) -> list[Section]:
    """The parts an import takes for its text: of any text type, invitations among them."""
    return [
        part
        for part in leaves(message)
        if part.media_type[0].startswith("text/") and disposition(part)[0] != "attachment"
    ]


def is_protected(message: Section) -> bool:
    """Whether anything in the message is signed or encrypted in the MIME way."""
    if message.media_type[0] in ("multipart/signed", "multipart/encrypted"):
        return True
    return message.media_type[0].startswith("multipart/") and any(map(is_protected, message.children))


def disposition(part: Section) -> tuple[str, dict[str, str]]:
    """Content-Disposition with its parameters; empty if there is none."""
    try:
        return parse_media_type(part.get("content-disposition") or "")
    except InvalidMediaType:
        return "", {}


def decoded(part: Section) -> bytes:
    """The bytes of a part without their transfer encoding."""
    return decode(part.body, part.get("content-transfer-encoding") or "")


def utf8(part: Section) -> bytes:
    """The text of a part in UTF-8; bytes of an unknown charset stay as they are."""
    raw = decoded(part)
    charset = part.media_type[1].get("charset", "")
    if charset and known_charset(charset):
        return _reencoded(raw, charset)
    return raw if charset or _is_utf8(raw) else _reencoded(raw, "windows-1252")


def _reencoded(raw: bytes, charset: str) -> bytes:
    if charset.lower() in ("utf-8", "utf8", "us-ascii"):
        return raw
    return octets(decode_charset(raw, charset) or "")


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _bodies(part: Section, preferred: str) -> list[Section]:
    media_type = part.media_type[0]
    if not (media_type.startswith("multipart/") and part.children):
        return [part] if is_body(part) else []
    choices = [_bodies(child, preferred) for child in part.children]
    if media_type != "multipart/alternative":
        return [found for choice in choices for found in choice]
    best = [choice for choice in choices if choice and all(found.media_type[0] == preferred for found in choice)]
    return (best or [choice for choice in choices if choice] or [[]])[-1]


def _converted(part: Section) -> bytes:
    """Text in UTF-8; a page says so too."""
    content = utf8(part)
    return octets(declared_utf8(text(content))) if part.media_type[0] == "text/html" else content


def _file_text(part: Section) -> bytes:
    """The bytes of a delivered file: text is converted to UTF-8, but for plain text."""
    return _converted(part) if _is_converted(part) else decoded(part)


def _is_converted(part: Section) -> bool:
    media_type = part.media_type[0]
    return media_type.startswith("text/") and media_type != "text/plain"


def _file(part: Section, content: bytes, default_message_name: str) -> Attachment:
    return Attachment(
        name=_file_name(part, default_message_name),
        media_type=_file_type(part) or "application/octet-stream",
        disposition="inline" if disposition(part)[0] == "inline" else "attachment",
        content_id=part.get("content-id") or "",
        content=content,
    )


def _file_type(part: Section) -> str:
    return part.media_type[0] or (part.get("content-type") or "").split(";")[0].strip().lower()


def _file_name(part: Section, default_message_name: str) -> str:
    name = disposition(part)[1].get("filename") or part.media_type[1].get("name") or ""
    if not name and _file_type(part) == "message/rfc822":
        return default_message_name
    return name or "attachment" + _EXTENSIONS.get(_file_type(part), ".bin")


def _nameless_image(file: Attachment) -> bool:
    return file.disposition == "inline" and file.media_type.startswith("image/") and not file.content_id


def _with_images_named(content: Content) -> Content:
    """An inline image without an id gets one and a place in the body, which turns every text into HTML."""
    body = content.body if content.media_type == "text/html" else octets(as_html(text(content.body)))
    files = []
    for number, file in enumerate(content.attachments):
        if _nameless_image(file):
            name = uuid.uuid5(uuid.NAMESPACE_OID, f"{number} {file.name} {len(file.content)}")
            body += f'<html><body><img src="cid:{name}"/></body></html>'.encode()
            files.append(replace(file, content_id=f"<{name}>"))
        elif file.media_type == "text/plain":
            files.append(replace(file, media_type="text/html", content=octets(as_html(text(file.content)))))
        else:
            files.append(file)
    return Content("text/html", body, files)
