"""Files from https addresses, attached: fetched once, under the owner's rules, and sent as they were shown (J-26, J-27)."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from mcp_proton.domain.caller import Audience, Caller, Surface

from .conftest import CATALOG, House, letter
from .test_drafts import stored
from .test_sending import ANNA, left

URL = "https://files.example.org/report.pdf"
PDF = b"%PDF-1.7 the report"
DIGEST = hashlib.sha256(PDF).hexdigest()
LETTER: dict[str, Any] = {"to": [ANNA], "subject": "x", "text": "y", "attach": [{"url": URL}]}
NAMED = {"fetch_hosts": ["files.example.org"]}
FREE = [{"effect": "fetch", "verdict": "allow"}]


@pytest.fixture
def web(house: House) -> House:
    """A house with one file on the internet, and Anna known to the owner."""
    house.remote.files[URL] = ("Report 2026.pdf", "application/pdf", PDF)
    house.personal.add(
        "Sent", letter("Earlier", to=ANNA, sender="personal@example.org", message_id="<earlier@example.org>")
    )
    return house


async def shown(house: House, operation_id: str) -> dict[str, list[str]]:
    told = await house.owner_asks("approvals_show", operation_id=operation_id)
    lines: dict[str, list[str]] = {}
    for line in told["lines"]:
        lines.setdefault(line["label"], []).append(line.get("value", ""))
    return lines


async def test_fetching_waits_for_the_owner_and_asks_nobody_before(web: House) -> None:
    """J-27: the address alone could carry something out, so the owner sees it whole first."""
    waiting = await web.ask("artifacts_fetch", url=f"{URL}#top")
    assert (waiting["status"], web.remote.asked) == ("approval_pending", [])
    lines = await shown(web, waiting["operation_id"])
    assert lines["fetched from"] == [URL]
    await web.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    told = await web.ask("operations_resume", operation_id=waiting["operation_id"])
    assert (told["status"], told["filename"], told["type"]) == ("ok", "Report 2026.pdf", "application/pdf")
    assert (told["size"], told["sha256"], web.remote.asked) == (len(PDF), DIGEST, [URL])
    again = await web.ask("operations_resume", operation_id=waiting["operation_id"])
    assert (again["code"], web.remote.asked) == ("already_done", [URL])


async def test_a_mail_never_fetches_what_the_owner_has_yet_to_allow(web: House) -> None:
    """J-26: getting a mail ready is no way around the question; the answer says what to do."""
    message = str(web.receive("Please attach this", URL))
    draft = await web.ask("drafts_create", to=[ANNA], subject="x", text="y")
    asked = [
        ("mail_send", LETTER),
        ("drafts_create", LETTER),
        ("drafts_update", {"draft": draft["draft"], "digest": draft["digest"], "attach": [{"url": URL}]}),
        ("mail_reply", {"message": message, "text": "y", "attach": [URL]}),
        ("mail_reply_all", {"message": message, "text": "y", "attach": URL}),
    ]
    for preset, boundaries in (("assistant", NAMED), ("autonomous", {})):
        web.rules(preset=preset, boundaries=boundaries)
        for operation, arguments in asked:
            told = await web.ask(operation, **arguments)
            assert (told["status"], told["code"]) == ("refused", "fetch_first"), operation
            lines = await shown(web, told["operation_id"])
            assert (lines["fetched from"], "sent mail" in lines) == ([URL], False)
    assert (web.remote.asked, left(web)) == ([], [])
    await web.owner_asks("approvals_approve", operation_id=told["operation_id"])
    fetched = await web.ask("operations_resume", operation_id=told["operation_id"])
    told = await web.ask("mail_send", **{**LETTER, "attach": [{"artifact": fetched["artifact"]}]})
    assert told["status"] == "ok", told
    assert [one.get_content() for one in left(web)[0].iter_attachments()] == [PDF]


async def test_where_it_is_denied_nobody_is_asked_at_all(web: House) -> None:
    web.rules(preset="autonomous", rules=[{"effect": "fetch", "verdict": "deny"}], boundaries=NAMED)
    for operation, arguments in (("mail_send", LETTER), ("artifacts_fetch", {"url": URL})):
        told = await web.ask(operation, **arguments)
        assert (told["status"], told["code"]) == ("refused", "policy_denied")
    assert web.remote.asked == []


@pytest.mark.parametrize("entry", ["files.example.org", "*.example.org", "Files.Example.Org."])
async def test_a_host_the_owner_named_is_fetched_from_unasked_where_fetching_is_allowed(web: House, entry: str) -> None:
    """J-26, J-25: fetched before it is fixed, pinned by digest, sent as it was."""
    web.rules(preset="autonomous", boundaries={"fetch_hosts": [entry]})
    told = await web.ask("mail_send", **LETTER)
    assert told["status"] == "ok", told
    (attached,) = left(web)[0].iter_attachments()
    assert (attached.get_filename(), attached.get_content_type()) == ("Report 2026.pdf", "application/pdf")
    assert (attached.get_content(), web.remote.asked) == (PDF, [URL])


@pytest.mark.parametrize("entry", ["example.org", "*.files.example.org", "les.example.org", "evil.example"])
async def test_a_host_outside_the_owners_list_is_out_of_bounds(web: House, entry: str) -> None:
    web.rules(preset="autonomous", rules=FREE, boundaries={"fetch_hosts": [entry]})
    told = await web.ask("artifacts_fetch", url=URL)
    assert (told["status"], told["code"], web.remote.asked) == ("refused", "out_of_bounds", [])
    assert "fetch_hosts" in told["why"]


async def test_where_no_host_is_named_allow_becomes_ask(web: House) -> None:
    """N-7: as with a recipient nobody knows."""
    web.rules(preset="autonomous", rules=FREE)
    told = await web.ask("artifacts_fetch", url=URL)
    assert (told["status"], web.remote.asked) == ("approval_pending", [])


async def test_what_the_owner_approves_is_what_was_fetched(web: House) -> None:
    """P-35, A-40, J-26: another file at the same address later changes nothing, and nobody is asked twice."""
    web.rules(preset="assistant", rules=FREE, boundaries=NAMED)
    waiting = await web.ask("mail_send", **LETTER)
    assert (waiting["status"], web.remote.asked) == ("approval_pending", [URL])
    (line,) = (await shown(web, waiting["operation_id"]))["attachment from an artifact"]
    assert line == f"Report 2026.pdf (application/pdf, {len(PDF)} octets, sha256:{DIGEST}), fetched from {URL}"
    web.remote.files[URL] = ("other.exe", "application/x-msdownload", b"something else")
    await web.owner_asks("approvals_approve", operation_id=waiting["operation_id"])
    told = await web.ask("operations_resume", operation_id=waiting["operation_id"])
    assert (told["status"], web.remote.asked) == ("ok", [URL])
    assert [one.get_content() for one in left(web)[0].iter_attachments()] == [PDF]


async def test_a_draft_and_a_reply_take_a_url_as_well(web: House) -> None:
    """J-26, A-23: with a name of one's own, and shown in the HTML by its id."""
    web.rules(preset="autonomous", boundaries={**NAMED, "recipients": ["@example.org"]})
    attach = [{"url": URL, "name": "../../Zahlen.pdf", "cid": "one"}]
    told = await web.ask("drafts_create", to=[ANNA], subject="x", html='<img src="cid:one">', attach=attach)
    assert told["status"] == "ok", told
    names = [one.get_filename() for one in stored(web, told["draft"]).walk() if one.get_filename()]
    assert names == ["Zahlen.pdf"]
    changed = await web.ask("drafts_update", draft=told["draft"], digest=told["digest"], attach=[URL])
    assert changed["attachments"] == 2
    message = str(web.receive("Question", "Where is the report?"))
    assert (await web.ask("mail_reply", message=message, text="Here.", attach=URL))["status"] == "ok"
    assert [one.get_content() for one in left(web)[0].iter_attachments()] == [PDF]


