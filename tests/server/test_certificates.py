"""Certificates: where the authority's is written."""

from __future__ import annotations

import errno
import os
import signal
import stat
from pathlib import Path
from unittest.mock import Mock

import pytest

from server.certificates import MARK, TlsError, published
from tests.server.fixture_server import PATIENCE, running
from tests.server.tls_client import dial, trusting


def test_the_file_lives_as_long_as_the_server(tmp_path: Path) -> None:
    place = tmp_path / "ca.pem"
    for stop in (signal.SIGTERM, None):
        with running("--tls", "ecdsa", "--cafile", str(place), "--site", "list:3:10") as server:
            assert server.ready["tls"]["cafile"] == str(place)
            assert stat.S_IMODE(place.stat().st_mode) == 0o644
            with dial(server, trusting(server)) as sock:
                assert sock.version()
            if stop is None:  # its parent is gone
                assert server.process.stdin is not None
                server.process.stdin.close()
            else:
                server.process.send_signal(stop)
            server.process.wait(PATIENCE)
        assert list(tmp_path.iterdir()) == []


def test_a_name_in_memory_ends_with_a_killed_server() -> None:
    with running("--tls", "ecdsa", "--site", "list:3:10") as server:
        cafile = Path(server.ready["tls"]["cafile"])
        assert cafile.read_bytes().startswith(MARK)
        in_memory = cafile.is_relative_to("/proc")
        server.process.kill()
        server.process.wait(PATIENCE)
        if not in_memory:
            pytest.skip("no files in memory here")
        assert not cafile.exists()


def test_where_no_file_in_memory_is_allowed_it_is_a_temporary_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "memfd_create", Mock(side_effect=PermissionError(errno.EPERM, "no")))
    with published(MARK, None) as name:
        assert Path(name).read_bytes() == MARK
    assert not Path(name).exists()


def test_a_full_disk_is_named_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", Mock(side_effect=OSError(errno.ENOSPC, "no room")))
    place = tmp_path / "ca.pem"
    with pytest.raises(OSError, match=f"^{place}: no space left"), published(MARK, str(place)):
        pass
    assert not place.exists()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("file", "something else is there"),
        ("link", "something else is there"),
        (".", "something else is there"),
        ("no/ca.pem", "no such file"),
    ],
)
def test_nothing_of_others_is_replaced(tmp_path: Path, place: str, said: str) -> None:
    (tmp_path / "file").write_bytes(b"mine\n")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(TlsError, match=said), published(MARK, str(tmp_path / place)):
        pass
    assert (tmp_path / "link").read_bytes() == b"mine\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


def test_a_certificate_names_the_address_that_is_listened_on() -> None:
    with running("--tls", "ecdsa", "--listen", "127.0.0.9:0", "--site", "list:3:10") as server:
        dial(server, trusting(server)).close()
