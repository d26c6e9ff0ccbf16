"""Certificates: where the authority's is written, and files that cannot be used."""

from __future__ import annotations

import contextlib
import signal
import stat
from pathlib import Path

import pytest
import trustme

from server.certificates import MARK, TlsError, load, new_context, published
from tests.server.fixture_server import PATIENCE, get, receive, running
from tests.server.tls_client import dial, trusting

PEM = MARK + b"certificate\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with certificates and keys, good and bad."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    for name, kind in (("ecdsa", trustme.KeyType.ECDSA), ("rsa", trustme.KeyType.RSA)):
        leaf = authority.issue_cert("127.0.0.1", key_type=kind)
        leaf.private_key_pem.write_to_path(folder / f"{name}.key")
        leaf.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    authority.issue_cert("127.0.0.1").private_key_pem.write_to_path(folder / "other.key")
    (folder / "text").write_text("no certificate\n")
    return folder


@pytest.mark.parametrize("kind", ["ecdsa", "rsa"])
def test_a_certificate_of_your_own(files: Path, kind: str) -> None:
    arguments = ["--certificate", str(files / f"{kind}.pem"), "--key", str(files / f"{kind}.key")]
    with running(*arguments, "--site", "list:3:10") as server:
        assert server.ready["tls"] == {
            "key": kind,
            "version": "any",
            "tickets": True,
            "cafile": None,
        }
        with dial(server, trusting(server, cafile=str(files / "authority.pem"))) as sock:
            sock.sendall(get("/p/0"))
            assert receive(sock)[0] == 200


@pytest.mark.parametrize(
    ("certificate", "key", "said"),
    [
        ("missing", "rsa.key", "--certificate .*missing: no such file"),
        ("rsa.pem", "missing", "--key .*missing: no such file"),
        (".", "rsa.key", "is a directory"),
        ("ecdsa.pem", "other.key", r"--key .*other\.key: not the key of .*ecdsa\.pem"),
        ("rsa.pem", "ecdsa.key", "not a certificate and its private key|not the key of"),
        ("text", "rsa.key", "not a certificate and its private key"),
        ("rsa.pem", "text", "not a certificate and its private key"),
        ("rsa.key", "rsa.key", "not a certificate and its private key"),
    ],
)
def test_files_that_cannot_be_used(files: Path, certificate: str, key: str, said: str) -> None:
    with pytest.raises(TlsError, match=said) as caught:
        load(str(files / certificate), str(files / key), new_context())
    assert "\n" not in str(caught.value)


def test_an_encrypted_key_asks_nobody(files: Path, tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        PrivateFormat,
        load_pem_private_key,
    )

    key = load_pem_private_key((files / "ecdsa.key").read_bytes(), None)
    (tmp_path / "key").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    )
    with pytest.raises(TlsError, match="encrypted"):
        load(str(files / "ecdsa.pem"), str(tmp_path / "key"), new_context())


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


def test_nothing_of_others_is_replaced(tmp_path: Path) -> None:
    place, elsewhere = tmp_path / "ca.pem", tmp_path / "elsewhere"
    place.write_bytes(b"mine\n")
    with pytest.raises(TlsError, match="something else is there"), published(PEM, str(place)):
        pass
    assert place.read_bytes() == b"mine\n"
    place.unlink()
    elsewhere.write_bytes(PEM)
    place.symlink_to(elsewhere)
    with pytest.raises(TlsError, match="something else is there"), published(PEM, str(place)):
        pass
    with pytest.raises(TlsError, match="is a directory"), published(PEM, str(tmp_path)):
        pass
    missing = tmp_path / "no" / "ca.pem"
    with pytest.raises(TlsError, match="no such file"), published(PEM, str(missing)):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.pem", "elsewhere"]


def test_a_file_that_a_killed_server_left_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "ca.pem"
    place.write_bytes(MARK + b"old\n")
    with published(PEM, str(place)) as name:
        assert Path(name).read_bytes() == PEM
        # Another server takes the place over: this one leaves its file alone.
        other = contextlib.ExitStack()
        other.enter_context(published(PEM + b"other\n", str(place)))
    assert place.read_bytes() == PEM + b"other\n"
    other.close()
    assert not place.exists()


def test_a_certificate_names_the_address_that_is_listened_on() -> None:
    with running("--tls", "ecdsa", "--listen", "127.0.0.9:0", "--site", "list:3:10") as server:
        dial(server, trusting(server)).close()
