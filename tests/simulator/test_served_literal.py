"""The literal served for an account message is, byte for byte, what a real Bridge serves."""

from __future__ import annotations

import base64
import quopri
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.simulator.proton.literal import serve
from mcp_proton.simulator.texts import structure
from tests.simulator import observed

NOW = datetime(2023, 1, 2, 10, tzinfo=UTC)
HEAD = (
    "From: Bob Example <bob@example.com>\r\nTo: Alice <alice@proton.local>\r\nSubject: Words\r\n"
    "Date: Mon, 02 Jan 2023 10:00:00 +0000\r\nMessage-ID: <m2@example.com>\r\nMIME-Version: 1.0\r\n"
)
BOTH_TEXTS = ("Content-Type: text/plain\r\n\r\nwords", "Content-Type: text/html\r\n\r\n<p>words</p>")
PLAIN = HEAD + "Content-Type: text/plain; charset=utf-8\r\n\r\n"


def served(raw: str | bytes, *, delivered: bool = True, appended: bool = False, draft: bool = False) -> bytes:
    data = raw if isinstance(raw, bytes) else raw.encode("utf-8")
    return serve(
        data, delivered=delivered, appended=appended, draft=draft, internal_id="i" * 36, gluon_id="g" * 36, api_time=NOW
    )


def header(literal: bytes) -> list[str]:
    return literal.partition(b"\r\n\r\n")[0].decode("utf-8").replace("\r\n ", " ").split("\r\n")


def body(literal: bytes) -> bytes:
    return literal.partition(b"\r\n\r\n")[2]


def parts_message(*parts: str, subtype: str = "mixed") -> str:
    lines = "".join(f"--b\r\n{part}\r\n" for part in parts)
    return f'{HEAD}Content-Type: multipart/{subtype}; boundary="b"\r\n\r\n{lines}--b--\r\n'


@pytest.mark.parametrize(
    "recording", observed.names("fetch-", "search-", "append-bytes-", "append-encrypted", "identity-")
)
def test_every_literal_of_a_recording_is_served_again(recording: str) -> None:
    whole = [item for item in observed.items(recording) if item.name in ("BODY[]", "RFC822", "RFC822.SIZE")]
    for item in whole:
        literal = observed.neutral(item.original.served())
        assert item.value == (str(len(literal)).encode() if item.name == "RFC822.SIZE" else literal), item.original.key


def test_the_recordings_show_enough_literals_to_mean_something() -> None:
    shown = [
        item for name in observed.names("fetch-", "append-") for item in observed.items(name) if item.name == "BODY[]"
    ]
    assert len(shown) > 40


def test_bridges_own_fields_come_first_and_in_its_order() -> None:
    assert [line.partition(":")[0] for line in header(served(PLAIN + "x\r\n"))] == [
        "X-Pm-Gluon-Id", "Content-Transfer-Encoding", "Content-Type", "References", "X-Pm-Date", "X-Pm-External-Id",
        "X-Pm-Internal-Id", "To", "Reply-To", "From", "Subject", "Date", "Message-ID", "MIME-Version",
    ]  # fmt: skip


def test_only_delivered_mail_gets_a_reply_to_it_never_had() -> None:
    def replies(*, delivered: bool) -> list[str]:
        return [line for line in header(served(PLAIN + "x", delivered=delivered)) if line.startswith("Reply-To")]

    assert replies(delivered=True) == ['Reply-To: "Bob Example" <bob@example.com>']
    assert replies(delivered=False) == []


def test_a_field_that_needs_no_change_keeps_its_place() -> None:
    raw = 'X-First: 1\r\nFrom: "Bob" <bob@example.com>\r\nX-Last: 2\r\n' + "\r\n".join(PLAIN.split("\r\n")[1:])
    lines = [line.partition(":")[0] for line in header(served(raw, delivered=False))]
    assert lines[lines.index("X-First") :][:3] == ["X-First", "From", "X-Last"]


