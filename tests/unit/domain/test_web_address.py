"""An address is read once, and nothing that two programs could read differently is taken (J-110)."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_proton.domain.errors import Invalid
from mcp_proton.domain.web_address import WebAddress


@pytest.mark.parametrize(
    ("text", "host", "port", "target"),
    [
        ("https://files.example.org/a.pdf", "files.example.org", 443, "/a.pdf"),
        ("HTTPS://Files.Example.ORG", "files.example.org", 443, "/"),
        (" https://files.example.org./a?b=c#part ", "files.example.org", 443, "/a?b=c"),
        ("https://files.example.org:443/", "files.example.org", 443, "/"),
        ("https://files.example.org:8443?q", "files.example.org", 8443, "/?q"),
        ("https://bücher.example/grüße%20x?ä=1", "xn--bcher-kva.example", 443, "/gr%C3%BC%C3%9Fe%20x?%C3%A4=1"),
        ('https://a.example/100%/"x"', "a.example", 443, "/100%25/%22x%22"),
        ("https://a.example/x@y:z", "a.example", 443, "/x@y:z"),
    ],
)
def test_a_plain_https_address_is_read(text: str, host: str, port: int, target: str) -> None:
    found = WebAddress.parse(text)
    assert (found.host, found.port, found.target) == (host, port, target)
    assert WebAddress.parse(str(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        "http://files.example.org/", "ftp://files.example.org/", "file:///etc/passwd", "//files.example.org/",
        "files.example.org",
        "https://", "https:///x", "https://user@files.example.org/", "https://user:pw@files.example.org/",
        "https://good.example\\@evil.example/", "https://good.example\\.evil.example/", "https:\\\\files.example.org",
        "https://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1/",
        "https://0177.0.0.1/", "https://017700000001/", "https://127.0.0.0x1/", "https://1.2.3.4./", "https://①②⑦.⓪.⓪.①/",
        "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/", "https://[fe80::1%25eth0]/",
        "https://localhost/", "https://intranet/", "https://a..example/", "https://-.example/", "https://.example/",
        "https://files.example.org:0/", "https://files.example.org:65536/", "https://files.example.org:/", "https://a.example:x/",
        "https://files.example.org/a b", "https://files.example.org/\r\nHost: x", "https://files.example.org/\0", "https://a%2eexample/",
        "https://files.example.org\t/", f"https://files.example.org/{'x' * 2048}", "https://a.example/\ud800", "https://a.e/",
        "",
    ],
)  # fmt: skip
def test_anything_else_is_refused_without_being_quoted(text: str) -> None:
    """J-110: no plain http, no user names, no numbers for a host in whatever base, no names of this machine's network."""
    with pytest.raises(Invalid) as refused:
        WebAddress.parse(text)
    assert refused.value.code == "bad_url"
    assert "evil" not in refused.value.message


_TRICKS = st.text("abx01.-_@:/\\[]%#? \u00e9\u2460\u3002", max_size=20)


@settings(deadline=None)
@given(_TRICKS, _TRICKS)
def test_what_is_read_is_what_any_other_program_reads(host: str, rest: str) -> None:
    try:
        found = WebAddress.parse(f"https://{host}/{rest}")
    except Invalid:
        return
    other = urlsplit(str(found))
    assert (other.scheme, other.hostname, other.port or 443) == ("https", found.host, found.port)
    assert other.username is None
    assert (other.path or "/") + (f"?{other.query}" if "?" in found.target else "") == found.target
    assert str(found).isascii()
    assert " " not in str(found)
