"""Logs: for people, on standard error, without a word of mail."""

from __future__ import annotations

import json
import logging

from mcp_proton.mcp.logs import AUDIT, JsonFormatter, PrivateFormatter


def record(name: str, message: str, *values: object, error: BaseException | None = None) -> str:
    info = (type(error), error, None) if error else None
    made = logging.LogRecord(name, logging.WARNING, "/somewhere/session.py", 12, message, values, info)
    return PrivateFormatter().format(made)


def test_ours_are_shown():
    assert record("mcp_proton.imap", "%s attempts", 3) == "mcp-proton: warning: 3 attempts"


def test_of_foreign_ones_only_the_place_and_the_kind():
    told = record("mcp.server", "bad message: SECRETVALUE", error=ValueError("SECRETVALUE"))
    assert told == "mcp-proton: warning: in mcp.server (session.py:12) (ValueError)"


def test_not_even_ours_quote_an_exception():
    assert "SECRETVALUE" not in record("mcp_proton.mcp", "it stopped", error=ValueError("SECRETVALUE"))


def test_a_name_that_only_begins_like_ours_is_foreign():
    assert "SECRETVALUE" not in record("mcp_protonx", "SECRETVALUE")


def test_as_json_the_same_is_said_in_fields():
    """J-133."""
    info = (ValueError, ValueError("SECRETVALUE"), None)
    foreign = logging.LogRecord("mcp.server", logging.ERROR, "/x/session.py", 12, "SECRETVALUE %s", ("b",), info)
    told = json.loads(JsonFormatter().format(foreign))
    assert told.pop("at")
    assert told == {
        "level": "error",
        "event": "log",
        "logger": "mcp.server",
        "message": "in mcp.server (session.py:12)",
        "error_class": "ValueError",
    }
    ours = logging.LogRecord(AUDIT, logging.INFO, "x", 1, "call client=hermes", (), None)
    ours.fields = {"event": "call", "client": "hermes"}
    told = json.loads(JsonFormatter().format(ours))
    assert (told["event"], told["client"]) == ("call", "hermes")
    assert PrivateFormatter().format(ours) == "mcp-proton: call client=hermes"
