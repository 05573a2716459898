"""Every writing system gets through: name, subject, text, HTML and file name, read by us and by the standard library (P-60)."""

from __future__ import annotations

import pytest

from mcp_proton.domain.mail import Address
from mcp_proton.mime.composing.reply import Original, reply
from mcp_proton.mime.header.addresses import addresses
from mcp_proton.mime.header.headers import Headers
from mcp_proton.mime.structure import parse

from .outgoing import enclosure, letter, names_and_addresses, read, wire

SENTENCES = {
    "Amharic": "ጤና ይስጥልኝ ወዳጄ",
    "Arabic": "السلام عليكم ورحمة الله",
    "Armenian": "Բարի օր, սիրելի ընկեր",
    "Bengali": "শুভ সকাল, কেমন আছেন?",
    "Braille": "⠓⠑⠇⠇⠕",
    "Burmese": "မင်္ဂလာပါ ခင်ဗျာ",
    "Chinese": "您好，会议改到星期三。",
    "Czech": "Příliš žluťoučký kůň úpěl ďábelské ódy",
    "Emoji": "🎉👩‍🚀🏳️‍🌈 ok",
    "English": "Quite plain, isn't it?",
    "Georgian": "გამარჯობა მეგობარო",
    "German": "Viele Grüße aus Köln, Straße & Maß",
    "Greek": "Καλημέρα σας, τι κάνετε;",
    "Hebrew": "שלום רב, מה שלומך?",
    "Hindi": "नमस्ते, आप कैसे हैं?",
    "Icelandic": "Það væri gott, þakka þér",
    "Inuktitut": "ᐊᐃᓐᖓᐃ",
    "Japanese": "お世話になっております。髙橋です。",
    "Khmer": "សួស្តី អ្នកសុខសប្បាយទេ",
    "Korean": "안녕하세요, 회의가 있습니다",
    "Mathematics": "∀x∈ℝ: √x² = |x|, 𝔄 ≠ 𝒜",
    "Persian": "می‌خواهم بدانم",
    "Polish": "Zażółć gęślą jaźń",
    "Russian": "Съешь же ещё этих мягких булок",
    "Tamil": "வணக்கம் நண்பரே",
    "Thai": "สวัสดีครับ ยินดีที่ได้รู้จัก",
    "Tibetan": "བཀྲ་ཤིས་བདེ་ལེགས།",
    "Turkish": "Pijamalı hasta yağız şoföre çabucak güvendi",
    "Ukrainian": "Жебракують філософи при ґанку",
    "Vietnamese": "Chào bạn, hẹn gặp lại ngày mai",
    "Zalgo": "Z̸͉̈a̶͚͐l̵̰̓g̷̫͝o̴͙͋",
}


@pytest.mark.parametrize("language", SENTENCES)
@pytest.mark.parametrize("times", [1, 12])
def test_a_letter_in_any_script_is_read_as_it_was_written(language: str, times: int) -> None:
    said = " ".join([SENTENCES[language]] * times)
    name = f"{SENTENCES[language]}.txt".replace("/", "-")
    asked = letter(
        to=(Address(said, "x@example.com"),),
        subject=said,
        text=f"{said}\n",
        html=f"<p>{said.replace('&', '&amp;')}</p>",
        enclosures=(enclosure(said.encode(), name, "text/plain; charset=utf-8"),),
    )
    raw = wire(asked, said.encode())
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 78
    message = read(raw)
    assert message["Subject"] == said
    assert names_and_addresses(raw, "To") == [(said, "x@example.com")]
    plain, page = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert page is not None
    assert plain.get_content().replace("\r\n", "\n") == f"{said}\n"
    assert said.replace("&", "&amp;") in page.get_content()
    attached = next(iter(message.iter_attachments()))
    assert (attached.get_filename(), attached.get_content()) == (name, said)
    assert parse.parse(raw).text == said
    assert Headers(raw).text("Subject") == said
    assert addresses(Headers(raw).get("To"))[0].name == said


@pytest.mark.parametrize("language", SENTENCES)
def test_an_answer_in_any_script_quotes_and_names_what_it_answers(language: str) -> None:
    said = SENTENCES[language]
    raw = wire(letter(sender=Address(said, "ada@example.org"), subject=said, text=f"{said}\n", html=None))
    parsed = parse.parse(raw)
    made = reply(Original(Headers(raw), parsed.text, parsed.html), ["bob@example.net"])
    assert made.subject == f"Re: {said}"
    assert made.recipients.to == (Address(said, "ada@example.org"),)
    assert made.quote.text.endswith(f"wrote:\n> {said}")


@pytest.mark.parametrize(
    ("field", "name", "expected"),
    [
        # RFC 2047 §8: what others write so, we write in a form that reads the same.
        ("=?US-ASCII?Q?Keith_Moore?= <moore@cs.utk.edu>", "Keith Moore", b"Keith Moore <moore@cs.utk.edu>"),
        ("=?ISO-8859-1?Q?Keld_J=F8rn_Simonsen?= <keld@dkuug.dk>", "Keld Jørn Simonsen", b"=?utf-8?q?Keld_J=C3=B8rn_Simonsen?="),
        ("=?ISO-8859-1?Q?Andr=E9?= Pirard <PIRARD@vm1.ulg.ac.be>", "André Pirard", b"=?utf-8?q?Andr=C3=A9_Pirard?="),
        # RFC 5322 appendix A.1.2
        ('"Joe Q. Public" <john.q.public@example.com>', "Joe Q. Public", b'"Joe Q. Public"'),
        ('"Giant; \\"Big\\" Box" <sysservices@example.net>', 'Giant; "Big" Box', b'"Giant; \\"Big\\" Box"'),
    ],
)  # fmt: skip
def test_names_of_the_rfcs_are_carried_over_into_an_answer(field: str, name: str, expected: bytes) -> None:
    """J-137: carried, never invented."""
    made = reply(Original(Headers(f"From: {field}\r\n\r\n".encode())), ["me@pm.me"])
    assert made.recipients.to[0].name == name
    assert expected in wire(letter(to=made.recipients.to))


def test_the_file_name_of_rfc_2231_survives_being_sent_on() -> None:
    asked = letter(enclosures=(enclosure(b"x", "This is even more ***fun*** isn't it!.txt"),))
    root = parse.structure(wire(asked, b"x"))
    assert root.children[1].filename == "This is even more ***fun*** isn't it!.txt"
