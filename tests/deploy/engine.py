"""A container engine for one test run: buildah builds, podman runs and speaks Docker's protocol to Compose.

It keeps its images below `.cache/` and its mounts to itself. Limits of memory and processes need control groups of this
machine's own and are left out; all else that compose.yaml asks for is done by the runtime.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, Self

import yaml

from . import base, compose
from .debian import CACHE
from .mounts import OwnMounts

IMAGE = "mcp-proton"
COMPOSE = base.ROOT / "deploy" / "container" / "compose.yaml"
_SETTINGS = """
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
runtime = "crun"
"""
_NO_LIMITS = "services:\n" + "".join(
    f"  {name}:\n    pids_limit: !reset null\n    mem_limit: !reset null\n" for name in ("serve", "owner")
)
_PATIENCE = 60


class Engine(OwnMounts):
    """`with Engine() as engine`: the image is built, and nothing runs before or after."""

    def __enter__(self) -> Self:
        super().__enter__()
        self._folder = Path(tempfile.mkdtemp(prefix="engine-"))
        self._service: subprocess.Popen[bytes] | None = None
        store, run = CACHE / "store", CACHE / "run"  # podman remembers both in the store
        (self._folder / "containers.conf").write_text(_SETTINGS)
        (self._folder / "no-limits.yaml").write_text(_NO_LIMITS)
        (self._folder / "storage.conf").write_text(
            f'[storage]\ndriver = "overlay"\ngraphroot = "{store}"\nrunroot = "{run}"\n'
        )
        self._more = {
            "CONTAINERS_CONF": str(self._folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(self._folder / "storage.conf"),
            "DOCKER_HOST": f"unix://{self._folder / 'engine.sock'}",
            "COMPOSE_PROJECT_NAME": f"try-{os.getpid()}",
        }
        try:
            self._build()
            self._listen()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._service is not None:
            self._service.terminate()
            self._service.wait()
        super().__exit__()
        shutil.rmtree(self._folder, ignore_errors=True)

    def podman(self, *words: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command of podman's."""
        return self.run(["podman", *words], more=self._more, check=check)

    def compose(
        self, *words: str | Path, check: bool = True, given: str = "", **more: str | Path
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of Compose's on our file."""
        files = [f"--file={COMPOSE}", f"--file={self._folder / 'no-limits.yaml'}"]
        environment = self._more | {name: str(value) for name, value in more.items()}
        return self.run([*compose.program(), *files, *words], more=environment, check=check, given=given)

    def inspect(self, container: str) -> dict[str, Any]:
        """Return all that is known of a container."""
        found: list[dict[str, Any]] = yaml.safe_load(self.podman("inspect", container).stdout)
        return found[0]

    def _build(self) -> None:
        """Build the base, unless it is there for this tree, and the image from the Dockerfile, as its first line says."""
        root = base.root()
        known = self.run(["buildah", "images", "--quiet", base.name()], more=self._more, check=False)
        stamp, state = CACHE / "base-image.state", (CACHE / "base.state").read_text()
        how = ["--isolation=chroot", "--pull-never", "--quiet"]
        if known.returncode or not stamp.exists() or stamp.read_text() != state:
            recipe = self._folder / "Base"
            recipe.write_text("FROM scratch\nCOPY . /\nENV PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n")
            self.run(["buildah", "build", *how, f"--file={recipe}", f"--tag={base.name()}", root], more=self._more)
            stamp.write_text(state)
        ignored = base.DOCKERFILE.with_name("Dockerfile.dockerignore")
        words = [*how, "--format=docker", f"--file={base.DOCKERFILE}", f"--ignorefile={ignored}", f"--tag={IMAGE}"]
        self.run(["buildah", "build", *words, base.ROOT], more=self._more)
        self.run(["buildah", "rmi", "--prune"], more=self._more)

    def _listen(self) -> None:
        where = self._more["DOCKER_HOST"]
        self._service = subprocess.Popen(
            self.words(["podman", "system", "service", "--time=0", where]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **self._more},
        )
        for _ in range(_PATIENCE):
            if Path(where.removeprefix("unix://")).exists():
                return
            time.sleep(1)
        raise TimeoutError("podman did not begin to listen")