def test_fields_of_one_spelling_are_gathered_and_unfolded() -> None:
    raw = f"X-A: one\r\n two\r\nX-B: b\r\nX-A: three\r\nx-a: other\r\n{PLAIN}x"
    lines = [line for line in header(served(raw)) if line.lower().startswith("x-a") or line.startswith("X-B")]
    assert lines == ["X-A: one two", "X-A: three", "X-B: b", "x-a: other"]


@pytest.mark.parametrize("date", ["", "yesterday", "2 January 2023", "Foo, 02 Jan 2023 10:00:00 +0000"])
def test_a_date_that_cannot_be_read_is_replaced_and_lost(date: str) -> None:
    lines = header(served(PLAIN.replace("Mon, 02 Jan 2023 10:00:00 +0000", date)))
    assert "X-Original-Date: Mon, 01 Jan 0001 00:00:00 +0000" in lines
    assert "Date: Mon, 02 Jan 2023 10:00:00 +0000" in lines


def test_a_date_before_1970_is_replaced_and_kept_aside() -> None:
    lines = header(served(PLAIN.replace("02 Jan 2023 10:00:00 +0000", "07 Jul 1969 12:00:00 +0200")))
    assert "X-Original-Date: Mon, 07 Jul 1969 10:00:00 +0000" in lines


@pytest.mark.parametrize(
    "date", ["Mon, 2 Jan 2023 10:00", "02 Jan 23 10:00:00 EST", "Mon, 02 Jan 2023 10:00:00 GMT (comment)"]
)
def test_an_odd_date_that_bridge_reads_stays_as_it_is(date: str) -> None:
    assert f"Date: {date}" in header(served(PLAIN.replace("Mon, 02 Jan 2023 10:00:00 +0000", date)))


def test_without_a_message_id_the_internal_one_takes_its_place() -> None:
    lines = header(served(PLAIN.replace("Message-ID: <m2@example.com>\r\n", "")))
    assert f"Message-Id: <{'i' * 36}@protonmail.internalid>" in lines
    assert not any(line.startswith("X-Pm-External-Id") for line in lines)


def test_references_end_with_the_internal_id() -> None:
    lines = header(served(f"References: <a@x>\r\n <b@x>\r\n{PLAIN}x"))
    assert f"References: <a@x> <b@x> <{'i' * 36}@protonmail.internalid>" in lines


def test_faked_identity_headers_are_replaced_but_for_the_gluon_id() -> None:
    raw = f"X-Pm-Internal-Id: fake\r\nX-Pm-Gluon-Id: fake\r\nX-Pm-Date: fake\r\nX-Pm-External-Id: fake\r\n{PLAIN}x"
    lines = header(served(raw))
    assert lines[0] == f"X-Pm-Gluon-Id: {'g' * 36}"
    assert [line for line in lines if "fake" in line] == ["X-Pm-Gluon-Id: fake"]


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable", b"Gr=FC=DFe"),
        ("charset=windows-1251\r\nContent-Transfer-Encoding: base64", base64.b64encode("Grüße".encode())),
        ("charset=utf-8\r\nContent-Transfer-Encoding: 8bit", "Grüße".encode()),
        ("charset=utf-8\r\nContent-Transfer-Encoding: base64", base64.b64encode("Grüße".encode())),
    ],
)  # fmt: skip
def test_every_single_text_is_served_as_quoted_printable_utf_8(head: str, text: bytes) -> None:
    literal = served((HEAD + f"Content-Type: text/plain; {head}\r\n\r\n").encode() + text)
    assert "Content-Type: text/plain; charset=utf-8" in header(literal)
    assert "Content-Transfer-Encoding: quoted-printable" in header(literal)
    if "1251" not in head:
        assert body(literal) == b"Gr=C3=BC=C3=9Fe"


