"""One-time links: whole files in and out, once, for one client, and nothing for anybody else (N-12)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any

import pytest

from mcp_proton.domain.caller import Audience, Caller, Surface
from mcp_proton.domain.links import LIFETIME, MOST_OPEN
from tests.service.conftest import letter
from tests.service.test_by_reference import FILE, LARGE
from tests.service.test_sending import ANNA, left

from .linked import ORIGIN, Linked, linked
from .process import Service
from .speaking import Raw

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.surfaces.cli.lab import Owner

ABSENT = (404, b"Not Found")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[Linked]:
    async with linked(tmp_path) as one:
        yield one


async def artifact(house: Linked, octets: bytes = FILE, name: str = "plans.pdf", kind: str = "application/pdf") -> str:
    async with house.artifacts.create(house.agent, name, kind) as writer:
        await writer.write(octets)
        return (await writer.done()).id


async def download(house: Linked, octets: bytes = FILE, **more: Any) -> str:
    told = await house.ask("artifacts_link", artifact=await artifact(house, octets, **more))
    assert told["status"] == "ok", told
    return str(told["url"])


async def upload(house: Linked, name: str = "plans.pdf") -> dict[str, Any]:
    told = await house.ask("artifacts_upload", name=name, type="application/pdf")
    assert told["status"] == "ok", told
    return told


async def seen(
    house: Linked, method: str, url: str, *body: bytes | float | asyncio.Event, **headers: str
) -> tuple[int, bytes]:
    answer = await house.request(method, url, body, headers=headers)
    return answer.status, answer.body


async def test_an_attachment_is_downloaded_once_and_whole(house: Linked) -> None:
    """N-12."""
    handle = house.personal.add("INBOX", LARGE, received=house.clock.now())
    told = await house.ask("artifacts_link", message=str(handle), index=1)
    assert (told["filename"], told["size"], told["sha256"]) == (
        "plans.pdf",
        len(FILE),
        hashlib.sha256(FILE).hexdigest(),
    )
    assert told["url"].startswith(f"{ORIGIN}/files/")
    answer = await house.request("GET", told["url"], headers={"range": "bytes=5-9"})
    assert (answer.status, answer.body, answer.whole) == (200, FILE, True)
    assert answer.headers["content-length"] == str(len(FILE))
    assert await seen(house, "GET", told["url"]) == ABSENT


async def test_no_page_can_run_what_is_downloaded_and_nothing_keeps_it(house: Linked) -> None:
    url = await download(house, b"<script>alert(1)</script>", name='a"\u202e.html', kind="text/html")
    headers = (await house.request("GET", url)).headers
    assert headers["content-disposition"] == "attachment; filename*=UTF-8''a_.html"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert (headers["x-content-type-options"], headers["cache-control"]) == ("nosniff", "no-store")
    assert (headers["accept-ranges"], headers["referrer-policy"]) == ("none", "no-referrer")
    odd = await download(house, kind="text/html\r\nX-Evil: 1")
    assert (await house.request("GET", odd)).headers["content-type"] == "application/octet-stream"


async def test_an_upload_becomes_the_artifact_that_was_promised(house: Linked) -> None:
    """N-12: the agent has its id before, and attaches it afterwards."""
    house.personal.add(
        "Sent", letter("Earlier", to=ANNA, sender="personal@example.org", message_id="<earlier@example.org>")
    )
    told = await upload(house, "../plans.pdf")
    early = await house.ask("mail_send", to=[ANNA], subject="x", text="y", attach=[told["artifact"]])
    assert (early["status"], early["code"]) == ("not_found", "no_such_artifact")
    status, body = await seen(house, "PUT", told["url"], FILE[:1000], b"", FILE[1000:])
    assert (status, json.loads(body)) == (
        201,
        {"artifact": told["artifact"], "size": len(FILE), "sha256": hashlib.sha256(FILE).hexdigest()},
    )
    sent = await house.ask("mail_send", to=[ANNA], subject="x", text="y", attach=[told["artifact"]])
    assert sent["status"] == "ok", sent
    (attached,) = left(house)[0].iter_attachments()
    assert (attached.get_filename(), attached.get_content()) == ("plans.pdf", FILE)
    assert await seen(house, "PUT", told["url"], b"other") == ABSENT


async def test_of_many_who_use_a_link_at_once_one_gets_it(house: Linked) -> None:
    url, into = await download(house), await upload(house)
    gets = await asyncio.gather(*(seen(house, "GET", url) for _ in range(8)))
    assert sorted(status for status, _ in gets) == [200, *[404] * 7]
    puts = await asyncio.gather(*(seen(house, "PUT", into["url"], bytes([number])) for number in range(8)))
    assert sorted(status for status, _ in puts) == [201, *[404] * 7]


async def test_whatever_is_wrong_with_a_link_the_answer_is_that_of_a_path_that_is_not_there(house: Linked) -> None:
    """P-98, N-12: another client's token, the other way, a guess, an old one, a denied or revoked client."""
    url, into = await download(house), (await upload(house))["url"]
    wrong = [
        ("GET", url, {"authorization": "Bearer other"}),
        ("GET", url, {"authorization": "Bearer nobody"}),
        ("PUT", url, {}),
        ("HEAD", url, {}),
        ("POST", into, {}),
        ("GET", into, {}),
        ("GET", f"{ORIGIN}/files/{'A' * 43}", {}),
        ("GET", f"{ORIGIN}/files/", {}),
        ("GET", f"{url}/x", {}),
        ("PUT", into, {"authorization": "Bearer other"}),
    ]
    for method, link, headers in wrong:
        assert await seen(house, method, link, b"", **headers) == ABSENT, (method, headers)
    house.rules(preset="autonomous", rules=[{"effect": ["export", "draft"], "verdict": "deny"}])
    assert await seen(house, "GET", url) == await seen(house, "PUT", into, b"") == ABSENT
    house.rules(preset="autonomous")
    assert (await seen(house, "GET", url, authorization="Bearer hermes"))[0] == 200
    assert (await seen(house, "PUT", into, b"x", authorization="Bearer hermes"))[0] == 201


