"""Where Bridge says an address list can't be parsed.

Its parser tries an address as `name <spec>`, as a bare spec and as a group, each time from the start, and the offset it
prints counts every byte it has read, those read again included.
"""

from __future__ import annotations

import re

_PHRASE = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^\s()<>\[\]:;@\\,"]|\s)*')
_LOCAL = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^\s()<>\[\]:;@\\,"])*\s*')
_SPEC = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^\s()<>\[\]:;@\\,"])+@[^\s()<>:;\\,"]+\s*')


def fault_text(value: str) -> str:
    """The text for a list that doesn't parse."""
    return f"[Error offset={_fault_offset(value)}]: expected ':' for group start"


def _fault_offset(value: str) -> int:
    read = 1
    start = 0
    while True:
        end, named = _address_end(value, start)
        if end is None:
            return _give_up(value, start, read)
        if not named:
            read += _name_stop(value, start) - start
        read += end - start
        start = end + 1
        while value[start : start + 1].isspace():
            start += 1
        read += start - end
        if end >= len(value) or start >= len(value):
            return read


def _address_end(value: str, start: int) -> tuple[int | None, bool]:
    """Where a good address ends and whether it has angle brackets; no end for a bad one."""
    stop = _match_end(_PHRASE, value, start)
    if value[stop : stop + 1] == "<":
        spec = _SPEC.match(value, stop + 1)
        closed = spec is not None and value[spec.end() : spec.end() + 1] == ">"
        return (spec.end() + 1, True) if spec is not None and closed else (None, True)
    bare = _SPEC.match(value, start)
    return (bare.end(), False) if bare is not None else (None, False)


def _give_up(value: str, start: int, read: int) -> int:
    stops = [_name_stop(value, start), _match_end(_LOCAL, value, start), _match_end(_PHRASE, value, start)]
    # The end of the text isn't a byte that is read.
    read += sum(min(stop, len(value) - 1) - start for stop in stops)
    return read if stops[-1] >= len(value) else read - 1


def _name_stop(value: str, start: int) -> int:
    """How far the attempt to read `name <spec>` gets."""
    stop = _match_end(_PHRASE, value, start)
    if value[stop : stop + 1] != "<":
        return stop
    return _match_end(_SPEC, value, stop + 1)


def _match_end(pattern: re.Pattern[str], value: str, start: int) -> int:
    found = pattern.match(value, start)
    return found.end() if found is not None else start
