"""Prints the tables of docs/ that are read off the code: operations, policy, capabilities.

python tools/docs.py           write them
python tools/docs.py --check   exit 1 when one is not in step
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_proton.admin.cli import app
from mcp_proton.admin.exits import MEANING
from mcp_proton.config.values import Profile
from mcp_proton.domain.effects import Effect
from mcp_proton.domain.ports import Standing
from mcp_proton.imap import effect_tables, gmail
from mcp_proton.imap.login.providers import PROVIDERS
from mcp_proton.mcp.profiles import offers
from mcp_proton.policy.presets import TABLE
from mcp_proton.services.door import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mcp_proton.domain.consequences import Consequence, EffectTable
    from mcp_proton.domain.operation import Operation, Request

DOCS = Path(__file__).parent.parent / "docs"
TABLES = (
    ("Any IMAP account", effect_tables.load("mcp_proton.imap")),
    ("Gmail", gmail.table()),
    ("Any JMAP account", effect_tables.load("mcp_proton.jmap")),
    ("Proton Mail Bridge", effect_tables.load("mcp_proton.bridge")),
)
CATALOG = registry.load()
MADE = "<!-- printed by `make docs` from the code; edit the code -->"


def operations() -> str:
    """Return docs/operations.md."""
    lines = [
        "# Operations",
        "",
        MADE,
        "",
        "Everything the service can do. Each is a tool, a command (`mcp-proton do NAME`), and a row of the rules.",
        "",
    ]
    lines += ["| operation | what it does | effects | shown in |", "| --- | --- | --- | --- |"]
    for one in CATALOG:
        operation = registry.primitive(one)
        effects = ", ".join(sorted(operation.effects)) or "its own records only"
        lines.append(f"| `{one.name}` | {_sentence(one.request)} | {effects} | {_shown_in(one.name, operation)} |")
    lines += ["", "## Arguments", ""]
    for one in CATALOG:
        lines += [
            f"### {one.name}",
            "",
            " ".join((one.request.__doc__ or "").split()),
            "",
            *_arguments(one.request.model_json_schema()),
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def policy() -> str:
    """Return docs/policy.md."""
    lines = [
        "# What agents may do",
        "",
        MADE,
        "",
        "| effect | the owner would say it | reader | assistant | autonomous |",
        "| --- | --- | --- | --- | --- |",
    ]
    for effect in Effect:
        row = TABLE.get(effect)
        cells = [one.word for one in row] if row else ["owner only"] * 3
        lines.append(f"| `{effect.value}` | {effect.meaning} | {' | '.join(cells)} |")
    lines += [
        "",
        "`custom` starts as assistant; your `[custom]` table in policy.toml changes single effects.",
        "",
        (DOCS / "policy.head.md").read_text().strip(),
    ]
    return "\n".join(lines) + "\n"


def capabilities() -> str:
    """Return docs/capabilities.md."""
    lines = [
        "# What verbs really do",
        "",
        MADE,
        "",
        "A plan is made from these tables, never from a verb. No row, no effect: the answer is `unsupported_semantics`.",
        "",
        "Bridge's table was recorded on 3.21.1. On another version the rows that change mail are *unverified*, and what your",
        "rules allow is asked about all the same, until `mcp-proton doctor --prove` has tried them on your account (then",
        "*live*) or has seen them do something else (then refused to everybody). `capabilities_report` tells the table as it",
        "holds for an account.",
        "",
    ]
    for title, table in TABLES:
        lines += [
            f"## {title}",
            "",
            "| verb | from | to | effects | what happens | evidence |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        lines += _rows(table)
        lines.append("")
    lines.append(
        "Evidence: standard (an RFC says so), documented (the provider says so, tried by nobody here), "
        "source (read in Bridge's source), recorded (seen on a running Bridge 3.21.1), "
        "engine (tried row by row on Proton's own IMAP engine with a made-up account), live (seen on a live account), "
        "unverified."
    )
    return "\n".join(lines) + "\n"


def _rows(table: EffectTable) -> Iterable[str]:
    for block in table.blocks():
        row = block.row
        sources = ", ".join(block.sources) + _condition(row)
        effects = "refused" if row.refused else ", ".join(sorted(row.effects))
        told = f"{row.result}; instead: {row.instead}" if row.refused else row.told
        yield f"| {row.verb} | {sources} | {', '.join(block.targets)} | {effects} | {told} | {row.known_by} |"


def _condition(row: Consequence) -> str:
    told = {"there": " (there already)", "held": " (held by a label or a star)"}
    return "".join(words for name, words in told.items() if getattr(row, name)) + (f" ({row.kind})" if row.kind else "")


def _sentence(request: type[Request]) -> str:
    return " ".join((request.__doc__ or "").split()).split(". ")[0].rstrip(".")


def _shown_in(name: str, operation: Operation) -> str:
    if operation.audience != "agent":
        return "the owner's commands"
    return ", ".join(one.value for one in Profile if name in offers(one, CATALOG))


def _arguments(schema: dict[str, object]) -> Iterable[str]:
    required = set(schema.get("required", ()))  # type: ignore[call-overload]
    fields = schema.get("properties", {})
    for name, field in fields.items():  # type: ignore[attr-defined]
        kind = field.get("type") or "/".join(
            one.get("type", "") for one in field.get("anyOf", []) if one.get("type") != "null"
        )
        described = f": {field['description']}" if "description" in field else ""
        default = f" (default {field['default']})" if field.get("default") not in (None, [], "") else ""
        yield f"- `{name}` {kind}{', required' if name in required else default}{described}"


def cli() -> str:
    """Return docs/cli.md."""
    exits = [f"| {code.value} | {meaning} |" for code, meaning in MEANING.items()]
    head, *commands = app.generate_docs().split("\n## ")
    lines = [
        head.replace("# mcp-proton\n", f"# mcp-proton\n\n{MADE}\n", 1)
        .replace("\nmcp-proton ", "\n    mcp-proton ")
        .replace("    mcp-proton COMMAND", "mcp-proton COMMAND"),
        *[_with_closing(one) for one in commands if not one.startswith(("Table of Contents", "mcp-proton do\n"))],
        "## mcp-proton do OPERATION",
        "",
        "Every operation of [operations.md](operations.md) as a command; its arguments are the same, as `--options`.",
        "",
        "## Exit codes",
        "",
        "| code | means |",
        "| --- | --- |",
        *exits,
    ]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


def _with_closing(section: str) -> str:
    """The section of a command, with what `--help` says below its flags before its own commands."""
    name = section.partition("\n")[0].removeprefix("mcp-proton ")
    own, below, rest = section.partition("\n### ")
    return f"## {own.rstrip()}\n\n```text\n{app[name].help_epilogue}\n```\n{below}{rest}"


def providers() -> str:
    """Return docs/providers.md."""
    lines = [
        "# Mail providers",
        "",
        MADE,
        "",
        '`provider = "gmail"` in an account of config.toml, or `mcp-proton setup mine --provider gmail`, stands for these',
        "servers. Any other provider needs its host only: `mcp-proton setup mine --kind imap --host imap.example.org`.",
        "",
        "All of it is from the providers' own documentation, and *unverified*: nobody tried it here on a live account.",
        "A preset spares typing and changes nothing of what is done to mail, but for Gmail: there, and wherever a server",
        "advertises `X-GM-EXT-1`, an [effect table of its own](capabilities.md#gmail) holds, which refuses what could delete.",
        "",
        "| provider | | IMAP | sending | logs in with | a copy in Sent | to know |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    filed = {
        Standing.AVAILABLE: "the server files it",
        Standing.UNAVAILABLE: "we file it",
        Standing.UNVERIFIED: "we look for ten seconds whether the server does, then file it",
    }
    for name, one in PROVIDERS.items():
        login = f"{one.password}; or an access token" if one.password and one.token_url else one.password
        lines.append(
            f"| `{name.value}` | {one.title} | {one.host}:{one.port} | {one.smtp_host}:{one.smtp_port} | "
            f"{login or 'an access token; passwords are switched off'} | {filed[one.files_sent]} | {one.quirks} |"
        )
    lines += [
        "",
        "Where the account renews its access tokens (`[accounts.NAME.oauth]`), these are known, too:",
        "",
        "| provider | `token_url` | `scope` |",
        "| --- | --- | --- |",
    ]
    for name, one in PROVIDERS.items():
        if one.token_url is not None:
            lines.append(f"| `{name.value}` | {one.token_url} | {one.scope or 'as at the sign-in'} |")
    return "\n".join(lines) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "operations.md": operations,
    "policy.md": policy,
    "capabilities.md": capabilities,
    "providers.md": providers,
    "cli.md": cli,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or check them."""
    stale = [name for name, page in PAGES.items() if not (DOCS / name).exists() or (DOCS / name).read_text() != page()]
    if "--check" in arguments:
        for name in stale:
            print(f"docs/{name} is not in step; run `make docs`")
        return int(bool(stale))
    for name in stale:
        (DOCS / name).write_text(PAGES[name]())
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