async def test_a_link_ends_by_itself(house: Linked) -> None:
    url, into = await download(house), await upload(house)
    assert into["expires_at"] == "2026-11-30T12:10:00Z"
    house.clock.wind(seconds=LIFETIME.total_seconds())
    assert await seen(house, "GET", url) == await seen(house, "PUT", into["url"], b"x") == ABSENT


async def test_a_download_of_a_file_that_is_gone_is_not_there(house: Linked) -> None:
    url = await download(house)
    (name,) = house.held()
    (house.kept / name / "about.json").unlink()
    assert await seen(house, "GET", url) == ABSENT


async def test_an_upload_beyond_its_limit_leaves_nothing(house: Linked) -> None:
    """Announced, it is refused and the link is good for another try; streamed, it is cut and used up."""
    into = await upload(house)
    announced = await seen(house, "PUT", into["url"], b"", **{"content-length": str((1 << 20) + 1)})
    assert (announced[0], json.loads(announced[1])) == (413, {"error": "a file holds at most 1048576 octets"})
    pieces = [b"x" * (1 << 18)] * 5
    assert (await seen(house, "PUT", into["url"], *pieces))[0] == 413
    assert house.held() == []
    assert await seen(house, "PUT", into["url"], b"x") == ABSENT


async def test_an_upload_that_breaks_off_or_stands_still_leaves_nothing(tmp_path: Path) -> None:
    async with linked(tmp_path, silence=0.2, seconds=5.0) as house:
        broken, slow, dripping = [(await upload(house))["url"] for _ in range(3)]
        assert (await house.request("PUT", broken, [b"half", -1.0])).status == 0
        assert (await seen(house, "PUT", slow, b"half", 60.0, b"rest"))[0] == 408
        assert house.held() == []
        house.files._seconds, house.files._silence = 0.5, 30.0
        assert (await house.request("PUT", dripping, [b"x", 0.1] * 100)).status == 0
        assert house.held() == []
        for url in (broken, slow, dripping):
            assert await seen(house, "PUT", url, b"x") == ABSENT


async def test_so_many_transfers_go_on_at_once_and_a_link_waits_for_room(tmp_path: Path) -> None:
    async with linked(tmp_path, at_once=1, silence=30.0) as house:
        first, second = (await upload(house))["url"], (await upload(house))["url"]
        go_on = asyncio.Event()
        slow = asyncio.create_task(seen(house, "PUT", first, b"a", go_on, b"b"))
        while not house.files._under_way:
            await asyncio.sleep(0.01)
        assert (await seen(house, "PUT", second, b"x"))[0] == 503
        go_on.set()
        assert (await slow)[0] == 201
        assert (await seen(house, "PUT", second, b"x"))[0] == 201


async def test_only_so_many_links_of_a_client_wait(house: Linked) -> None:
    kept = await artifact(house)
    told = [await house.ask("artifacts_link", artifact=kept) for _ in range(MOST_OPEN + 1)]
    assert [one["status"] for one in told] == ["ok"] * MOST_OPEN + ["refused"]
    assert told[-1]["code"] == "too_many_links"
    other = Caller("other", Audience.AGENT, Surface.TOOL)
    assert (await house.ask("artifacts_upload", other, name="a"))["status"] == "ok"


