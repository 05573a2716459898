"""Ask a vulnerability service about every package that is locked.

Exit codes: 0 nothing is known of any, 1 something is, 2 it did not answer about all of them.
pip-audit does the asking; alone it passes over what the service did not know or answer, and ends well.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / ".cache" / "supply" / "bin" / "pip-audit"
LOCKS = ("requirements.lock", "tools/supply.lock")


def main(service: str) -> int:
    pins = locked()
    told = asked(service, pins)
    if told is None:
        print(f"NOT AUDITED: {service} gave no answer about any of {len(pins)} packages.", file=sys.stderr)
        return 2
    found, unknown = judged(told, pins)
    for line in found:
        print(line)
    if unknown:
        print(f"NOT AUDITED: {service} did not answer about {len(unknown)} of {len(pins)} packages:", file=sys.stderr)
        print(*unknown, sep="\n", file=sys.stderr)
        return 2
    print(f"{len(pins)} packages, {len(found)} known vulnerabilities.")
    return 1 if found else 0


def locked() -> list[str]:
    """Return every pin of the locks, whatever platform it is for."""
    found = {pin for lock in LOCKS for pin in re.findall(r"(?m)^[\w.-]+==[^\s;]+", (ROOT / lock).read_text())}
    return sorted(found)


def asked(service: str, pins: list[str]) -> list[dict[str, Any]] | None:
    """Return what the service told of each package, or None where it told nothing."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as requirements:
        requirements.write("\n".join(pins))
        requirements.flush()
        words: list[str | Path] = [
            PROGRAM,
            "--vulnerability-service",
            service,
            "--disable-pip",
            "--no-deps",
            "--format",
            "json",
        ]
        quiet = ["--progress-spinner", "off", "--requirement", requirements.name]
        done = subprocess.run([*words, *quiet], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    try:
        told: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        print(*done.stderr.splitlines()[-1:], sep="\n", file=sys.stderr)
        return None
    return told


def judged(told: list[dict[str, Any]], pins: list[str]) -> tuple[list[str], list[str]]:
    """Return the vulnerabilities that are known, a line each, and the pins about which nothing was said."""
    answered = {f"{canonicalize_name(one['name'])}=={one['version']}": one for one in told if "vulns" in one}
    found = [
        f"{pin}: {vulnerability['id']} ({', '.join(vulnerability['aliases'])}), fixed in"
        f" {', '.join(vulnerability['fix_versions']) or 'no version yet'}"
        for pin, one in sorted(answered.items())
        for vulnerability in one["vulns"]
    ]
    return found, [pin for pin in pins if _canonical_pin(pin) not in answered]


def _canonical_pin(pin: str) -> str:
    name, _, version = pin.partition("==")
    return f"{canonicalize_name(name)}=={version}"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1] if len(sys.argv) > 1 else "pypi"))
