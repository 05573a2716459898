# `make demo` shows the product at work, `make test` runs everything a change must pass, `make check` is the fast loop.
# Each prepares what it needs: virtual environments come from requirements.lock, with hashes.

PYTHON := $(shell tools/find-python 3.11 3.12 3.13)
BIN    := .venv/bin
OTHERS := 3.12 3.13
PYTEST := -m pytest -n 2 --dist worksteal -q
# What must hold on every Python, not only on the first; what Proton's engine and pymap do depends on none.
CORE   := tests/unit tests/service tests/contract -m "not engine and not pymap"

export PYTHONUNBUFFERED := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

PARTS  := static suite pythons hermes node engine browser $(OTHERS:%=python-%)

.PHONY: demo test check bench docs servers lock clean differential differences faults clients fuzz soak image systemd packages sbom audit $(PARTS)
.DELETE_ON_ERROR:

demo: .venv/installed
	$(BIN)/python tools/demo.py

test: static suite pythons demo

check: static
	$(BIN)/python $(PYTEST) -m "not engine" tests/unit tests/service

static: .venv/installed
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

suite: .venv/installed servers hermes node engine browser
	$(BIN)/python $(PYTEST) tests

# Side by side: the tests wait more than they compute.
pythons: servers
	@$(MAKE) --no-print-directory --output-sync=target -j $(words $(OTHERS)) $(OTHERS:%=python-%)

# One rule serves .venv and the environments of the other Pythons; the lock decides when each is made anew.
define environment
	rm -rf $(1)
	$(2) -m venv $(1)
	$(1)/bin/pip install --quiet --no-compile --require-hashes -r $(or $(3),requirements.lock)
	touch $(1)/locked
endef
define install
	$(1)/bin/pip install --quiet --no-deps --no-build-isolation --no-index -e .
	touch $(1)/installed
endef

.venv/locked: requirements.lock
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed, with its venv module."; exit 1; }
	$(call environment,.venv,$(PYTHON))

.venv/installed: .venv/locked pyproject.toml
	$(call install,.venv)

.cache/python-%/locked: requirements.lock
	$(call environment,$(@D),$(shell tools/find-python $*))

.cache/python-%/installed: .cache/python-%/locked pyproject.toml
	$(call install,$(@D))

.PRECIOUS: .cache/python-%/locked .cache/python-%/installed

$(OTHERS:%=python-%): python-%: servers
	@if tools/find-python $* >/dev/null; then $(MAKE) --no-print-directory on-python-$*; \
	else echo "Python $* is not on this machine: nothing was tested on it."; fi

on-python-%: .cache/python-%/installed
	.cache/python-$*/bin/python $(PYTEST) $(CORE)

bench: .venv/installed servers
	$(BIN)/python -m bench

docs: .venv/installed
	$(BIN)/python tools/docs.py

servers: .venv/installed
	@$(BIN)/python tests/servers/install.py
	@$(BIN)/python -m tests.servers.oidc_install

hermes: .venv/installed
	@$(BIN)/python -m tests.surfaces.hermes.install

# Node, with the MCP clients that are small enough for every run.
node: .venv/installed
	@$(BIN)/python -m tests.clients.install

# Agents that are large to install (1.5 GB): opencode, Codex, Claude Code, Gemini CLI, each with a scripted model.
clients: .venv/installed hermes
	@$(BIN)/python -m tests.clients.install --large
	$(BIN)/python $(PYTEST) tests/clients/every_agent.py tests/clients

# Malformed requests to the service; `make test` has a thousand of them.
REQUESTS := 10000
SEED     := 1
fuzz: .venv/installed
	$(BIN)/python -m tests.surfaces.http.fuzzing --requests $(REQUESTS) --seed $(SEED)

# Fifty clients at once; `make test` has two minutes of it.
MINUTES := 30
soak: .venv/installed
	$(BIN)/python -m tests.surfaces.http.soak --minutes $(MINUTES)

# The container image, built and run; as root on Debian. Where no registry of images is reached a stand-in is its base.
image: .venv/installed
	@$(BIN)/python -m tests.deploy.debian debootstrap debian-archive-keyring buildah podman crun catatonit
	@$(BIN)/python -m tests.deploy.compose
	$(BIN)/python -m pytest -q tests/deploy/in_an_engine.py

# The units, installed and run under a systemd of a small Debian's own; as root on Debian.
systemd: .venv/installed
	@$(BIN)/python -m tests.deploy.debian debootstrap debian-archive-keyring systemd-container
	$(BIN)/python -m pytest -q tests/deploy/under_systemd.py

# A browser for the pages on which programs are let in; left out, and that is said, where it cannot be installed.
browser: .venv/installed
	@$(BIN)/python -m tests.servers.browser_install

# Proton's own IMAP engine, a Go program; left out, and that is said, where there is no Go.
engine: .venv/installed
	@$(BIN)/python -m tests.servers.gluon_build

# Random sessions on Proton's engine and on the simulator, compared; `make test` has the first hundred of them.
SESSIONS := 2000
FIRST    := 1000
differential: engine
	$(BIN)/python -m tests.differential $(SESSIONS) --first $(FIRST)

# The whole fault matrix; `make test` has a representative part of it. ONLY names operations.
ONLY :=
faults: .venv/installed
	$(BIN)/python $(PYTEST) tests/matrix/every_step.py tests/service/test_faults.py -k "$(ONLY)"

# What the servers of the contract suite can, printed into docs/servers.md.
differences: .venv/installed servers
	$(BIN)/python -m tests.contract.differences

lock:
	$(PYTHON) tools/lock.py $(UPGRADE)

.cache/supply/locked: tools/supply.lock
	$(call environment,$(@D),$(PYTHON),$<)

.cache/shipped/locked: deploy/requirements.lock
	$(call environment,$(@D),$(PYTHON),$<)

.cache/shipped/installed: .cache/shipped/locked pyproject.toml
	$(@D)/bin/pip install --quiet --no-deps --no-build-isolation --no-index .
	touch $@

# The wheel and the source distribution, by the locked builder; the same to the octet for the same commit.
packages: .venv/installed
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build --directory dist

# What is shipped, each part with its licence, in CycloneDX: dist/mcp-proton.cdx.json, the same to the octet each time.
sbom: .venv/installed .cache/supply/locked .cache/shipped/installed
	$(BIN)/python tools/sbom.py

# Known vulnerabilities of what is locked, asked of SERVICE (pypi or osv). What could not be asked about fails too.
SERVICE := pypi
audit: .venv/installed .cache/supply/locked
	$(BIN)/python tools/audit.py $(SERVICE)

clean:
	rm -rf .venv .cache build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
