"""Reading and editing the owner's configuration."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from mcp_proton.config import editing, folders
from mcp_proton.config.reading import load, read
from mcp_proton.config.values import Kind, Profile, Security
from mcp_proton.domain.complaint import Misconfigured
from mcp_proton.policy.reading import PolicyReader
from mcp_proton.storage.access.tomllines import parse

PIN = "sha256:" + "ab" * 32
GOOD = f"""
[accounts.personal]
kind = "bridge"
username = "me@proton.me"
secret = "keyring"
certificate = "{PIN}"

[accounts.work]
kind = "imap"
host = "imap.example.org"
username = "me"
secret = "env:WORK_PASSWORD"

[clients.hermes]
profile = "reader"
accounts = ["personal"]

[clients.goose]

[service]
timezone = "Europe/Berlin"
default_account = "work"
"""
HIDDEN = "hunter2-correct-horse"


def complaints(text: str, environment: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(Misconfigured) as caught:
        read(text, "config.toml", environment or {})
    return [str(one) for one in caught.value.complaints]


def test_a_configuration_is_typed_and_fills_in_what_is_usual():
    config = read(GOOD, "config.toml", {})
    personal, work = config.accounts["personal"], config.accounts["work"]
    assert (personal.kind, personal.host, personal.protection) == (Kind.BRIDGE, "127.0.0.1", Security.STARTTLS)
    assert (personal.imap, personal.smtp, personal.certificate) == (1143, 1025, PIN)
    assert (work.protection, work.imap, work.smtp) == (Security.TLS, 993, 465)
    assert config.clients["hermes"].profile is Profile.READER
    assert config.clients["goose"].profile is Profile.CORE
    assert config.accounts_of("hermes") == frozenset({"personal"})
    assert config.accounts_of("goose") is None
    assert config.default_account == "work"
    assert config.service.zone.key == "Europe/Berlin"


def test_a_configuration_cannot_be_changed_in_memory():
    config = read(GOOD, "config.toml", {})
    with pytest.raises(ValidationError):
        config.accounts["work"].host = "evil.test"


def test_no_file_is_a_configuration_without_accounts(tmp_path):
    config = load(tmp_path / "config.toml", {})
    assert config.accounts == {}
    assert config.default_account is None


def test_the_only_account_is_the_default():
    alone = GOOD.partition("[accounts.work]")[0]
    assert read(alone, "config.toml", {}).default_account == "personal"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('kind = "bridge"', 'kind = "jmap"', "line 2: accounts.personal: needs `url`"),
        ('kind = "bridge"', 'kind = "pop"', "line 3: accounts.personal.kind: must be bridge, imap or jmap"),
        ('kind = "bridge"', 'kind = "pop3"', "line 3: accounts.personal.kind: must be bridge, imap or jmap"),
        ('kind = "bridge"', "kind = 3", "line 3: accounts.personal.kind: must be bridge, imap or jmap"),
        (
            'host = "imap.example.org"',
            'hots = "x"',
            "line 10: accounts.work.hots: is not a key here; did you mean `host`?",
        ),
        ('host = "imap.example.org"', 'host = "imaps://x"', "line 10: accounts.work.host: must be a host name"),
        ('host = "imap.example.org"', "host = 3", "line 10: accounts.work.host: must be a text in quotes"),
        ('host = "imap.example.org"', 'imap_port = "993"', "line 10: accounts.work.imap_port: must be a whole number"),
        ('host = "imap.example.org"', "imap_port = 70000", "line 10: accounts.work.imap_port: must be at most 65535"),
        (
            'host = "imap.example.org"',
            'security = "plain"\nhost="h"',
            "line 8: accounts.work: security plain is possible only",
        ),
        ('secret = "keyring"', "", "line 2: accounts.personal.secret: is missing"),
        (
            'secret = "keyring"',
            'secret = "systemd:../x"',
            "line 5: accounts.personal.secret: must say where the password is",
        ),
        (PIN, "sha1:ab", "line 6: accounts.personal.certificate: must be sha256: and 64"),
        (f'certificate = "{PIN}"', "", "line 2: accounts.personal: needs `certificate`"),
        ("[accounts.work]", "[accounts.Work]", "line 8: accounts.Work: must be a short name"),
        ('profile = "reader"', 'profile = "readr"', "line 15: clients.hermes.profile: must be 'reader', 'core'"),
        (
            '["personal"]',
            '["persnal"]',
            "line 16: clients.hermes.accounts[1]: is not one of the accounts; did you mean `personal`?",
        ),
        (
            'default_account = "work"',
            'default_account = "wrk"',
            "line 22: service.default_account: is not one of the accounts; did",
        ),
        ("Europe/Berlin", "Europe/Berlni", "line 21: service.timezone: must be a time zone"),
        ("Europe/Berlin", "../../etc/passwd", "line 21: service.timezone: must be a time zone"),
        ("[clients.goose]", "[clients.owner]", "line 18: clients.owner: is the owner's own name"),
        ("[service]", "[servce]", "line 20: servce: is not a key here; did you mean `service`?"),
        ("[service]", "[service", "line 20: is not TOML"),
        ("[clients.goose]", "[accounts.work]", "line 18: is not TOML"),
    ],
)
def test_every_complaint_names_file_line_and_key(old, new, told):
    """P-98: and never a value."""
    found = complaints(GOOD.replace(old, new, 1))
    assert any(one.startswith(f"config.toml, {told}") for one in found), found


def test_all_complaints_come_at_once_and_in_the_order_of_the_file():
    found = complaints(GOOD.replace("bridge", "pop3").replace("Europe/Berlin", "Nowhere").replace("reader", "riddle"))
    assert [one.split(":")[0] for one in found] == [
        "config.toml, line 3",
        "config.toml, line 15",
        "config.toml, line 21",
    ]


@pytest.mark.parametrize(
    "line",
    [
        f'secret = "{HIDDEN}"',
        f'password = "{HIDDEN}"',
        f'pasword = "{HIDDEN}"',
        f'secret = ["{HIDDEN}"]',
        f'secret = {{ value = "{HIDDEN}" }}',
        f'certificate = "{HIDDEN}"',
        f'secret = "{HIDDEN}',
    ],
)
def test_a_password_in_the_file_is_refused_and_never_quoted(line):
    """P-94."""
    found = complaints(GOOD.replace('secret = "keyring"', line))
    assert found
    assert not any(HIDDEN in one for one in found)


def test_a_misspelt_password_key_is_told_where_passwords_belong():
    found = complaints(GOOD.replace('secret = "keyring"', 'secret = "keyring"\npasswort = "x"'))
    told = "a password never stands in this file: `secret` says where it is"
    assert found == [f"config.toml, line 6: accounts.personal.passwort: is not a key here; {told}"]


def test_the_environment_wins_for_the_services_own_settings_only():
    environment = {
        "MCP_PROTON_TIMEZONE": "Asia/Tokyo",
        "MCP_PROTON_OUTPUT_SCHEMAS": "true",
        "MCP_PROTON_PRESET": "autonomous",
    }
    config = read(GOOD, "config.toml", environment)
    assert config.service.zone.key == "Asia/Tokyo"
    assert config.service.output_schemas is True
    assert config.service.default_account == "work"
    assert read(GOOD, "config.toml", {"MCP_PROTON_SOCKET_GROUP": "1000"}).service.socket_group == "1000"
    proxies = read(GOOD, "config.toml", {"MCP_PROTON_TRUSTED_PROXIES": "127.0.0.1, ::1"}).service.trusted_proxies
    assert len(proxies) == 2
    assert complaints(GOOD, {"MCP_PROTON_TIMEZONE": HIDDEN}) == [
        "the environment: MCP_PROTON_TIMEZONE: must be a time zone such as Europe/Berlin"
    ]
    assert "is not one of the accounts" in complaints(GOOD, {"MCP_PROTON_DEFAULT_ACCOUNT": "nobody"})[0]


def test_one_variable_moves_everything_under_one_folder(tmp_path):
    found = folders.find({"MCP_PROTON_HOME": str(tmp_path)})
    assert {found.config, found.state, found.cache} == {tmp_path / "config", tmp_path / "state", tmp_path / "cache"}
    assert folders.find({}).config_file.name == "config.toml"


def test_a_file_that_others_may_write_is_not_read(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(GOOD)
    path.chmod(0o620)
    with pytest.raises(Misconfigured, match=r"config\.toml: can be written by others"):
        load(path, {})
    path.chmod(0o644)
    assert load(path, {}).accounts


def test_what_is_not_text_is_told_with_its_line(tmp_path):
    path = tmp_path / "config.toml"
    path.write_bytes(b"# fine\n\xff\xfe\n")
    with pytest.raises(Misconfigured, match=r"config\.toml, line 2: is not UTF-8"):
        load(path, {})


COMMENTED = f"""# my mail, do not touch
[accounts.personal]  # at home
kind = "bridge"
username = "me@proton.me"   # the address
secret = "keyring"
certificate = "{PIN}"

