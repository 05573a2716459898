"""The fixtures of Proton's engine, for the tests beside it."""

from tests.servers.gluon_server import gluon, gluon_server

__all__ = ["gluon", "gluon_server"]
