"""RFC 2047 as it is really written (J-123 needs the meaning before it can be judged)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_proton.mime.decoding.characters import visible
from mcp_proton.mime.decoding.words import decode_words
from mcp_proton.mime.header.headers import Headers

from .letters import b64, letter, patient

SUBJECTS: dict[str, tuple[str | bytes, str]] = {
    "raw latin-1": (b"caf\xe9", "café"),
    "raw utf-8": ("Grüße", "Grüße"),
    "adjacent words": ("=?utf-8?Q?Gr=C3=BC?= =?utf-8?B?w59l?=", "Grüße"),
    "a character split over words": ("=?utf-8?B?R3LD?= =?utf-8?B?vMOfZQ==?=", "Grüße"),
    "a character split over Q and B": ("=?utf-8?Q?Gr=C3?= =?UTF-8?B?vMOfZQ==?=", "Grüße"),
    "folded": ("=?utf-8?Q?Gr=C3=BC?=\r\n =?utf-8?Q?=C3=9Fe?=", "Grüße"),
    "touching other text": ("a=?utf-8?Q?=C3=BC?=b", "aüb"),
    "blanks before other text stay": ("=?utf-8?Q?=C3=BC?= b", "ü b"),
    "unknown charset": ("=?x-unknown?Q?abc?= tail", "abc tail"),
    "charset spelt UTF8": ("=?UTF8?Q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
    "with a language": ("=?utf-8*de?Q?Gr=C3=BC=C3=9Fe?=", "Grüße"),
    "padding missing": ("=?utf-8?B?R3LDvMOfZQ?=", "Grüße"),
    "blanks inside": ("=?utf-8?Q?Gr=C3=BC=C3=9Fe an alle?=", "Grüße an alle"),
    "a question mark inside": ("=?utf-8?Q?Wer=3F Was? Wo=3F?=", "Wer? Was? Wo?"),
    "an empty word": ("a =?utf-8?Q??= b", "a b"),
    "gb2312 that is GBK": (f"=?gb2312?B?{b64('镕基'.encode('gbk'))}?=", "镕基"),
    "iso-2022-jp": (f"=?iso-2022-jp?B?{b64('会議の件'.encode('iso-2022-jp'))}?=", "会議の件"),
    "ks_c_5601-1987": (f"=?ks_c_5601-1987?B?{b64('안녕'.encode('euc-kr'))}?=", "안녕"),
    "latin-1 that is windows-1252": ("=?iso-8859-1?Q?=93hi=94?=", "“hi”"),
    "a new field by line break": ("=?utf-8?Q?a=0D=0ABcc:_evil@x?=", "a Bcc: evil@x"),
    "a hidden direction": ("=?utf-8?Q?a=E2=80=AEgpj.exe?=", "agpj.exe"),
    "ten thousand words": (" ".join(["=?utf-8?Q?=C3=BC?="] * 10_000), "ü" * 10_000),
    "python's codecs are no charsets": ("=?rot13?Q?abc?= =?idna?Q?abc?=", "abcabc"),
    "never closed": ("=?utf-8?Q?abc", "=?utf-8?Q?abc"),
}


@pytest.mark.parametrize(("written", "meant"), SUBJECTS.values(), ids=SUBJECTS.keys())
def test_a_subject_reads_as_it_was_meant(written: str | bytes, meant: str) -> None:
    raw = letter(b"Subject: " + (written if isinstance(written, bytes) else written.encode()))
    assert Headers(raw).text("Subject") == meant


def test_a_lone_surrogate_never_leaves() -> None:
    decode_words(b"=?utf-8?Q?=ED=A0=80x?=").encode()
    decode_words("a\ud800b").encode()
    decode_words(b"=?utf-7?Q?+2AA-?=").encode()


@patient
@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), max_size=60))
def test_what_is_encoded_in_utf8_base64_reads_back(text: str) -> None:
    words = " ".join(f"=?utf-8?B?{b64(text.encode()[at : at + 40])}?=" for at in range(0, len(text.encode()), 40))
    assert decode_words(words) == " ".join(visible(text).text.split())


@patient
@given(
    st.binary(max_size=200)
    | st.lists(st.sampled_from([b"=?", b"?=", b"utf-8", b"?Q?", b"?B?", b"=C3", b"\xff", b" "])).map(b"".join)
)
def test_any_octets_become_one_visible_line(raw: bytes) -> None:
    read = decode_words(raw)
    read.encode()
    assert "\n" not in read
    assert visible(read).text == read
