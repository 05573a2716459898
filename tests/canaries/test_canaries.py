"""What is listened to in the whole suite, and that it is heard: a run in which something of mail is said fails (P-98)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.canaries import words
from tests.canaries.children import FOLDER, environment

ROOT = Path(__file__).parents[2]
HEAD = """
import logging, subprocess, sys, asyncio, os
from mcp_proton.testing import MemoryAccount
RAW = b"From: Anna <a@example.org>\\r\\nSubject: The house by the lake\\r\\n\\r\\nDear all of you,\\r\\n"
def told(): MemoryAccount().add("INBOX", RAW)
"""
LEAKS = {
    "a record": 'told(); logging.getLogger("mcp_proton.x").info("about %s", "The house by the lake")',
    "a field of a record": """
    told()
    logging.getLogger("mcp_proton.audit").info("call", extra={"fields": {"subject": "The house by the lake"}})""",
    "standard error": 'told(); print("Dear all of you, bye", file=sys.stderr)',
    "another process": 'subprocess.run([sys.executable, "-c", "import sys; sys.stderr.write(chr(64).join('
    "['x', 'example.org']))\"], stderr=subprocess.DEVNULL, env={'PATH': os.environ['PATH']})",
    "its own child": """
    inner = "import sys; sys.exit('mcpr_' + 'x' * 30)"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}], capture_output=True)"
    subprocess.run([sys.executable, "-c", outer], check=True)""",
    "a process of asyncio": """
    async def start():
        made = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "raise ValueError('mcpp_abc_' + 'd' * 50)", stderr=asyncio.subprocess.PIPE)
        await made.communicate()
    asyncio.run(start())""",
    "what serve prints": """
    subprocess.run([sys.executable, "-c", "print('Basic ' + 'abcdefghijkl')", "serve"], stdout=subprocess.PIPE)""",
}
CONFTEST = """
from tests.canaries import plugin
def pytest_configure(config):
    plugin.register(config)
"""


def run(folder: Path, test: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(HEAD + test)
    without = {name: value for name, value in os.environ.items() if not name.startswith(("CANARIES", "PYTEST"))}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words, folder]
    return subprocess.run(
        command, cwd=folder, env={**without, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def leaked(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a run says whose tests leak, each in its own way, and one that only asks for mail."""
    tests = [f"def test_{at}():\n    {leak.strip()}\n" for at, leak in enumerate(LEAKS.values())]
    tests.append('def test_quiet(): told(); print("The house by the lake"); assert "lake" in str(RAW)\n')
    done = run(tmp_path_factory.mktemp("leaks"), "\n".join(tests), "-n", "2")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("at", range(len(LEAKS)), ids=list(LEAKS))
def test_a_test_during_which_something_of_mail_is_said_fails(leaked: str, at: int) -> None:
    assert re.search(rf"^ERROR test_it.py::test_{at}\b.*nothing of mail", leaked, re.MULTILINE), leaked


def test_tests_may_look_at_mail_themselves(leaked: str) -> None:
    assert f"{len(LEAKS) + 1} passed, {len(LEAKS)} errors" in leaked


def test_where_it_was_said_is_told_and_not_what(leaked: str) -> None:
    told = "\n".join(line for line in leaked.splitlines() if line.startswith(("a ", "an ")))
    assert "a subject, in line 1 of a record of mcp_proton.x, at test_it.py:" in told
    assert "a text, in line 1 of standard error, at its call" in told
    assert re.search(r"an address, in line 1 of what \S+ -c .* said", told)
    for word in ("house by the lake", "Dear all", "x@example.org", "xxxxxxxx", "dddddddd", "abcdefghijkl\n"):
        assert word not in told


def test_what_is_said_after_the_last_test_fails_the_run(tmp_path: Path) -> None:
    late = """
import atexit
def test_it(request):
    told()
    request.config.add_cleanup(lambda: None)
class Late:
    def pytest_sessionfinish(self): logging.getLogger("mcp_proton").error("The house by the lake")
def test_register(request): request.config.pluginmanager.register(Late())
"""
    done = run(tmp_path, late, "-n", "1")
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "a record of mcp_proton, at test_it.py" in done.stdout


def test_every_python_that_a_test_starts_is_listened_to() -> None:
    """Whatever environment it is given; what is shut in with none at all stays alone."""
    asked = [sys.executable, "-c", f"import os; print(os.environ.get({FOLDER!r}))"]
    told = subprocess.run(asked, env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True).stdout
    assert told.strip() == os.environ[FOLDER]
    assert subprocess.run(asked, env={}, capture_output=True, text=True, check=True).stdout.strip() == "None"
    assert environment(environment({"PYTHONPATH": "x"})) == environment({"PYTHONPATH": "x"})


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("an address", "to <anna.berg+x@mail.example.org>:"),
        ("a client's token", "mcpp_0123456789_" + "a" * 50),
        ("a refresh token", "mcpr_" + "Ab3" * 14),
        ("a signed token", "eyJhbGciOiJF.eyJzdWIiOiJh.x"),
        ("a secret of 256 bits", "/files/" + "aB3-" * 10 + "xyz"),
        ("a login", "Bearer abcdefgh"),
    ],
)
def test_addresses_and_secrets_are_known_by_their_shape(kind: str, said: str) -> None:
    assert kind in words.heard_in(said)


@pytest.mark.parametrize(
    "said",
    [
        "call client=hermes method=messages_list outcome=ok latency_ms=3.1 token_hash=3f2a99c1",
        "serving where=http://127.0.0.1:8080/mcp",
        "certificate=sha256:" + "0a" * 32,
        "mcpp_0123456789 was used",
    ],
)
def test_what_the_product_may_say_is_no_canary(said: str) -> None:
    assert words.heard_in(said) == set()


def test_a_whole_message_is_a_canary() -> None:
    words.plant_mail(
        b"From: =?utf-8?q?J=C3=BCrgen_Weiss?= <j@example.org>\nSubject: a folded\n subject\n\nText of it\n"
        b'Content-Disposition: attachment; filename="plans for may.pdf"\n'
    )
    for said in ("Jürgen Weiss", "a folded subject", "Text of it", "plans for may.pdf"):
        assert words.heard_in(f"mcp-proton: info: {said}!"), said