@pytest.mark.parametrize(
    ("line", "encoded"),
    [
        ("x" * 75, "x" * 75),
        ("x" * 76, "x" * 75 + "=\r\nx"),
        ("x" * 72 + "é", "x" * 72 + "=C3=\r\n=A9"),
        ("x" * 73 + "é", "x" * 73 + "=\r\n=C3=A9"),
        ("x" * 74 + " ", "x" * 74 + "=\r\n=20"),
        ("x" * 72 + " ", "x" * 72 + "=20"),
        ("tab\t", "tab=09"),
        ("a = b", "a =3D b"),
    ],
)
def test_soft_breaks_come_where_go_makes_them(line: str, encoded: str) -> None:
    assert body(served(PLAIN + line + "\r\nend")) == f"{encoded}\r\nend".encode()


@pytest.mark.parametrize("delivered", [True, False])
def test_lines_that_begin_with_from_are_missing(delivered: bool) -> None:
    text = "First\r\nFrom here\r\n>From there\r\n From blank\r\nFrom: colon\r\nfrom low\r\nLast\r\nFrom the end"
    literal = served(PLAIN + text, delivered=delivered)
    assert body(literal) == b"First\r\n From blank\r\nFrom: colon\r\nfrom low\r\nLast\r\n"


def test_an_append_keeps_lines_that_begin_with_from() -> None:
    assert body(served(PLAIN + "First\r\nFrom here\r\n", delivered=False, appended=True)) == b"First\r\nFrom here\r\n"


def test_of_a_delivered_alternative_only_the_page_is_left() -> None:
    raw = parts_message(
        "Content-Type: text/plain\r\n\r\nwords", "Content-Type: text/html\r\n\r\n<p>words</p>", subtype="alternative"
    )
    literal = served(raw)
    assert "Content-Type: text/html; charset=utf-8" in header(literal)
    assert body(literal) == b"<p>words</p>"


def test_an_imported_alternative_is_kept_whole() -> None:
    raw = parts_message(
        "Content-Type: text/plain\r\n\r\nwords", "Content-Type: text/html\r\n\r\n<p>words</p>", subtype="alternative"
    )
    assert body(served(raw, delivered=False)) == body(raw.encode())


def test_an_appended_alternative_is_wrapped_with_an_empty_text() -> None:
    raw = parts_message(
        "Content-Type: text/plain\r\n\r\nwords", "Content-Type: text/html\r\n\r\n<p>words</p>", subtype="alternative"
    )
    literal = served(raw, delivered=False, appended=True)
    assert b'"alternative" ("boundary" "b")' in structure.body(literal, extended=True)
    assert structure.section(literal, "2") == b""
    assert structure.section(literal, "1.1") == b"words"


def test_files_are_base64_in_order_of_their_names_when_delivered() -> None:
    files = [
        f'Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename="{name}"\r\n\r\n{name}'
        for name in ("b.bin", "c d.bin", "a.bin")
    ]
    literal = served(parts_message("Content-Type: text/plain\r\n\r\nSee files.", *files))
    assert re.findall(rb"Content-Disposition: attachment; filename=(.*)\r\n", literal) == [
        b"a.bin",
        b"b.bin",
        b'"c d.bin"',
    ]
    assert structure.section(literal, "2") == base64.b64encode(b"a.bin")


def test_long_files_are_wrapped_at_76_columns() -> None:
    file = "Content-Type: application/pdf; name=x.pdf\r\nContent-Disposition: attachment\r\n\r\n" + "y" * 114
    lines = structure.section(served(parts_message("Content-Type: text/plain\r\n\r\n", file)), "2").split(b"\r\n")
    assert [len(line) for line in lines] == [76, 76]


def test_a_file_name_beyond_ascii_travels_as_an_encoded_word() -> None:
    file = "Content-Type: application/pdf\r\nContent-Disposition: attachment; filename*=UTF-8''r%C3%A9sum%C3%A9.pdf\r\n\r\nx"
    literal = served(parts_message("Content-Type: text/plain\r\n\r\nx", file))
    assert b'filename="=?utf-8?q?r=C3=A9sum=C3=A9.pdf?="' in literal
    assert '"filename" "résumé.pdf"'.encode() in structure.body(literal, extended=True)


