"""Responses as values: envelopes, structures, rows, lists, searches, codes; what is odd costs a field, not the rest."""

from __future__ import annotations

from array import array
from datetime import UTC, datetime, timedelta, timezone

import pytest

from mcp_proton.imap.errors import LimitExceeded, ProtocolViolation
from mcp_proton.imap.limits import Limits
from mcp_proton.imap.protocol import tokens
from mcp_proton.imap.protocol.codes import AppendUid, Code, CopyUid, split
from mcp_proton.imap.protocol.envelope import Address
from mcp_proton.imap.protocol.responses import (
    Capabilities,
    Exists,
    Expunged,
    ExtendedSearch,
    Flags,
    ListEntry,
    MailboxStatus,
    Other,
    Recent,
    Response,
    ResponseReader,
    SearchResult,
    ServerId,
    Status,
    Vanished,
)
from mcp_proton.imap.protocol.rows import FetchRow
from mcp_proton.imap.protocol.uids import UidSet

ANN = Address(b"Ann", b"ann", b"x.test")
PEOPLE = b'(("Ann" NIL "ann" "x.test")) ' * 3 + b'((NIL NIL "bob" "y.test")) NIL NIL NIL "<m1@x>"'


def read(text: bytes, *literals: bytes, limits: Limits | None = None) -> Response:
    return ResponseReader(limits or Limits()).read(text, literals)


def row(inside: bytes, *literals: bytes) -> FetchRow:
    found = read(b"* 7 FETCH (" + inside + b")", *literals)
    assert isinstance(found, FetchRow)
    return found


@pytest.mark.parametrize("spelling", [b"%b", b" %b ", b"X-UNKNOWN (1 (2)) %b"], ids=["usual", "spaced", "with more"])
def test_a_row_holds_everything_that_was_told(spelling: bytes) -> None:
    found = row(
        spelling
        % (
            b'UID 9 FLAGS (\\seen $Forwarded) INTERNALDATE " 7-Feb-1994 21:52:25 -0830" RFC822.SIZE 4286'
            b' MODSEQ (12) ENVELOPE ("d" "s" ' + PEOPLE + b")"
        )
    )
    assert (found.seq, found.uid, found.size) == (7, 9, 4286)
    assert found.flags == {"\\Seen", "$Forwarded"}
    assert found.internaldate == datetime(1994, 2, 7, 21, 52, 25, tzinfo=timezone(-timedelta(hours=8, minutes=30)))
    assert found.envelope is not None
    assert found.envelope.from_ == (ANN,)
    assert found.envelope.to == (Address(None, b"bob", b"y.test"),)
    assert (found.envelope.cc, found.envelope.message_id) == ((), b"<m1@x>")


def test_bridge_writes_items_in_its_own_order_and_utc() -> None:
    found = row(b'INTERNALDATE "02-Jan-2023 10:00:00 +0000" RFC822.SIZE 5 FLAGS (\\Recent) UID 3')
    assert (found.uid, found.internaldate) == (3, datetime(2023, 1, 2, 10, tzinfo=UTC))


@pytest.mark.parametrize("date", [b"99-Foo-2026 25:61:00 +9999", b"31-Feb-2026 00:00:00 +0000", b"", b"yesterday"])
def test_a_date_that_is_none_costs_only_the_date(date: bytes) -> None:
    found = row(b'UID 1 INTERNALDATE "%b" RFC822.SIZE 8' % date)
    assert (found.internaldate, found.size) == (None, 8)


def test_rows_of_one_message_are_merged_and_the_later_word_wins() -> None:
    first, second = row(b"UID 1 FLAGS () BODY[1] {1}", b"a"), row(b"UID 1 FLAGS (\\Seen) BODY[2] {1}", b"b")
    both = first.merged(second)
    assert both.flags == {"\\Seen"}
    assert both.sections == {"1": b"a", "2": b"b"}


def test_sections_are_keyed_as_they_are_asked_for() -> None:
    found = row(
        b'UID 1 BODY[HEADER.FIELDS ("Subject" from)] {2} body[2.mime]<5> "x" RFC822.TEXT {1} BODY[4] NIL', b"hf", b"t"
    )
    assert found.sections == {"HEADER.FIELDS (SUBJECT FROM)": b"hf", "2.MIME<5>": b"x", "TEXT": b"t"}


