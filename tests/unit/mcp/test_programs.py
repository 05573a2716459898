"""Programs that describe themselves: only those the owner named, and only by a document that is about them."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from mcp_proton.config.signing_in import By, SigningIn
from mcp_proton.domain.errors import MailError, Unavailable
from mcp_proton.mcp.http.signing_in.answers import Unfit
from mcp_proton.mcp.http.signing_in.programs import KEEP, OCTETS, Programs, fetched
from mcp_proton.remote.web import Guarded
from tests.servers.certificate import issue
from tests.unit.remote.fileserver import page, running, trusting

HERE = "https://app.example.org/oauth/client.json"
ANSWERS = "https://app.example.org/connector/oauth_redirect"
GOOD = {"client_id": HERE, "client_name": "App", "redirect_uris": [ANSWERS, "http://127.0.0.1/cb"]}


class Internet:
    """Documents by address; counts how often each was asked for."""

    def __init__(self, document: object) -> None:
        self.document = document
        self.asked: list[str] = []

    async def __call__(self, address: str) -> bytes:
        self.asked.append(address)
        if isinstance(self.document, Exception):
            raise self.document
        return self.document if isinstance(self.document, bytes) else json.dumps(self.document).encode()


def known(document: object, now=lambda: 0.0) -> tuple[Programs, Internet]:
    internet = Internet(document)
    rules = SigningIn(by=By.PASSKEY, client_id="mcp-proton", documents=[HERE], redirects=["https://claude.ai/cb"])
    return Programs(rules, internet, now), internet


async def test_a_program_the_owner_named_is_known_by_its_document():
    """A-34: its answers go where the document says, and where the owner allows others nothing of it is valid."""
    at = [0.0]
    programs, internet = known(GOOD, lambda: at[0])
    assert [
        await programs.may_answer(HERE, one) for one in (ANSWERS, "http://127.0.0.1:7/cb", "https://claude.ai/cb")
    ] == [
        True,
        True,
        False,
    ]
    assert await programs.may_answer("mcp-proton", "https://claude.ai/cb")
    assert not await programs.may_answer("mcp-proton", ANSWERS)
    assert programs.are_known(HERE)
    await programs.may_answer(HERE, ANSWERS)
    assert internet.asked == [HERE]
    at[0] = KEEP
    await programs.may_answer(HERE, ANSWERS)
    assert internet.asked == [HERE, HERE]


@pytest.mark.parametrize("client_id", ["https://evil.example.org/client.json", HERE + "x", "", "other", HERE.upper()])
async def test_nobody_elses_document_is_ever_fetched(client_id):
    programs, internet = known(GOOD)
    assert not programs.are_known(client_id)
    with pytest.raises(Unfit) as unfit:
        await programs.may_answer(client_id, ANSWERS)
    assert unfit.value.error == "invalid_client"
    assert internet.asked == []


@pytest.mark.parametrize(
    "document",
    [
        {**GOOD, "client_id": "https://evil.example.org/client.json"},
        {**GOOD, "client_id": None},
        {**GOOD, "redirect_uris": None},
        {**GOOD, "redirect_uris": [7]},
        {**GOOD, "redirect_uris": [ANSWERS, "http://evil.example.org/cb"]},
        {**GOOD, "redirect_uris": ["javascript:alert(1)"]},
        {**GOOD, "redirect_uris": ["claude://"]},
        {**GOOD, "token_endpoint_auth_method": "client_secret_basic"},
        [],
        b"",
        b"{",
        b"\xff",
        b"[" * 10_000,
        Unavailable("its server does not answer"),
    ],
)
async def test_a_document_that_will_not_do_lets_nobody_in(document):
    programs, _ = known(document)
    with pytest.raises(Unfit) as unfit:
        await programs.may_answer(HERE, ANSWERS)
    assert unfit.value.error == "invalid_client"
    assert unfit.value.redirect is None
    assert "evil" not in unfit.value.message


DESKTOP, COWORK = "claude://claude.ai/mcp/callback", "cowork://callback"


async def test_an_address_of_an_allowed_scheme_is_pinned_by_the_id_it_was_registered_for():
    """J-93, RFC 8252 §8.4: exactly what was registered, for the id that came of it; nothing is kept."""
    programs = Programs(SigningIn(by=By.PASSKEY))
    plain = programs.register(["http://localhost:1/callback", "https://claude.ai/api/mcp/auth_callback"])
    assert plain == "mcp-proton"
    pinned = programs.register([DESKTOP, "http://localhost:1/callback"])
    assert pinned is not None
    assert pinned.startswith("mcp-proton.")
    assert pinned == Programs(SigningIn(by=By.PASSKEY)).register([DESKTOP, DESKTOP])
    assert programs.are_known(pinned)
    assert await programs.may_answer(pinned, DESKTOP)
    assert await programs.may_answer(pinned, "http://localhost:2/callback")
    for other in (f"{DESKTOP}/", f"{DESKTOP}2", "claude://claude.ai/mcp/other", COWORK, "https://claude.ai/cb", ""):
        assert not await programs.may_answer(pinned, other), other
    assert not await programs.may_answer("mcp-proton", DESKTOP)
    both = programs.register([DESKTOP, COWORK])
    assert both is not None
    assert await programs.may_answer(both, COWORK)
    narrowed = Programs(SigningIn(by=By.PASSKEY, redirects=["claude://"]))
    assert await narrowed.may_answer(both, DESKTOP)
    assert not await narrowed.may_answer(both, COWORK)
    assert not await Programs(SigningIn(by=By.PASSKEY, redirects=[])).may_answer(both, DESKTOP)


@pytest.mark.parametrize(
    "wanted",
    [
        ["claude-evil://a/cb"],
        [DESKTOP, "cursor://a/cb"],
        ["claude://"],
        [f"claude://a/{n}" for n in range(5)],
        ["CLAUDE://a/cb"],
    ],
)
def test_what_no_rule_allows_is_not_registered(wanted):
    """J-93, J-84."""
    assert Programs(SigningIn(by=By.PASSKEY)).register(wanted) is None


@pytest.mark.parametrize(
    "more", [".", ".x", f".{'a' * 21}", f".{'a' * 23}", f".{'a' * 22}" * 5, "a" * 22, f".{'a' * 22}\n"]
)
async def test_an_id_that_carries_no_digests_is_nobodys(more):
    programs = Programs(SigningIn(by=By.PASSKEY))
    assert not programs.are_known(f"mcp-proton{more}")
    with pytest.raises(Unfit):
        await programs.may_answer(f"mcp-proton{more}", DESKTOP)


@pytest.mark.parametrize(
    "address",
    ["http://app.example.org/c", "https://app.example.org", "https://app.example.org/", "https://127.0.0.1/c", "x",
     "https://APP.example.org/c", "https://u@app.example.org/c", "https://app.example.org/c#f"],
)  # fmt: skip
def test_an_address_that_is_none_of_a_document_cannot_be_named(address):
    with pytest.raises(ValidationError):
        SigningIn(by=By.PASSKEY, documents=[address])


async def test_a_document_comes_whole_and_not_beyond_sixteen_kilobytes(tmp_path):
    certificate = issue(tmp_path, "app.example.org")
    async with running(certificate) as server:
        server.answer = page(json.dumps(GOOD).encode())

        async def resolve(host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

        guarded = Guarded(
            most=OCTETS,
            seconds=30.0,
            resolve=resolve,
            permitted=lambda _: True,
            ports={server.port},
            trust=trusting(certificate),
        )
        address = f"https://app.example.org:{server.port}/client.json"
        assert json.loads(await fetched(address, guarded)) == GOOD
        server.answer = page(b" " * (OCTETS + 1))
        with pytest.raises(MailError):
            await fetched(address, guarded)


async def test_what_is_not_of_the_public_internet_is_not_asked():
    """SSRF: the guard of the rest of the product is the one here."""
    with pytest.raises(MailError):
        await fetched("https://localhost.localdomain/client.json")
