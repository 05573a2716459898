"""Flag lists and the date of an APPEND, with Bridge's error texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcp_proton.simulator.imap.scanner import ATOM, LETTERS, SyntaxFault

if TYPE_CHECKING:
    from mcp_proton.simulator.imap.scanner import Scanner

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def read_flags(scan: Scanner) -> tuple[str, ...]:
    """The flags of a STORE, in brackets or without."""
    if scan.peek() == 0x28:
        return read_flag_list(scan)
    flags = [_flag(scan)]
    while scan.takes(b" "):
        flags.append(_flag(scan))
    return tuple(flags)


def read_flag_list(scan: Scanner) -> tuple[str, ...]:
    """Flags in brackets; \\Recent is refused."""
    scan.position += 1
    flags: list[str] = []
    if scan.peek() != 0x29:
        flags.append(_flag(scan))
        while scan.takes(b" "):
            flags.append(_flag(scan))
    scan.expect(b")", "Expected ')' at end of flag list")
    return tuple(flags)


def _flag(scan: Scanner) -> str:
    system = scan.takes(b"\\")
    word = scan.run(ATOM).decode()
    if not word:
        raise scan.fault("Invalid character detected in atom")
    if system and word.lower() == "recent":
        raise scan.fault("Recent Flag is not allowed in this context")
    return _spelled("\\" + word if system else word)


def skip_date_time(scan: Scanner) -> None:
    """Check a date-time and step over it: Bridge makes no use of it."""
    scan.position += 1
    scan.takes(b" ")
    scan.number()
    scan.expect(b"-", "expected - after date day")
    start = scan.position
    if scan.run(LETTERS).decode().lower() not in _MONTHS:
        raise SyntaxFault("invalid date month", start)
    for separator, text in (
        ("-", "month"),
        ("", "year"),
        (" ", ""),
        ("", "hour"),
        (":", ""),
        ("", "minute"),
        (":", ""),
    ):
        if separator:
            scan.expect(separator.encode(), f"expected {separator} after date {text}".strip())
        else:
            scan.number()
    scan.number()
    scan.space("expected space after time")
    if not scan.takes(b"+"):
        scan.expect(b"-", "expected + or - for time zone")
    scan.number()
    scan.expect(b'"', 'expected " for date-time end')


def _spelled(flag: str) -> str:
    known = ("\\Seen", "\\Flagged", "\\Answered", "\\Deleted", "\\Draft", "$Forwarded", "Forwarded")
    return next((one for one in known if one.lower() == flag.lower()), flag)