def test_groups_are_told_by_their_members() -> None:
    group = b'((NIL NIL "Crew" NIL)("Ann" NIL "ann" "x.test")(NIL NIL NIL NIL)(NIL NIL "Empty" NIL)(NIL NIL NIL NIL))'
    found = row(b'ENVELOPE (NIL "s" NIL NIL NIL ' + group + b" NIL NIL NIL NIL)")
    assert found.envelope is not None
    assert found.envelope.to == (ANN._replace(group=b"Crew"), Address(None, None, None, b"Empty"))


def test_an_address_without_host_keeps_its_name() -> None:
    found = row(b'ENVELOPE (NIL "s" (("Bob" NIL "bob" NIL)) NIL NIL NIL NIL NIL NIL NIL)')
    assert found.envelope is not None
    assert found.envelope.from_ == (Address(b"Bob", b"bob", None),)


def test_bridge_quotes_like_go_and_is_understood() -> None:
    found = row(rb'ENVELOPE ("d" "tab\there \"q\" \\ \u00fc \x41" NIL NIL NIL NIL NIL NIL NIL NIL)')
    assert found.envelope is not None
    assert found.envelope.subject == 'tab\there "q" \\ ü A'.encode()


def test_literals_fill_any_string_of_an_envelope() -> None:
    found = row(
        b"ENVELOPE ({1} {2} (({3} NIL {1} {1})) NIL NIL NIL NIL NIL NIL {1})", b"d", b"su", b"Ann", b"a", b"h", b"m"
    )
    assert found.envelope is not None
    assert (found.envelope.date, found.envelope.subject, found.envelope.message_id) == (b"d", b"su", b"m")
    assert found.envelope.from_ == (Address(b"Ann", b"a", b"h"),)


MIXED = (
    b'(("text" "PLAIN" ("charset" "utf-8") NIL NIL "quoted-printable" 16 1 NIL NIL NIL NIL)'
    b'("application" "pdf" ("name" "x.pdf") "<i>" "d" "base64" 99 NIL ("attachment" ("filename" "x.pdf")) "de" "loc")'
    b' "mixed" ("boundary" "b1") NIL NIL NIL)'
)


@pytest.mark.parametrize("spaced", [False, True], ids=["usual", "by grammar"])
def test_a_structure_names_its_parts_as_fetch_does(spaced: bool) -> None:
    found = row(b"BODYSTRUCTURE " + (MIXED.replace(b'"mixed"', b' "mixed"') if spaced else MIXED) + b" UID 5")
    top = found.bodystructure
    assert found.uid == 5
    assert top is not None
    assert [part.path for part in top.walk()] == ["", "1", "2"]
    text, pdf = top.parts
    assert (top.content_type, top.parameters) == ("multipart/mixed", (("boundary", b"b1"),))
    assert (text.content_type, text.encoding, text.size, text.lines) == ("text/plain", "quoted-printable", 16, 1)
    assert (pdf.disposition, pdf.disposition_parameters) == ("attachment", (("filename", b"x.pdf"),))
    assert (pdf.id, pdf.description, pdf.language, pdf.location) == (b"<i>", b"d", (b"de",), b"loc")


def test_a_message_in_a_message_is_numbered_through() -> None:
    inner = b'("message" "rfc822" NIL NIL NIL NIL 300 ("d" "inner" ' + PEOPLE + b") " + MIXED + b" 9 NIL NIL NIL NIL)"
    found = row(b'BODYSTRUCTURE (("text" "plain" NIL NIL NIL "7bit" 5 1)' + inner + b' "mixed" NIL)')
    top = found.bodystructure
    assert top is not None
    message = top.parts[1]
    assert [part.path for part in top.walk()] == ["", "1", "2", "2", "2.1", "2.2"]
    assert message.envelope is not None
    assert (message.envelope.subject, message.lines) == (b"inner", 9)
    single = row(b'BODYSTRUCTURE ("message" "rfc822" NIL NIL NIL NIL 3 NIL ("text" "plain" NIL NIL NIL NIL 3 1) 1)')
    assert single.bodystructure is not None
    assert single.bodystructure.envelope is None


