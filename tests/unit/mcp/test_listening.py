"""Sockets to listen on: who may connect, and what is in the way is told."""

from __future__ import annotations

import grp
import os
import socket
from contextlib import closing

import pytest

from mcp_proton.config.serving import Place, place
from mcp_proton.domain.errors import Unavailable
from mcp_proton.mcp.http.listening import opened


def test_a_unix_socket_is_the_owners_alone_or_a_groups(tmp_path):
    path = tmp_path / "run" / "mcp.sock"
    for group, mode in ((None, 0o600), (grp.getgrgid(os.getgid()).gr_name, 0o660)):
        with closing(opened(Place(path=path), group)) as listening:
            assert path.stat().st_mode & 0o777 == mode
            assert str(listening) == f"unix:{path}"
            assert list(path.parent.iterdir()) == [path]
        assert not path.exists()
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_group_nobody_has_is_told_and_leaves_nothing(tmp_path):
    with pytest.raises(Unavailable, match="there is no group `nobodys-group`"):
        opened(Place(path=tmp_path / "mcp.sock"), "nobodys-group")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_socket_is_left_alone(tmp_path):
    path = tmp_path / "mcp.sock"
    path.write_text("precious")
    with pytest.raises(Unavailable, match="a file of that name is there already"):
        opened(Place(path=path))
    assert path.read_text() == "precious"


def test_a_name_that_is_too_long_is_told(tmp_path):
    with pytest.raises(Unavailable, match="too long"):
        opened(Place(path=tmp_path / ("x" * 120)))


def test_a_port_that_is_taken_is_told():
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, pytest.raises(Unavailable, match="something listens there already"):
        opened(place(f"127.0.0.1:{taken.getsockname()[1]}"))


def test_any_free_port_is_named_as_clients_write_it():
    with closing(opened(place("127.0.0.1:0"))) as listening:
        assert str(listening) == f"http://127.0.0.1:{listening.socket.getsockname()[1]}"