# agents
[clients.hermes]
profile = "core" # enough
"""


def test_editing_keeps_comments_and_order(tmp_path):
    path = tmp_path / "config.toml"
    editing.write_private(path, COMMENTED.encode())
    editing.add_account(path, "work", {"kind": "imap", "host": "h.example", "username": "w", "secret": "env:W"})
    editing.add_client(path, "goose", {"profile": "full", "accounts": ["work"]})
    editing.add_client(path, "hermes", {"profile": "reader"})
    editing.set_service(path, {"default_account": "work"})
    text = path.read_text()
    for line in COMMENTED.splitlines():
        if 'profile = "core"' not in line:
            assert line in text
    config = load(path, {})
    assert config.clients["hermes"].profile is Profile.READER
    assert config.clients["goose"].accounts == ["work"]
    assert config.accounts["personal"].certificate == PIN
    editing.remove_client(path, "goose")
    editing.set_service(path, {"default_account": None})
    editing.remove_account(path, "work")
    assert list(load(path, {}).accounts) == ["personal"]


def test_an_edited_file_is_whole_and_the_owners_only(tmp_path):
    path = tmp_path / "fresh" / "config.toml"
    editing.add_client(path, "hermes", {"profile": "core"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [found.name for found in path.parent.iterdir()] == ["config.toml"]


def test_an_edit_that_would_break_the_file_changes_nothing(tmp_path):
    path = tmp_path / "config.toml"
    editing.write_private(path, COMMENTED.encode())
    with pytest.raises(Misconfigured, match=r"clients\.goose\.accounts"):
        editing.add_client(path, "goose", {"accounts": ["nowhere"]})
    with pytest.raises(Misconfigured, match="is not there"):
        editing.remove_account(path, "work")
    assert path.read_text() == COMMENTED


def check_policy(text: str) -> None:
    PolicyReader(Path("/home/me")).read(parse(text, "policy.toml"))


def test_choosing_a_preset_keeps_the_rules_that_are_there(tmp_path):
    path = tmp_path / "policy.toml"
    editing.write_private(path, b'# mine\n[[rules]]\neffect = "send" # never\nverdict = "deny"\n')
    editing.choose_preset(path, "assistant", check_policy)
    editing.choose_preset(path, "reader", check_policy, client="hermes")
    editing.choose_preset(path, "autonomous", check_policy, account="work")
    editing.add_rule(path, {"effect": ["read", "list"], "verdict": "ask", "mailbox": "Folders/*"}, check_policy)
    editing.set_boundaries(path, {"max_batch": 10, "recipients": ["@example.org"]}, check_policy)
    document = parse(path.read_text(), "policy.toml")
    assert document["preset"] == "assistant"
    assert document["clients"] == {"hermes": {"preset": "reader"}}
    assert len(document["rules"]) == 2
    assert "# mine" in path.read_text()
    assert "# never" in path.read_text()
    with pytest.raises(Misconfigured, match="did you mean `reader`"):
        editing.choose_preset(path, "raeder", check_policy)
    assert document == parse(path.read_text(), "policy.toml")


def test_choosing_a_preset_makes_the_file(tmp_path):
    path = tmp_path / "policy.toml"
    editing.choose_preset(path, "assistant", check_policy)
    assert path.read_text() == 'preset = "assistant"\n'


def test_reading_the_configuration_loads_no_database_and_no_editor():
    code = (
        "import sys, mcp_proton.config.reading, mcp_proton.policy.decide, mcp_proton.policy.reading, "
        "mcp_proton.storage.access.policyfile, mcp_proton.storage.vault, mcp_proton.domain.ports;"
        "print([m for m in ('sqlalchemy', 'aiosqlite', 'alembic', 'tomlkit', 'keyring') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("kind", "rest"), [("bridge", f'certificate = "{PIN}"\n'), ("imap", 'host = "imap.example.org"\n')]
)
def test_the_guard_for_trash_is_an_owners_option_of_bridge_alone(kind: str, rest: str, tmp_path: Path) -> None:
    """N-16."""
    file = tmp_path / "config.toml"
    account = f'[accounts.personal]\nkind = "{kind}"\nusername = "me"\nsecret = "keyring"\n{rest}'
    file.write_text(account)
    file.chmod(0o600)
    assert load(file, {}).accounts["personal"].guarded_trash is False
    file.write_text(account + "guarded_trash = true\n")
    if kind == "bridge":
        assert load(file, {}).accounts["personal"].guarded_trash is True
        return
    with pytest.raises(Misconfigured, match="guarded_trash is for kind bridge"):
        load(file, {})


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ('kind = "bridge"\nauth = "bearer"\ncertificate = "sha256:%s"' % ("0" * 64), "not for kind bridge"),
        (
            'kind = "imap"\nauth = "basic"\n[accounts.a.oauth]\ntoken_url = "https://a.b/t"\nclient_id = "c"',
            "leave out",
        ),
        ('kind = "imap"\n[accounts.a.oauth]\ntoken_url = "http://a.b/t"\nclient_id = "c"', "https"),
        ('kind = "imap"\n[accounts.a.oauth]\ntoken_url = "https://a.b/t"', "client_id"),
        (
            'kind = "imap"\n[accounts.a.oauth]\ntoken_url = "https://a.b/t"\nclient_id = "c"\nclient_secret = "hunter2"',
            "never the password",
        ),
    ],
)
def test_a_login_by_token_that_cannot_be_is_told_with_the_reason(lines: str, why: str) -> None:
    """A-83."""
    with pytest.raises(Misconfigured) as refused:
        read(f'[accounts.a]\nusername = "me"\nsecret = "keyring"\n{lines}\n', "config.toml", {})
    assert why in str(refused.value)
    assert "hunter2" not in str(refused.value)


def test_refresh_tokens_are_kept_only_where_another_can_be_stored() -> None:
    """A-83: a server that rotates them would lock the owner out otherwise."""
    text = (
        '[accounts.a]\nkind = "imap"\nusername = "me"\nsecret = "env:TOKEN"\n'
        '[accounts.a.oauth]\ntoken_url = "https://a.b/t"\nclient_id = "c"\n'
    )
    with pytest.raises(Misconfigured, match="new refresh tokens are stored there"):
        read(text, "config.toml", {})
    text = text.replace("env:TOKEN", "keyring")
    for kind in ('kind = "imap"', 'kind = "jmap"\nurl = "https://jmap.example.org"'):
        account = read(text.replace('kind = "imap"', kind), "config.toml", {}).accounts["a"]
        assert account.by_token


MOVED = {
    "MAIL_PROVIDER": "custom",
    "MAIL_USERNAME": "me@example.org",
    "MAIL_PASSWORD": HIDDEN,
    "IMAP_HOST": "imap.example.org",
    "IMAP_PORT": "993",
    "SMTP_HOST": "smtp.example.org",
    "SMTP_TLS_MODE": "starttls",
    "MAIL_FROM": "Me <me@example.org>",
    "MAIL_ALIASES": "a@example.org, b@example.org",
    "PORT": "9000",
}


def test_an_account_can_be_described_by_the_names_another_server_has_for_it():
    """A-83: where config.toml has none. The password stays in its variable."""
    config = read("", "config.toml", MOVED)
    (account,) = config.accounts.values()
    assert (account.host, account.imap, account.smtp, account.smtp_protection) == (
        "imap.example.org",
        993,
        587,
        "starttls",
    )
    assert account.secret == "env:MAIL_PASSWORD"
    assert [one.email for one in account.senders] == ["me@example.org", "a@example.org", "b@example.org"]
    assert config.service.listen == "127.0.0.1:9000"
    assert HIDDEN not in repr(config)
    assert read(GOOD, "config.toml", MOVED).accounts.keys() == read(GOOD, "config.toml", {}).accounts.keys()
    (complaint,) = complaints("", {**MOVED, "IMAP_PORT": HIDDEN})
    assert complaint.startswith("the environment: IMAP_PORT: ")


def test_the_service_takes_the_names_another_server_has_for_its_settings():
    """J-138: behind a variable of ours, and behind config.toml."""
    other = {
        "JMAP_MCP_BIND_ADDR": "127.0.0.1:9001",
        "JMAP_MCP_RESOURCE_URL": "https://mail.example.org/mcp",
        "JMAP_MCP_RATE_LIMIT_READS_PER_MIN": "7",
        "JMAP_MCP_LOG_FORMAT": "json",
        "RUST_LOG": "warn",
    }
    service = read("", "config.toml", other).service
    assert (service.listen, service.public_url, service.reads_per_minute) == (
        "127.0.0.1:9001",
        "https://mail.example.org",
        7,
    )
    assert (service.log_format, service.log) == ("json", "warning")
    assert read("", "config.toml", {**other, "MCP_PROTON_READS_PER_MINUTE": "8"}).service.reads_per_minute == 8
    assert read("[service]\nreads_per_minute = 9\n", "config.toml", other).service.reads_per_minute == 9
    assert complaints("", {**other, "JMAP_MCP_BIND_ADDR": "nowhere"})[0].startswith(
        "the environment: JMAP_MCP_BIND_ADDR: "
    )


def test_a_name_that_any_program_could_mean_counts_only_beside_others_of_its_family():
    service = read("", "config.toml", {"PORT": "3000", "RUST_LOG": "debug"}).service
    assert (service.listen, service.log) == ("127.0.0.1:8420", "warning")


def test_no_variable_opens_a_gate():
    """A-30: what another server lets its environment allow is the owner's rules here."""
    gates = {f"MAIL_ENABLE_{name}": "1" for name in ("WRITES", "SEND", "DELETE")}
    assert read(GOOD, "config.toml", gates) == read(GOOD, "config.toml", {})