def test_a_single_text_in_a_message_is_below_it() -> None:
    leaf = b'("message" "rfc822" NIL NIL NIL NIL 3 ("d" "s" ' + PEOPLE + b') ("text" "plain" NIL NIL NIL NIL 3 1) 1)'
    found = row(b"BODYSTRUCTURE " + leaf)
    assert found.bodystructure is not None
    assert [part.path for part in found.bodystructure.walk()] == ["1", "1.1"]


def test_bridge_shows_a_forwarded_multipart_as_one_of_subtype_rfc822() -> None:
    text = b'("text" "plain" () NIL NIL NIL 1 1 NIL NIL NIL NIL)'
    forwarded = b"(" + text * 2 + b' "rfc822" () NIL NIL NIL)'
    found = row(b"BODYSTRUCTURE (" + text + forwarded + b' "mixed" () NIL NIL NIL)')
    top = found.bodystructure
    assert top is not None
    message = top.parts[1]
    assert (message.content_type, message.envelope) == ("message/rfc822", None)
    assert [part.path for part in message.walk()] == ["2", "2.1", "2.2"]


@pytest.mark.parametrize(
    "structure",
    [
        b"()",
        b"NIL",
        b'"text"',
        b"(() ())",
        b'("mixed" ("boundary" "b") NIL)',
        b'("text")',
        b'("a" "b" ("odd") 5 () "x" "n")',
        b'("text" "plain" NIL NIL NIL "7bit" 5 1 NIL NIL NIL NIL "an extension" ("more"))',
        b'("message" "rfc822" NIL NIL NIL NIL 222 "an envelope" NIL NIL NIL NIL NIL NIL)',
        b'(("text" "plain" NIL NIL NIL "7bit" 5 1) "mixed" NIL NIL NIL NIL "an extension" 5)',
    ],
)
def test_an_odd_structure_is_never_an_error(structure: bytes) -> None:
    assert row(b"BODYSTRUCTURE " + structure + b" UID 4").uid == 4


def test_lists_deeper_than_the_limit_are_left_out() -> None:
    deep = b"(" * 5000 + b'"x"' + b")" * 5000
    found = row(b"UID 2 BODYSTRUCTURE " + deep + b" RFC822.SIZE 6")
    assert (found.uid, found.size) == (2, 6)


def test_after_a_list_that_was_left_out_the_rest_is_in_its_place() -> None:
    nodes = tokens.parse(b'(a (b (c "d") {1}) e) f', [b"lit"], Limits(nesting=1))
    assert nodes == [[b"a", b"e"], b"f"]


def test_a_response_of_too_many_words_is_refused() -> None:
    with pytest.raises(LimitExceeded):
        read(b"* 1 FETCH (X (" + b"a " * 600_000 + b"))", limits=Limits(nodes=1000))


@pytest.mark.parametrize(
    "text",
    [
        b'* 1 FETCH (UID 1 ENVELOPE ("open)',
        b"* 1 FETCH (UID 1",
        b"* 1 FETCH (UID 1))",
        b"* 1 FETCH UID 1",
        b"* 1 FETCH (UID {3})",
        b"* 1 FETCH ((UID) 1)",
        b"* LIST (",
        b"* LIST only",
        b"* STATUS x",
        b"* SEARCH one",
        b"* SEARCH 99999999999",
        b"* ESEARCH UID ALL 1:x",
        b"* VANISHED nothing",
    ],
)
def test_a_broken_response_is_a_violation(text: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"* 5 EXISTS", Exists(5)),
        (b"* 5 exists", Exists(5)),
        (b"* 2 RECENT", Recent(2)),
        (b"* 3 EXPUNGE", Expunged(3)),
        (b"* VANISHED (EARLIER) 3:5", Vanished(UidSet.parse(b"3:5"))),
        (b"* FLAGS (\\Seen a[b x]y)", Flags(frozenset({"\\Seen", "a[b", "x]y"}))),
        (b"* CAPABILITY imap4rev1 IDLE", Capabilities(frozenset({"IMAP4REV1", "IDLE"}))),
        (b"* BYE gone", Status("BYE", None, b"gone")),
        (b'* ID ("Name" "gluon" "os" NIL)', ServerId({"name": "gluon"})),
        (b"* ID NIL", ServerId({})),
        (
            b'* STATUS "INBOX" (MESSAGES 640 UIDNEXT 705)',
            MailboxStatus("INBOX", b"INBOX", {"MESSAGES": 640, "UIDNEXT": 705}),
        ),
        (b"* SEARCH", SearchResult(array("I"))),
        (b"* SEARCH 2 84 882 (MODSEQ 917)", SearchResult(array("I", [2, 84, 882]))),
        (b'* ESEARCH (TAG "A1") UID ALL 1:3,5 COUNT 4', ExtendedSearch(b"A1", True, UidSet.parse(b"1:3,5"), 4)),
        (b'* ESEARCH (TAG "A1") UID', ExtendedSearch(b"A1", True)),
        (b"* WHAT is (this", Other("WHAT", b"* WHAT is (this")),
        (b"* ", Other("", b"* ")),
        (b"* 5", Other("", b"* 5")),
        (b"* 5 WHAT", Other("WHAT", b"* 5 WHAT")),
    ],
)
def test_each_response_has_its_type(text: bytes, value: Response) -> None:
    assert read(text) == value