def test_inline_images_stay_beside_the_page() -> None:
    image = "Content-Type: image/png; name=i.png\r\nContent-Disposition: inline\r\nContent-ID: <i@x>\r\n\r\nPNG"
    file = "Content-Type: application/pdf; name=a.pdf\r\nContent-Disposition: attachment\r\n\r\nPDF"
    literal = served(parts_message('Content-Type: text/html\r\n\r\n<img src="cid:i@x">', image, file))
    assert re.findall(rb'"(related|mixed)"', structure.body(literal, extended=False)) == [b"related", b"mixed"]
    assert structure.section(literal, "1.2") == base64.b64encode(b"PNG")
    assert b"Content-Id: <i@x>" in structure.section(literal, "1.2.MIME")


def test_an_inline_image_without_an_id_gets_one_and_makes_the_text_a_page() -> None:
    image = "Content-Type: image/png; name=i.png\r\nContent-Disposition: inline\r\n\r\nPNG"
    literal = served(parts_message("Content-Type: text/plain\r\n\r\nbody", image))
    named = re.search(rb"Content-Id: <(.*)>", literal)
    assert named is not None
    assert b'<html><body><p>body</p></body></html><html><body><img src=3D"cid:' in structure.section(literal, "1.1")


def test_boundaries_depend_on_the_message_alone() -> None:
    raw = parts_message("Content-Type: text/plain\r\n\r\nx", "Content-Type: application/pdf\r\n\r\nx")
    assert served(raw) == served(raw)
    assert len(set(re.findall(rb"boundary=([0-9a-f]{64})\r\n", served(raw)))) == 1


def test_a_nested_message_is_not_encoded() -> None:
    inner = "Content-Type: message/rfc822\r\n\r\nFrom: c@x\r\nSubject: inner\r\n\r\nText"
    literal = served(parts_message("Content-Type: text/plain\r\n\r\nx", inner))
    assert structure.section(literal, "2.HEADER") == b"From: c@x\r\nSubject: inner\r\n\r\n"
    assert b"filename=message.eml" in structure.section(literal, "2.MIME")


def test_an_import_in_an_unknown_charset_shows_the_end_of_its_header() -> None:
    raw = HEAD + "Content-Type: text/plain; charset=x-none\r\nContent-Transfer-Encoding: 8bit\r\n\r\nabc\r\n"
    assert body(served(raw, delivered=False)) == b"ntent-Transfer-Encoding: 8bit\r\n\r\nabc\r\n"


def test_a_declared_charset_of_a_delivered_page_becomes_utf_8() -> None:
    page = '<html><head><meta charset="iso-8859-1"><title>T</title></head><body><p>x</p></body></html>\r\n'
    literal = served(HEAD + f"Content-Type: text/html; charset=iso-8859-1\r\n\r\n{page}")
    assert body(literal).replace(b"=\r\n", b"") == (
        b'<html><head><meta charset=3D"UTF-8"/><title>T</title></head><body><p>x</p>\r\n</body></html>'
    )


def test_raw_latin_1_in_a_header_is_lost() -> None:
    literal = served(PLAIN.replace("Words", "Gr\udcfc\udcdfe").encode("utf-8", "surrogateescape"))
    assert "Subject: =?utf-8?q?Gr=EF=BF=BD=EF=BF=BDe?=" in header(literal)


def test_a_long_subject_is_encoded_in_several_words_on_one_line() -> None:
    # go-message folds at the first 76 columns or, finding no blank there, not before column 998.
    subject = next(
        line for line in served(PLAIN.replace("Words", "Grüße " * 20)).split(b"\r\n") if line.startswith(b"Subject")
    )
    words = subject.removeprefix(b"Subject: ").split(b" ")
    assert len(words) > 2
    assert all(len(word) <= 75 for word in words)


