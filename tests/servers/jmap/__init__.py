"""A scripted JMAP server: strict, small and honest by itself, and whatever a test makes of it."""

from tests.servers.jmap.server import JmapServer
from tests.servers.jmap.store import Store

__all__ = ["JmapServer", "Store"]