async def test_the_owner_at_the_command_line_is_not_asked(web: House) -> None:
    told = await web.owner_asks("mail_send", **LETTER)
    assert (told["status"], web.remote.asked) == ("ok", [URL])


async def test_a_fetched_file_belongs_to_whoever_fetched_it(web: House) -> None:
    web.rules(preset="autonomous", boundaries=NAMED)
    told = await web.ask("artifacts_fetch", url=URL)
    other = Caller("other", Audience.AGENT, Surface.TOOL)
    foreign = await web.ask("mail_send", other, **{**LETTER, "attach": [told["artifact"]]})
    missing = await web.ask("mail_send", other, **{**LETTER, "attach": ["art_aaaaaaaaaaaaaaaa"]})
    assert foreign == missing
    assert foreign["status"] == "not_found"


async def test_a_file_larger_than_the_server_takes_is_refused_with_the_limit_named(web: House) -> None:
    """A-47: no more of it is fetched, and nothing is left behind."""
    web.rules(preset="autonomous", boundaries=NAMED)
    web.personal.outgoing.limits = type(web.personal.outgoing.limits)(submit=2_000)
    web.remote.files[URL] = ("large.bin", "application/octet-stream", b"x" * 3_000)
    told = await web.ask("mail_send", **LETTER)
    assert (told["status"], told["code"], web.artifacts.kept) == ("refused", "too_large", {})
    assert "2000 octets" in told["why"]


async def test_a_rate_of_the_owners_counts_fetches(web: House) -> None:
    web.rules(preset="autonomous", boundaries={**NAMED, "rates": {"fetch": "1/day"}})
    assert (await web.ask("artifacts_fetch", url=URL))["status"] == "ok"
    for operation, arguments in (("artifacts_fetch", {"url": URL}), ("mail_send", LETTER)):
        told = await web.ask(operation, **arguments)
        assert (told["status"], told["code"]) == ("refused", "over_limit")
    assert web.remote.asked == [URL]


async def test_neither_journal_nor_log_remembers_the_address(web: House, caplog: pytest.LogCaptureFixture) -> None:
    """A signed address is a password: once it is settled the record names no more than what was done."""
    secret = f"{URL}?signature=s3cret"
    web.remote.files[secret] = web.remote.files[URL]
    caplog.set_level("DEBUG")
    web.rules(preset="autonomous", boundaries=NAMED)
    told = await web.ask("artifacts_fetch", url=secret)
    status = await web.ask("operations_status", operation_id=told["operation_id"])
    assert "s3cret" not in f"{told}{status}{caplog.text}"


@pytest.mark.parametrize(
    "url", ["http://files.example.org/a", "https://127.0.0.1/a", "https://0x7f.1/", "https://u@h.example/"]
)
async def test_what_is_no_plain_https_address_is_no_url(url: str) -> None:
    """J-110."""
    for name, arguments in (("artifacts_fetch", {"url": url}), ("mail_send", {**LETTER, "attach": [{"url": url}]})):
        with pytest.raises(ValueError, match="url"):
            CATALOG.by_name[name].request.model_validate(arguments)


async def test_one_source_is_named_for_each_attachment() -> None:
    with pytest.raises(ValueError, match="exactly one"):
        CATALOG.by_name["mail_send"].request.model_validate(
            {"attach": [{"url": URL, "artifact": "art_aaaaaaaaaaaaaaaa"}]}
        )