async def test_a_link_is_made_of_ones_own_files_only_and_as_the_rules_say(house: Linked) -> None:
    """P-41: getting a file out is an export, taking it out of a message is reading it too."""
    kept = await artifact(house)
    handle = str(house.personal.add("INBOX", LARGE, received=house.clock.now()))
    other = Caller("other", Audience.AGENT, Surface.TOOL)
    foreign = await house.ask("artifacts_link", other, artifact=kept)
    missing = await house.ask("artifacts_link", other, artifact="art_aaaaaaaaaaaaaaaa")
    assert {**foreign, "operation_id": ""} == {**missing, "operation_id": ""}
    assert foreign["status"] == "not_found"
    for effect, source in (("export", {"artifact": kept}), ("read", {"message": handle, "index": 1})):
        house.rules(preset="autonomous", rules=[{"effect": effect, "verdict": "deny"}])
        assert (await house.ask("artifacts_link", **source))["code"] == "policy_denied"
    house.rules(preset="assistant")
    waiting = await house.ask("artifacts_link", artifact=kept)
    assert waiting["status"] == "approval_pending"
    assert (await house.ask("artifacts_upload", name="a"))["status"] == "ok"


async def test_without_http_an_agent_is_told_what_to_do_instead(house: Linked) -> None:
    """Before anybody is asked for an approval that would lead nowhere."""
    kept, house.store.origin = await artifact(house), None
    house.rules(preset="assistant")
    for operation, arguments in (("artifacts_link", {"artifact": kept}), ("artifacts_upload", {"name": "a"})):
        told = await house.ask(operation, **arguments)
        assert (told["status"], told["code"]) == ("unsupported", "links_need_http")
        assert "mcp-proton serve" in told["why"]
        assert "folder" in told["next"]


async def test_neither_the_store_nor_the_audit_line_holds_a_secret_or_a_name(
    house: Linked, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """J-130: who, which way, how it ended, how much."""
    caplog.set_level(logging.INFO)
    url = await download(house, name="very private.pdf")
    assert (await seen(house, "GET", url))[0] == 200
    (line,) = [one.getMessage() for one in caplog.records if one.getMessage().startswith("file ")]
    assert f"client=hermes method=GET outcome=ok octets={len(FILE)}" in line
    secret = url.rpartition("/")[2]
    assert secret not in caplog.text
    assert "very private" not in caplog.text
    for path in (tmp_path / "state").iterdir():
        assert secret.encode() not in path.read_bytes()


@pytest.mark.process
def test_links_of_a_service_outlive_its_death_and_are_used_once_over_real_http(owner: Owner, tmp_path: Path) -> None:
    """N-12, P-94: kill -9 between making and using; a file goes in and comes out again."""
    owner.write_policy('preset = "autonomous"\n')
    token = owner.json("clients", "add", "porter", "--profile", "full", "--token")["token"]

    def ask(service: Service, tool: str, **arguments: Any) -> dict[str, Any]:
        with Raw(service.url, token) as client:
            answered = client.call(tool, **arguments).json()["result"]["structuredContent"]
        assert answered["status"] == "ok", answered
        return dict(answered)

    with Service("--listen", "127.0.0.1:0", home=owner.home) as service:
        into = ask(service, "artifacts_upload", name="big.bin")
        port = service.url.rpartition("/mcp")[0].rpartition(":")[2]
        service.process.kill()
    octets = bytes(range(256)) * 8_000
    with Service("--listen", f"127.0.0.1:{port}", home=owner.home) as service, Raw(service.url) as client:
        origin = {"Origin": "https://evil.example"}
        assert client.http.put(into["url"], content=octets, headers=origin).status_code in {403, 421}
        done = client.http.put(into["url"], content=octets)
        assert (done.status_code, done.json()["artifact"]) == (201, into["artifact"])
        assert client.http.put(into["url"], content=b"again").status_code == 404
        url = ask(service, "artifacts_link", artifact=into["artifact"])["url"]
        got = client.http.get(url)
        assert (got.status_code, got.content) == (200, octets)
        assert got.headers["content-disposition"].endswith("big.bin")
        missing, used = client.http.get(f"{url[:-1]}_"), client.http.get(url)
        assert (missing.status_code, missing.content) == (used.status_code, used.content) == ABSENT
    log = "\n".join(service.lines)
    assert "big.bin" not in log
    assert url.rpartition("/")[2] not in log
    assert into["url"].rpartition("/")[2] not in log
