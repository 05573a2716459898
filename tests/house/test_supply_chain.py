"""J-136: what comes in is locked, licensed and asked about; what goes out is told of, traced to its sources and signed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools import audit, sbom

ROOT = Path(__file__).parents[2]
WORKFLOWS = ROOT / ".github" / "workflows"
ALLOWED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Unlicense",
}  # fmt: skip
# How those are called by who does not use SPDX's names.
SPELLED = {
    "## The MIT License (MIT)": "MIT",
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
# Read by a person in the package itself: metadata without a name of a licence, and packages for other systems only.
READ = {
    "colorama": "BSD-3-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "imapclient": "BSD-3-Clause",
    "pypdfium2": "BSD-3-Clause",
    "pywin32": "PSF-2.0",
    "pywin32-ctypes": "BSD-3-Clause",
}
CLASSIFIER = "Classifier: License :: OSI Approved :: "
LOCKED = re.findall(r"(?m)^([\w.-]+)==", (ROOT / "requirements.lock").read_text())


def stated(about: metadata.PackageMetadata) -> set[str]:
    """Return under what a package says it is, in SPDX's names where it, or the list above, has one."""
    told: dict[str, Any] = about.json
    if "license_expression" in told:
        return set(re.findall(r"[\w.-]+", told["license_expression"])) - {"AND", "OR"}
    classified = [
        line.rpartition(" :: ")[2] for line in told.get("classifier", []) if line.startswith("License :: OSI")
    ]
    words = classified or str(told.get("license", "")).splitlines()[:1] or ["nothing"]
    return {SPELLED.get(word, word) for word in words}


@pytest.mark.parametrize("name", LOCKED)
def test_every_locked_package_is_under_a_licence_that_we_may_pass_on(name: str) -> None:
    found = {READ[name]} if name in READ else stated(metadata.metadata(name))
    assert found <= ALLOWED


@pytest.mark.parametrize(
    "lines",
    [
        "License-Expression: GPL-3.0-only", "License-Expression: MIT AND AGPL-3.0-or-later", "License: GPLv2+", "",
        f"{CLASSIFIER}MIT License\n{CLASSIFIER}GNU General Public License v3 (GPLv3)",
    ],
)  # fmt: skip
def test_a_licence_that_binds_the_whole_or_none_at_all_is_not_passed(lines: str, tmp_path: Path) -> None:
    (tmp_path / "x-1.dist-info").mkdir()
    (tmp_path / "x-1.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.4\nName: x\nVersion: 1\n{lines}\n\n")
    (found,) = metadata.distributions(path=[str(tmp_path)])
    assert not stated(found.metadata) <= ALLOWED


def test_an_audit_that_was_not_answered_does_not_pass() -> None:
    """A service that knows nothing of a package, and one that says nothing of it, are told from one that finds nothing."""
    pins = ["a-b==1", "c==2", "d==3", "e==4"]
    bad = {"id": "X-1", "aliases": ["Y-1"], "fix_versions": ["2.1"], "description": ""}
    told = [
        {"name": "A_b", "version": "1", "vulns": []},
        {"name": "c", "version": "2", "vulns": [bad]},
        {"name": "d", "skip_reason": "not found"},
    ]
    assert audit.judged(told, pins) == (["c==2: X-1 (Y-1), fixed in 2.1"], ["d==3", "e==4"])
    assert audit.judged(told[:1], pins[:1]) == ([], [])


ANSWER = '{"dependencies": [{"name": "a", "version": "1", "vulns": [%s]}]}'
KNOWN = '{"id": "X-1", "aliases": [], "fix_versions": []}'


@pytest.mark.parametrize(
    ("answer", "code"), [('{"dependencies": []}', 2), ("no network", 2), (ANSWER % "", 0), (ANSWER % KNOWN, 1)]
)
def test_an_audit_says_by_its_exit_code_how_it_came_out(
    answer: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where the program that asks ends well: pip-audit passes over what it was not told."""
    program = tmp_path / "pip-audit"
    program.write_text(f"#!{sys.executable}\nprint({answer!r})\n")
    program.chmod(0o755)
    (tmp_path / "one.lock").write_text("a==1 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n")
    monkeypatch.setattr(audit, "PROGRAM", program)
    monkeypatch.setattr(audit, "LOCKS", (tmp_path / "one.lock",))
    assert audit.main("pypi") == code


def test_a_bill_of_materials_tells_of_everything_and_of_no_folder() -> None:
    ours: dict[str, Any] = {"name": "ours", "externalReferences": [{"url": "file:///somewhere"}, {"url": "https://x"}]}
    told = {"metadata": {"component": ours}, "components": [{"name": "A_b", "version": "1"}]}
    assert sbom.without_places(told)["metadata"]["component"]["externalReferences"] == [{"url": "https://x"}]
    lock = "a-b==1 \\\n    --hash=sha256:00\nc==2 \\\n    --hash=sha256:00\nd==3 ; sys_platform == 'win32' \\\n"
    assert sbom.left_out(told, lock) == ["c==2"]


def workflow(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((WORKFLOWS / name).read_text())
    return found


def steps(job: dict[str, Any]) -> str:
    """Return what the steps of a job use and run, one a line."""
    return "\n".join(str(step.get("uses") or step["run"]) for step in job.get("steps", []))


def test_the_forge_runs_what_is_run_here_and_asks_both_services() -> None:
    jobs = workflow("ci.yml")["jobs"]
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert ".ci/run" in steps(jobs["test"])
    assert jobs["advisories"]["strategy"]["matrix"]["service"] == ["pypi", "osv"]
    assert jobs["deployments"]["strategy"]["matrix"]["target"] == ["image", "systemd"]


def test_a_release_is_tested_told_of_traced_scanned_and_signed_without_a_key() -> None:
    jobs = workflow("release.yml")["jobs"]
    assert jobs["ci"]["uses"] == "./.github/workflows/ci.yml"
    assert {jobs[name]["needs"] for name in ("build", "image")} == {"ci"}
    assert set(jobs["publish"]["needs"]) == {"build", "image"}
    built, image, published = (steps(jobs[name]) for name in ("build", "image", "publish"))
    assert "make packages sbom" in built
    for word in ("attest-build-provenance", "attest-sbom"):
        assert word in built
    assert (
        image.index("scan-action")
        < image.index("login-action")
        < image.index("attest-build")
        < image.index("cosign sign")
    )
    assert "gh-action-pypi-publish" in published
    for name in ("build", "image", "publish"):
        assert jobs[name]["permissions"]["id-token"] == "write"
    assert "secrets." not in (WORKFLOWS / "release.yml").read_text()


@pytest.mark.parametrize("name", ["ci.yml", "release.yml"])
def test_a_workflow_may_nothing_that_a_job_does_not_say(name: str) -> None:
    told = workflow(name)
    assert told["permissions"] == {}
    assert all("permissions" in job for job in told["jobs"].values())


def test_a_checker_of_workflows_has_nothing_to_say() -> None:
    words = [
        Path(sys.executable).with_name("zizmor"),
        "--offline",
        "--no-progress",
        "--persona=regular",
        ROOT / ".github",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
