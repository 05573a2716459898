"""The docs are in step with the code: tables are printed from it, and every command and setting is named."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from mcp_proton.config import tables
from mcp_proton.mcp.profiles import TOKENS

ROOT = Path(__file__).parents[2]
PROSE = "\n".join(
    path.read_text() for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]
)


def test_the_printed_tables_are_what_the_code_says_now() -> None:
    done = subprocess.run(
        [sys.executable, "tools/docs.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "model",
    [tables.Account, tables.Client, tables.Service, tables.Storage, tables.OAuth, tables.SigningIn, tables.People],
)
def test_every_setting_is_named_in_the_docs(model: type[tables.Table]) -> None:
    missing = [name for name in model.model_fields if f"`{name}`" not in PROSE and f"{name} =" not in PROSE]
    assert not missing


def test_every_command_of_the_owner_is_named_in_the_docs() -> None:
    from mcp_proton.admin.cli import app

    for name in app:
        if not str(name).startswith("-"):
            assert f"mcp-proton {name}" in PROSE, name


def test_every_profile_and_its_ceiling_is_told() -> None:
    for profile, ceiling in TOKENS.items():
        assert re.search(rf"{profile.value}.*{ceiling / 1000:g}", PROSE), profile


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
LINKS = [
    (page, link) for page in PAGES for link in sorted(set(re.findall(r"\]\(((?!http|mailto:)[^)]+)", page.read_text())))
]


def heading(line: str) -> str:
    """The name by which a heading is linked to."""
    return re.sub(r"[^\w -]", "", line.lstrip("# ").strip().lower()).replace(" ", "-")


@pytest.mark.parametrize(("page", "link"), LINKS, ids=[f"{page.name}: {link}" for page, link in LINKS])
def test_every_link_leads_somewhere(page: Path, link: str) -> None:
    path, _, place = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    assert target.exists()
    if place and target.suffix == ".md":
        assert place in {heading(line) for line in target.read_text().splitlines() if line.startswith("#")}


def test_each_decision_has_a_number_of_its_own_and_says_it() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    assert [page.name[:3] for page in pages] == [f"{number:03}" for number in range(1, len(pages) + 1)]
    assert [page for page in pages if page.read_text()[:5] != f"# {page.name[:3]}"] == []


def test_every_room_of_the_house_is_named_on_its_floor() -> None:
    told = (ROOT / "docs" / "house.md").read_text().partition("## The rooms of a floor")[2].partition("\n## ")[0]
    floors: dict[str, str] = {}
    floor = ""
    for row in re.findall(r"^\| ([a-z]*) ?\|(.*)\|$", told, re.MULTILINE):
        floor = row[0] or floor
        floors[floor] = floors.get(floor, "") + row[1]
    for init in (ROOT / "src" / "mcp_proton").glob("*/*/__init__.py"):
        room, floor = init.parent.name, init.parent.parent.name
        assert f"`{room}`" in floors.get(floor, ""), f"{floor}/{room}"
