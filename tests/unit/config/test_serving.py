"""Where the service listens, and that it does not reach further than the owner said."""

from __future__ import annotations

import pytest

from mcp_proton.config.inforce import ConfigFile
from mcp_proton.config.reading import load, read
from mcp_proton.config.serving import Place, place
from mcp_proton.domain.complaint import Misconfigured


def service(text: str, environment: dict[str, str] | None = None):
    return read(f"[service]\n{text}", "config.toml", environment or {}).service


@pytest.mark.parametrize(
    ("text", "local"),
    [
        ("127.0.0.1:8420", True),
        ("127.9.9.9:1", True),
        ("[::1]:8420", True),
        ("localhost:0", True),
        ("unix:/run/mcp/a.sock", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("192.0.2.7:443", False),
    ],
)
def test_a_place_is_read_and_written_alike(text, local):
    assert str(place(text)) == text
    assert place(text).is_of_this_machine is local


@pytest.mark.parametrize(
    "text",
    ["", "127.0.0.1", ":8420", "::1:8420", "[127.0.0.1]:1", "example.org:1", "127.0.0.1:65536", "127.0.0.1:-1",
     "127.0.0.1:\u0663", "unix:a.sock", "unix:", "[localhost]:1", "127.1:1"],
)  # fmt: skip
def test_what_is_no_place_is_refused(text):
    with pytest.raises(ValueError):
        place(text)


def test_beyond_this_machine_it_needs_the_address_of_a_proxy():
    with pytest.raises(Misconfigured, match="line 1: service: listen reaches beyond this machine"):
        service('listen = "0.0.0.0:8420"')
    with pytest.raises(Misconfigured, match=r"service\.public_url: must be the https address"):
        service('listen = "0.0.0.0:8420"\npublic_url = "http://mail.example.org"')
    told = service('listen = "0.0.0.0:8420"\npublic_url = "https://mail.example.org/"')
    assert (told.public_url, told.public_host) == ("https://mail.example.org", "mail.example.org")


def test_metrics_are_for_this_machine():
    with pytest.raises(Misconfigured, match="metrics_listen must be of this machine"):
        service('metrics_listen = "0.0.0.0:9420"\npublic_url = "https://mail.example.org"')


def test_numbers_come_from_the_environment_too():
    assert service("", {"MCP_PROTON_READS_PER_MINUTE": "5"}).reads_per_minute == 5
    with pytest.raises(Misconfigured, match="MCP_PROTON_SESSIONS: must be a whole number"):
        service("", {"MCP_PROTON_SESSIONS": "many"})
    with pytest.raises(Misconfigured, match="the environment: listen reaches beyond"):
        service("", {"MCP_PROTON_LISTEN": "0.0.0.0:1"})


def test_a_client_that_is_added_is_known_at_once_and_a_broken_edit_changes_nothing(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("[clients.hermes]\n")
    path.chmod(0o600)
    file = ConfigFile(path, {}, load(path, {}))
    before = file.current()
    assert file.current() is before
    path.write_text("[clients.hermes]\n[clients.goose]\n")
    assert set(file.current().clients) == {"hermes", "goose"}
    path.write_text("[clients.hermes")
    assert set(file.current().clients) == {"hermes", "goose"}
    assert "config.toml" in file.problem
    path.write_text("[clients.hermes]\n")
    assert set(file.current().clients) == {"hermes"}
    assert file.problem is None


def test_a_socket_has_no_host():
    assert place("unix:/a") == Place(path=place("unix:/a").path)


def test_trusted_proxies_are_addresses_networks_or_the_socket() -> None:
    """J-106."""
    assert service('trusted_proxies = ["10.0.0.5", "fd00::/8", "unix"]').trusted_proxies == (
        "10.0.0.5/32", "fd00::/8", "unix"
    )  # fmt: skip
    assert service("", {"MCP_PROTON_TRUSTED_PROXIES": "10.0.0.5, unix"}).trusted_proxies == ("10.0.0.5/32", "unix")
    for wrong in ("proxy.example", "10.0.0.5/8", "*"):
        with pytest.raises(Misconfigured, match="addresses or networks of proxies"):
            service(f'trusted_proxies = ["{wrong}"]')
