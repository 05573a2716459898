"""Write down what is shipped (CycloneDX 1.6): every package of deploy/requirements.lock as it is installed, with its licence.

cyclonedx-py reads the environment; where ours was built is left out, so the same sources give the same octets anywhere.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROGRAM = ROOT / ".cache" / "supply" / "bin" / "cyclonedx-py"
SHIPPED = ROOT / ".cache" / "shipped" / "bin" / "python"
OUTPUT = ROOT / "dist" / "mcp-proton.cdx.json"
OURS = "mcp-proton"


def main() -> int:
    options = ["--pyproject", "pyproject.toml", "--output-reproducible", "--spec-version", "1.6", "--validate"]
    words: list[str | Path] = [PROGRAM, "environment", *options, SHIPPED]
    done = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return 1
    told = without_places(json.loads(done.stdout))
    missing = left_out(told, (ROOT / "deploy" / "requirements.lock").read_text())
    if missing:
        print("It does not tell of:", *missing, sep="\n", file=sys.stderr)
        return 1
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    print(f"{OUTPUT.relative_to(ROOT)}: {len(told['components'])} packages")
    return 0


def without_places(told: dict[str, Any]) -> dict[str, Any]:
    """Leave out references to folders of the machine that built it."""
    for one in [told["metadata"]["component"], *told["components"]]:
        references = [each for each in one.get("externalReferences", []) if not each["url"].startswith("file:")]
        if "externalReferences" in one:
            one["externalReferences"] = references
    return told


def left_out(told: dict[str, Any], lock: str) -> list[str]:
    """Return pins that hold on every platform and are not told of in their version."""
    there = {f"{canonicalize_name(one['name'])}=={one['version']}" for one in told["components"]}
    pins = re.findall(r"(?m)^([\w.-]+)==(\S+) \\$", lock)
    return [f"{name}=={version}" for name, version in pins if f"{canonicalize_name(name)}=={version}" not in there]


if __name__ == "__main__":
    raise SystemExit(main())
