"""Messages written by hand for the tests: a header, a body, parts."""

from __future__ import annotations

import base64

from hypothesis import settings

patient = settings(deadline=None)
"""For laws: the first guess of a charset loads its models, and machines are busy."""

TEXT = b"Content-Type: text/plain; charset=utf-8\r\n\r\nhello body"


def octets(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


def letter(
    *fields: str | bytes, content_type: str = "text/plain; charset=utf-8", body: str | bytes = "hello body\r\n"
) -> bytes:
    """A message with the usual fields, each replaced by a given one of its name."""
    given = [octets(one) for one in fields]
    usual = {
        b"from": b"From: A <a@x.test>",
        b"to": b"To: b@x.test",
        b"subject": b"Subject: s1",
        b"mime-version": b"MIME-Version: 1.0",
        b"content-type": octets(f"Content-Type: {content_type}"),
    }
    for one in given:
        usual.pop(one.partition(b":")[0].strip().lower(), None)
    return b"\r\n".join([*usual.values(), *given]) + b"\r\n\r\n" + octets(body)


def several(
    *parts: bytes, subtype: str = "mixed", boundary: str = "BB", closed: bool = True, parameters: str = ""
) -> bytes:
    """A multipart message of these parts."""
    line = b"--" + boundary.encode()
    body = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + (line + b"--\r\n" if closed else b"")
    return letter(content_type=f'multipart/{subtype}; boundary="{boundary}"{parameters}', body=body)


def part(content_type: str, data: str | bytes, *fields: str | bytes, encoding: str = "base64") -> bytes:
    """One part; base64 unless said otherwise."""
    said = base64.encodebytes(octets(data)).strip() if encoding == "base64" else octets(data)
    head = [f"Content-Type: {content_type}", f"Content-Transfer-Encoding: {encoding}", *fields]
    return b"\r\n".join(octets(one) for one in head) + b"\r\n\r\n" + said


def file(disposition: str | bytes, data: bytes = b"ATTDATA", content_type: str = "application/octet-stream") -> bytes:
    """An attached file."""
    return part(content_type, data, b"Content-Disposition: " + octets(disposition))


def b64(text: bytes) -> str:
    return base64.b64encode(text).decode()


def html_letter(source: str) -> bytes:
    return letter(content_type="text/html; charset=utf-8", body=source)
