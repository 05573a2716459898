"""Fixtures every test can ask for."""

from tests.servers.fixtures import cyrus, cyrus_server, dovecot, dovecot_server
from tests.surfaces.hermes.fixtures import hermes

__all__ = ["cyrus", "cyrus_server", "dovecot", "dovecot_server", "hermes"]
