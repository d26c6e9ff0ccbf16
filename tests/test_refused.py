"""Why a library is not a backend: each is installed apart from the others, and shows it."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from bench.cards import libraries
from bench.launch import ROOT

TIMEOUT_S = 300

CLOSED = """
import asyncio, os, rloop, socket
def sockets():
    here = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    return sum("socket" in os.readlink(each) for each in here if os.path.islink(each))
async def connect(address):
    _, writer = await asyncio.open_connection(*address)
    writer.close()
    await asyncio.sleep(0.2)
with socket.create_server(("127.0.0.1", 0)) as server:
    before = sockets()
    with asyncio.Runner(loop_factory=rloop.new_event_loop) as runner:
        runner.run(connect(server.getsockname()))
    print(sockets() - before)
"""

ONCE = """
import asyncio
from curl_cffi import AsyncSession
from crawlers.conformance.scripted import Connection, ScriptedServer, page
async def ask(server):
    async with AsyncSession(http_version="v1", timeout=5) as session:
        await session.get(server.url)
        await session.get(server.url + "next")
with ScriptedServer() as server:
    server.script.update({"/": page(), "/next": [Connection.close, page()]})
    asyncio.run(ask(server))
    print(server.requests["/next"])
"""

TARGET = """
import asyncio
from httpx_aiohttp import HttpxAiohttpClient
from crawlers.conformance.scripted import ScriptedServer, page
async def ask(server):
    async with HttpxAiohttpClient() as client:
        await client.get(server.url + "%7e")
with ScriptedServer() as server:
    server.script.update({"/%7e": page(), "/~": page()})
    asyncio.run(ask(server))
    print([head.split()[1] for head in server.heads])
"""

ITSELF = "import urllib3; print(urllib3.__version__)"


@pytest.fixture
def python(tmp_path: Path) -> str:
    """An interpreter with nothing installed."""
    venv.create(tmp_path / "venv", with_pip=True)
    return str(tmp_path / "venv" / "bin" / "python")


def install(python: str, *requirements: str) -> None:
    command = [python, "-m", "pip", "install", "-q", "--only-binary", ":all:", *requirements]
    if subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False).returncode:
        pytest.skip("no package index can be reached")


def shown(python: str, script: str) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [python, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    return done.stdout.strip()


def pinned(name: str) -> str:
    """The version that the list of refusals names."""
    (found,) = (each for each in libraries.refused() if each.name == name)
    return f"{name}=={found.version}"


def test_no_refused_library_is_installed_with_the_variants() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert libraries.refused()
    for each in libraries.refused():
        assert f'"{each.name}>=' not in text
        assert not (ROOT / "crawlers" / "variants" / f"{each.name}.py").exists()


@pytest.mark.slow
@pytest.mark.timeout(2 * TIMEOUT_S)
def test_rloop_leaves_the_sockets_of_clients_open(python: str) -> None:
    install(python, pinned("rloop"))
    assert shown(python, CLOSED) == "1"


@pytest.mark.slow
@pytest.mark.timeout(2 * TIMEOUT_S)
def test_curl_repeats_a_request_by_itself(python: str) -> None:
    install(python, pinned("curl_cffi"))
    assert shown(python, ONCE) == "2"


@pytest.mark.slow
@pytest.mark.timeout(2 * TIMEOUT_S)
def test_httpx_aiohttp_asks_for_another_page(python: str) -> None:
    install(python, pinned("httpx-aiohttp"))
    assert shown(python, TARGET) == "['/~']"


@pytest.mark.slow
@pytest.mark.timeout(2 * TIMEOUT_S)
def test_niquests_puts_another_library_in_the_place_of_urllib3(python: str) -> None:
    install(python, "urllib3==2.8.0", pinned("niquests"))
    assert shown(python, ITSELF) != "2.8.0"


@pytest.mark.slow
@pytest.mark.timeout(2 * TIMEOUT_S)
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="zuvloop has wheels from 3.14 on")
def test_zuvloop_cannot_be_installed_on_older_releases(python: str) -> None:
    install(python, "uvloop")  # the index can be reached
    command = [python, "-m", "pip", "install", "-q", pinned("zuvloop")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert "No matching distribution found" in done.stderr