def test_a_field_is_folded_at_the_last_blank_before_column_77() -> None:
    references = " ".join(f"<number-{number}@example.com>" for number in range(5))
    literal = served(f"References: {references}\r\n{PLAIN}x")
    folded = re.search(rb"(?s)References: .*?\r\n(?=\S)", literal)
    assert folded is not None
    assert [len(line) for line in folded[0].split(b"\r\n")[:-1]] == [57, 69, 61]


def test_a_draft_shows_only_what_the_composer_knows() -> None:
    literal = served(f"X-Custom: 1\r\nReply-To: desk@example.com\r\nReferences: <a@x>\r\n{PLAIN}x", draft=True)
    names = [line.partition(":")[0] for line in header(literal)]
    assert names[-5:] == ["Subject", "From", "To", "Date", "Message-Id"]
    assert not {"X-Custom", "Reply-To"} & set(names)


PIECES = st.sampled_from([
    b"\r\n", b"\n", b"--b\r\n", b"--b--\r\n", b"Content-Type: ", b"multipart/mixed; boundary=b", b"text/html", b"text/plain",
    b"; charset=", b"utf-8", b"x-none", b"utf-16", b"idna", b"Content-Disposition: inline\r\n", b"message/rfc822", b"From: ",
    b"Subject: ", b"=?utf-8?q?=C3?=", b"<meta charset=x>", b"<![x[", b"<a@b>", b'"', b"(", b"Date: ", b"From \r\n", b"\xff\x00",
    b"Content-Transfer-Encoding: base64\r\n", b"a=b", b";", b"multipart/signed; boundary=b", b"name*0*=x''%", b"image/png",
])  # fmt: skip
MESSAGES = st.one_of(
    st.binary(max_size=300),
    st.lists(st.one_of(PIECES, st.binary(max_size=4)), max_size=40).map(b"".join),
)


@given(MESSAGES, st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=400, deadline=None)
def test_any_bytes_are_served_and_described(raw: bytes, delivered: bool, appended: bool, draft: bool) -> None:
    literal = served(raw, delivered=delivered, appended=appended, draft=draft)
    assert literal.startswith(b"X-Pm-Gluon-Id: ")
    assert f"X-Pm-Internal-Id: {'i' * 36}".encode() in literal
    assert structure.envelope(literal).startswith(b"(")
    assert structure.body(literal, extended=True).endswith(b")")


@given(st.binary(max_size=2000))
@settings(max_examples=200, deadline=None)
def test_what_quoted_printable_hides_can_be_read_again(text: bytes) -> None:
    lines = text.replace(b"\r", b"").replace(b"\n", b"\r\n").replace(b"From ", b"from ")
    literal = served(PLAIN.encode() + lines)
    content = body(literal)
    assert quopri.decodestring(content) == lines
    assert all(len(line) <= 76 for line in content.split(b"\r\n"))
    assert body(served(literal)) == content


@pytest.mark.parametrize(
    "raw",
    [
        PLAIN.encode() + b"A line of ordinary length, nothing more.\r\n" * 200_000,
        PLAIN.encode() + "Grüße ".encode() * 200_000,
        parts_message(
            "Content-Type: text/plain\r\n\r\nx", "Content-Type: application/zip\r\n\r\n" + "z" * 8_000_000
        ).encode(),
        b"To: " + b"a@b.c, " * 10_000 + b"\r\n" + PLAIN.encode(),
        b"X-A: b\r\n" * 20_000 + PLAIN.encode(),
        b"".join(b"Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n" % (n, n) for n in range(3000)),
        HEAD.encode() + b"Content-Type: text/html\r\n\r\n<meta charset=x>" + b"<a " * 500_000,
    ],
    ids=["ascii", "utf-8", "file", "recipients", "fields", "nested", "tags"],
)
def test_large_messages_are_served_before_the_test_runs_out_of_time(raw: bytes) -> None:
    literal = served(raw)
    structure.envelope(literal)
    assert structure.body(literal, extended=True)
