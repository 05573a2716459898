"""Any octets under any charset's name become text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.mime.decoding.charset import codec_name, decode
from mcp_proton.mime.structure.parse import parse

from .letters import b64, letter, patient

BODIES: dict[str, tuple[str, bytes, str, set[str]]] = {
    "none declared, utf-8": ("text/plain", "Grüße".encode(), "Grüße", set()),
    "utf-8 declared, latin-1 sent": (
        "text/plain; charset=utf-8",
        "hello Grüße".encode("latin-1"),
        "hello Grüße",
        {"charset_guessed"},
    ),
    "us-ascii declared, utf-8 sent": ("text/plain; charset=us-ascii", "Grüße".encode(), "Grüße", set()),
    "unknown": ("text/plain; charset=x-foo", "Grüße".encode(), "Grüße", {"charset_guessed"}),
    "junk behind it": ('text/plain; charset="utf-8;', "Grüße".encode(), "Grüße", set()),
    "single quotes": ("text/plain; charset='utf-8'", "Grüße".encode(), "Grüße", set()),
    "utf-7": ("text/plain; charset=utf-7", b"hello +APw-", "hello ü", set()),
    "cp-850": ("text/plain; charset=cp-850", "hello ü".encode("cp850"), "hello ü", set()),
    "rot13 is no charset": ("text/plain; charset=rot13", b"hello", "hello", {}),
    "idna is no charset": ("text/plain; charset=idna", b"hello body" * 2_000, "hello body" * 2_000, set()),
    "parameters without sense": ('text/plain; charset=utf-8; ="x"; foo; a=b=c', "ü".encode(), "ü", set()),
    "latin-1 declared, utf-8 sent": ("text/plain; charset=iso-8859-1", "Grüße".encode(), "Grüße", {"charset_guessed"}),
    "latin-1 that is windows-1252": ("text/plain; charset=iso-8859-1", b"\x93hi\x94", "“hi”", set()),
    "gb2312 that is gb18030": ("text/plain; charset=gb2312", "镕基㐀".encode("gb18030"), "镕基㐀", set()),
    "one broken octet": (
        "text/plain; charset=utf-8",
        b"a" * 300 + b"\xff",
        "a" * 300 + "\ufffd",
        {"characters_replaced"},
    ),
    "HTML that names its own": (
        "text/html",
        '<meta charset="koi8-r"><p>Привет'.encode("koi8-r"),
        "Привет",
        {"html_converted"},
    ),
    "HTML, latin-1 declared, utf-8 sent": (
        "text/html; charset=iso-8859-1",
        "<meta charset=utf-8><p>ü".encode(),
        "ü",
        {"charset_guessed", "html_converted"},
    ),
}


@pytest.mark.parametrize(("content_type", "body", "text", "notices"), BODIES.values(), ids=BODIES.keys())
def test_a_body_reads_whatever_it_was_called(content_type: str, body: bytes, text: str, notices: set[str]) -> None:
    message = parse(letter(content_type=content_type, body=body))
    assert message.text == text
    assert message.notices == frozenset(notices)


@pytest.mark.parametrize(
    ("name", "octets", "text"),
    [
        ("utf-16", "ü".encode("utf-16"), "ü"),
        ("utf-16", "üa".encode("utf-16-be"), "üa"),
        ("windows-874", "ไทย".encode("cp874"), "ไทย"),
    ],
)
def test_wide_and_eastern_charsets_survive_base64(name: str, octets: bytes, text: str) -> None:
    raw = letter("Content-Transfer-Encoding: base64", content_type=f"text/plain; charset={name}", body=b64(octets))
    assert parse(raw).text == text


SENTENCES = {
    "koi8-r": "Привет, как дела? Посылаю документы",
    "cp1251": "Добрый день, высылаю счёт на оплату",
    "euc-jp": "会議の件について、ご連絡します",
    "shift_jis": "お世話になっております。資料を送ります",
    "cp1255": "שלום לכולם, מה שלומכם היום",
    "cp1253": "Καλημέρα σας, στέλνω τα έγγραφα",
    "gb18030": "会议通知：请准时参加会议，谢谢",
    "big5": "您好，附上會議資料，請查收",
    "euc-kr": "안녕하세요 회의 일정입니다",
    "iso-8859-1": "Déjà vu à l'école, où est la fenêtre",
}


@pytest.mark.parametrize(("name", "sentence"), SENTENCES.items())
def test_an_undeclared_sentence_is_guessed_and_the_guess_is_reported(name: str, sentence: str) -> None:
    found = decode(sentence.encode(name))
    assert found.text == sentence
    assert found.notices == {"charset_guessed"}


@pytest.mark.parametrize(
    "name",
    [
        "rot13",
        "idna",
        "punycode",
        "unicode_escape",
        "raw-unicode-escape",
        "base64",
        "zip",
        "undefined",
        "mbcs",
        "",
        None,
        "x" * 10_000,
    ],
)
def test_transforms_are_no_charsets(name: str | None) -> None:
    assert codec_name(name) is None


def test_a_character_cut_at_the_end_is_left_out_and_not_a_fault() -> None:
    assert decode("Grü".encode()[:-1], "utf-8", complete=False) == ("Gr", frozenset())
    assert decode("会議".encode("euc-jp")[:-1], "euc-jp", complete=False).text == "会"


@patient
@given(
    st.binary(max_size=200),
    st.none()
    | st.sampled_from(["utf-8", "utf-16", "utf-7", "iso-2022-jp", "hz", "gb2312", "x", "latin-1", "utf-32"])
    | st.text(max_size=12),
    st.booleans(),
)
def test_any_octets_become_text_that_can_be_written(octets: bytes, name: str | None, complete: bool) -> None:
    decode(octets, name, complete=complete).text.encode()


@patient
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.sampled_from(["utf-8", "gb18030"]))
def test_text_reads_back_in_the_charset_it_was_written_in(text: str, name: str) -> None:
    assert decode(text.encode(name), name).text == text.removeprefix("\ufeff")