def test_a_listed_mailbox_has_a_name_for_people_and_one_for_the_server() -> None:
    entry = read(b'* LIST (\\Noselect \\Unmarked) "/" "Folders/Entw&APw-rfe"')
    assert entry == ListEntry("Folders/Entwürfe", b"Folders/Entw&APw-rfe", "/", frozenset({"\\Noselect", "\\Unmarked"}))
    flat = read(b"* LIST () NIL {3}", b"a b")
    assert isinstance(flat, ListEntry)
    assert (flat.name, flat.delimiter) == ("a b", None)
    extended = read(b'* LIST (\\HasChildren) "." INBOX ("CHILDINFO" ("SUBSCRIBED"))')
    assert isinstance(extended, ListEntry)
    assert extended.name == "INBOX"


def test_a_long_search_answer_is_read_in_slices() -> None:
    numbers = list(range(1, 60_000))
    found = read(b"* SEARCH " + b" ".join(b"%d" % number for number in numbers))
    assert isinstance(found, SearchResult)
    assert list(found.numbers) == numbers


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"[UIDVALIDITY 17] ok", Code("UIDVALIDITY", 17, b"17")),
        (b"[uidnext 4]", Code("UIDNEXT", 4, b"4")),
        (b"[HIGHESTMODSEQ 715194045007]", Code("HIGHESTMODSEQ", 715194045007, b"715194045007")),
        (
            b"[PERMANENTFLAGS (\\Seen x]y \\*)] ok",
            Code("PERMANENTFLAGS", frozenset({"\\Seen", "x]y", "\\*"}), b"(\\Seen x]y \\*)"),
        ),
        (b"[CAPABILITY IDLE move]", Code("CAPABILITY", frozenset({"IDLE", "MOVE"}), b"IDLE move")),
        (b"[APPENDUID 38505 3955] done", Code("APPENDUID", AppendUid(38505, UidSet.parse(b"3955")), b"38505 3955")),
        (b"[TRYCREATE] no", Code("TRYCREATE")),
        (b"[ALERT] (soon", Code("ALERT")),
        (b"[BADCHARSET]", Code("BADCHARSET", frozenset())),
        (b"[COPYUID nonsense]", Code("COPYUID", None, b"nonsense")),
        (b"no code", None),
        (b"[open", None),
    ],
)
def test_response_codes_are_typed(text: bytes, code: Code | None) -> None:
    assert split(text)[0] == code


def test_copyuid_pairs_source_and_target_in_order() -> None:
    code, text = split(b"[COPYUID 38505 304,319:320 3956:3958] Done")
    assert text == b"Done"
    assert code is not None
    assert isinstance(code.value, CopyUid)
    assert code.value.pairs() == {304: 3956, 319: 3957, 320: 3958}


def test_copyuid_of_unequal_numbers_is_a_violation() -> None:
    code, _ = split(b"[COPYUID 1 1:2 5]")
    assert code is not None
    assert isinstance(code.value, CopyUid)
    with pytest.raises(ProtocolViolation):
        code.value.pairs()
