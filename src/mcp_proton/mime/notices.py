"""Notice: what was hidden, lost, guessed or changed on the way from octets to text. Stable words, part of every answer."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Notice(StrEnum):
    """Each says one thing the reader of the text should know. None of them is an error."""

    ALTERNATIVE_IGNORED = "alternative_ignored"
    """The plain part only pointed at the HTML part, so the text was made from the HTML."""
    CHARACTERS_REPLACED = "characters_replaced"
    """Some octets fitted no charset; U+FFFD stands in their place."""
    CHARSET_GUESSED = "charset_guessed"
    """The declared charset was missing, unknown or wrong; the text was read in the likeliest one."""
    ENCRYPTED = "encrypted"
    """Content is encrypted (OpenPGP or S/MIME) and was not opened."""
    EXTERNAL_CONTENT = "external_content"
    """A part only names a place elsewhere where its content is. It was not fetched."""
    FILE_NAME_CHANGED = "file_name_changed"
    """An attachment's name was not safe for a file system or hid its type."""
    HEADERS_DAMAGED = "headers_damaged"
    """The header holds lines that are none, or is longer than what was read."""
    HIDDEN_TEXT_REMOVED = "hidden_text_removed"
    """The HTML holds text that no person would have seen. It is not in the text."""
    HTML_CONVERTED = "html_converted"
    """The text was made from HTML."""
    HTML_DAMAGED = "html_damaged"
    """The HTML ends inside a tag; what follows that place is left out, as browsers do."""
    INVISIBLE_CHARACTERS_REMOVED = "invisible_characters_removed"
    """Bidirectional controls, zero-width, tag or variation characters were taken out."""
    INVITATION = "invitation"
    """The message carries a calendar part."""
    LINK_TEXT_DIFFERS = "link_text_differs"
    """The text of a link shows another host than the one it leads to."""
    NESTED_TOO_DEEP = "nested_too_deep"
    """Parts or HTML elements below the depth limit were not opened."""
    NO_TEXT_LAYER = "no_text_layer"
    """The pages are pictures: there is no text in the file to be read."""
    PAGES_DAMAGED = "pages_damaged"
    """Some pages of the document could not be read."""
    PARTS_LEFT_OUT = "parts_left_out"
    """The message has more parts than are read."""
    REMOTE_CONTENT_BLOCKED = "remote_content_blocked"
    """The HTML asks to load pictures, fonts or styles from elsewhere. Nothing was loaded."""
    SIGNED = "signed"
    """Content carries a signature (OpenPGP or S/MIME), which was not verified."""
    TABLE_DAMAGED = "table_damaged"
    """A quote in the table is never closed: from there on its lines stand as they are."""
    TRANSFER_ENCODING_DAMAGED = "transfer_encoding_damaged"
    """base64, quoted-printable or uuencode was broken; what could be read was read."""
    TRUNCATED = "truncated"
    """There is more than what is shown."""
    WINMAIL_DAT = "winmail_dat"
    """The attachments are inside an Outlook bundle (TNEF, `winmail.dat`), which was not opened."""


class Decoded(NamedTuple):
    """Text and what became of it on the way."""

    text: str
    notices: frozenset[str] = frozenset()
