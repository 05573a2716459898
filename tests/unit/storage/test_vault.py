"""Where passwords come from (P-94)."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from mcp_proton.domain.errors import AuthFailed
from mcp_proton.storage import keyrings
from mcp_proton.storage.vault import Vault

SECRET = "correct horse battery"


class Ring:
    """A keyring in memory."""

    def __init__(self, **kept: str) -> None:
        self.kept = {("mcp-proton", name): secret for name, secret in kept.items()}

    def get_password(self, service, username):
        return self.kept.get((service, username))

    def set_password(self, service, username, password):
        self.kept[service, username] = password

    def delete_password(self, service, username):
        del self.kept[service, username]


def vault(source: str, environment=None, **options) -> Vault:
    return Vault({"personal": source}, environment or {}, **options)


async def refusal(found: Vault, account: str = "personal") -> AuthFailed:
    with pytest.raises(AuthFailed) as caught:
        await found.secret(account)
    assert SECRET not in f"{caught.value} {caught.value.next} {caught.value.__cause__}"
    return caught.value


async def test_a_secret_comes_from_the_keyring_under_the_accounts_name():
    assert await vault("keyring", keyring=lambda: Ring(personal=SECRET)).secret("personal") == SECRET
    assert await vault("keyring:bridge", keyring=lambda: Ring(bridge=SECRET)).secret("personal") == SECRET
    assert "holds no password" in str(await refusal(vault("keyring", keyring=Ring)))


async def test_a_secret_can_be_kept_and_forgotten():
    ring = Ring()
    found = vault("keyring", keyring=lambda: ring)
    await found.keep("personal", SECRET)
    assert await found.secret("personal") == SECRET
    await found.forget("personal")
    await found.forget("personal")
    await refusal(found)


async def test_a_keyring_that_does_not_answer_is_given_up_and_holds_nothing_up():
    blocked = threading.Event()

    class Stuck(Ring):
        def get_password(self, service, username):
            blocked.wait(20)

    async with asyncio.timeout(10):
        error = await refusal(vault("keyring", keyring=Stuck, seconds=0.2))
    assert "no answer" in str(error)
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("secret of"))
    blocked.set()
    await asyncio.sleep(0.05)


async def test_a_keyring_that_fails_is_told_without_its_words():
    class Broken(Ring):
        def get_password(self, service, username):
            raise RuntimeError(SECRET)

    assert "RuntimeError" in str(await refusal(vault("keyring", keyring=Broken)))


@pytest.mark.parametrize(
    ("platform", "name"),
    [
        ("linux", "keyring.backends.SecretService.Keyring"),
        ("darwin", "keyring.backends.macOS.Keyring"),
        ("win32", "keyring.backends.Windows.WinVaultKeyring"),
    ],
)
def test_only_the_systems_own_keyring_is_ever_used(monkeypatch, platform, name):
    module, _, kind = name.rpartition(".")
    asked = []

    class Module:
        pass

    setattr(Module, kind, Ring)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(keyrings.importlib, "import_module", lambda found: asked.append(found) or Module)
    assert isinstance(keyrings.system_keyring(), Ring)
    assert asked == [module]


@pytest.mark.parametrize(
    ("name", "kind"), [("SecretService", "Keyring"), ("macOS", "Keyring"), ("Windows", "WinVaultKeyring")]
)
def test_the_named_backends_exist_in_the_library(name, kind):
    module = __import__(f"keyring.backends.{name}", fromlist=[kind])
    assert hasattr(getattr(module, kind), "get_password")


async def test_a_system_without_a_keyring_is_told(monkeypatch):
    monkeypatch.setattr(sys, "platform", "plan9")
    assert "LookupError" in str(await refusal(vault("keyring")))


async def test_a_secret_file_is_read_when_it_is_the_owners_alone(tmp_path):
    path = tmp_path / "secret"
    path.write_text(f"{SECRET}\r\nanother line\n")
    path.chmod(0o600)
    assert await vault(f"file:{path}").secret("personal") == SECRET
    path.chmod(0o400)
    assert await vault(f"file:{path}").secret("personal") == SECRET


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620, 0o601])
async def test_a_secret_file_that_is_open_to_others_is_refused(tmp_path, mode):
    path = tmp_path / "secret"
    path.write_text(SECRET)
    path.chmod(mode)
    error = await refusal(vault(f"file:{path}"))
    assert f"mode {mode:04o}" in str(error)
    assert error.next == "chmod 600 it"


async def test_a_secret_file_of_somebody_elses_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "secret"
    path.write_text(SECRET)
    path.chmod(0o600)
    mine = os.getuid()
    os.chown(path, mine + 1, -1)
    assert "belongs to somebody else" in str(await refusal(vault(f"file:{path}")))


@pytest.mark.parametrize("content", [b"", b"\n", b"\nsecond", b"\xff\xfe"])
async def test_a_file_without_a_password_is_told(tmp_path, content):
    path = tmp_path / "secret"
    path.write_bytes(content)
    path.chmod(0o600)
    await refusal(vault(f"file:{path}"))


async def test_what_is_no_file_is_refused(tmp_path):
    await refusal(vault(f"file:{tmp_path / 'missing'}"))
    await refusal(vault(f"file:{tmp_path}"))
    await refusal(vault("file:relative/path"))
    await refusal(vault("file:/dev/zero"))


async def test_a_kept_file_is_the_owners_alone(tmp_path):
    path = tmp_path / "new" / "secret"
    found = vault(f"file:{path}")
    await found.keep("personal", SECRET)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert await found.secret("personal") == SECRET
    await found.forget("personal")
    assert not path.exists()


async def test_a_systemd_credential_is_read_from_its_folder(tmp_path):
    (tmp_path / "bridge").write_text(f"{SECRET}\n")
    environment = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    assert await vault("systemd:bridge", environment).secret("personal") == SECRET
    await refusal(vault("systemd:missing", environment))
    await refusal(vault("systemd:..", environment))
    assert "LoadCredential" in (await refusal(vault("systemd:bridge"))).next


async def test_a_secret_comes_from_a_named_variable():
    assert await vault("env:MAIL", {"MAIL": SECRET}).secret("personal") == SECRET
    assert "`MAIL`" in str(await refusal(vault("env:MAIL")))


async def test_a_command_prints_a_secret_without_a_shell():
    program = f"{sys.executable} -c \"print('{SECRET}'); print('note')\""
    assert await vault(f"command:{program}").secret("personal") == SECRET
    assert await vault("command:echo $HOME; id").secret("personal") == "$HOME; id"


@pytest.mark.parametrize(
    "command",
    [
        f"{sys.executable} -c \"print('{SECRET}'); raise SystemExit(3)\"",
        f"{sys.executable} -c pass",
        "/nonexistent/program",
        "unbalanced 'quote",
        f"{sys.executable} -c \"import sys; sys.stdout.write('x' * 1000000)\"",
    ],
)
async def test_a_command_that_fails_is_told_without_its_output(command):
    await refusal(vault(f"command:{command}"))


async def test_a_command_that_hangs_is_ended_with_everything_it_started(tmp_path):
    mark = tmp_path / "pid"
    program = f"sh -c 'echo $$ > {mark}; sleep 300'"
    async with asyncio.timeout(30):
        await refusal(vault(f'command:sh -c "{program}"', seconds=1))
    await until_gone(Path("/proc", mark.read_text().strip(), "cmdline"))


async def until_gone(cmdline):
    """Wait until a process has ended: what is left of one that nobody waits for has an empty command line."""
    for _ in range(100):
        try:
            if not cmdline.read_bytes():
                return
        except OSError:
            return
        await asyncio.sleep(0.02)
    pytest.fail("it still runs")


async def test_an_account_without_a_source_is_told():
    await refusal(vault("keyring"), "work")
    await refusal(vault("riddle:me"))


def test_a_vault_shows_names_and_nothing_else():
    assert repr(Vault({"personal": f"command:echo {SECRET}"}, {"X": SECRET})) == "Vault(personal)"
