"""The arguments of MAIL and RCPT, read as forgivingly as Bridge's library reads them."""

from __future__ import annotations

from mcp_proton.simulator.smtp.replies import ReplyError

_LARGEST_SIZE = 2**31
_NOT_IMPLEMENTED = frozenset({"SMTPUTF8", "REQUIRETLS"})


def sender(argument: str) -> str:
    """The address of `FROM:<address> KEY=VALUE …`; raises ReplyError. Nothing is asked of the address itself."""
    words = argument[5:].strip(" ").split(" ")
    if argument[:5].upper() != "FROM:" or not words[0]:
        raise ReplyError(501, "5.5.2", "Was expecting MAIL arg syntax of FROM:<address>")
    for word in filter(None, words[1:]):
        _check(word)
    return words[0].strip("<>")


def recipient(argument: str) -> str:
    """The address of `TO:<address>`, with whatever follows it; raises ReplyError."""
    if argument[:3].upper() != "TO:" or len(argument) == len("TO:"):
        raise ReplyError(501, "5.5.2", "Was expecting RCPT arg syntax of TO:<address>")
    return argument[3:].strip("<> ")


def _check(word: str) -> None:
    key, equals, value = word.partition("=")
    if "=" in value:
        raise ReplyError(501, "5.5.4", "Unable to parse MAIL ESMTP parameters")
    match key.upper():
        case "SIZE":
            if not (equals and value.lstrip("+-").isdecimal() and abs(int(value)) < _LARGEST_SIZE):
                raise ReplyError(501, "5.5.4", "Unable to parse SIZE as an integer")
        case "BODY":
            _check_body(value)
        case "AUTH":
            _check_auth(value)
        case name if name in _NOT_IMPLEMENTED:
            raise ReplyError(504, "5.5.4", f"{name} is not implemented")
        case _:
            raise ReplyError(500, "5.5.4", "Unknown MAIL FROM argument")


def _check_body(value: str) -> None:
    if value == "BINARYMIME":
        raise ReplyError(504, "5.5.4", "BINARYMIME is not implemented")
    if value not in {"7BIT", "8BITMIME"}:
        raise ReplyError(500, "5.5.4", "Unknown BODY value")


def _check_auth(value: str) -> None:
    if not value.startswith("<"):
        raise ReplyError(500, "5.5.4", "Missing opening angle bracket")
    if not value.endswith(">"):
        raise ReplyError(500, "5.5.4", "Missing closing angle bracket")
