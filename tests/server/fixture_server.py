"""Start the fixture server as its users do, and talk to it by hand."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

PATIENCE = 300.0  # seconds; nothing here should take one, on a quiet machine


class Running:
    """A server that is up: its ready line, its process, its two ports."""

    def __init__(self, process: subprocess.Popen[str], ready: dict[str, Any], token: str) -> None:
        self.process = process
        self.ready = ready
        self._token = token

    @property
    def address(self) -> tuple[str, int]:
        """Where pages are served."""
        host, _, port = str(self.ready["listening"]).rpartition(":")
        return host, int(port)

    @property
    def url(self) -> str:
        """The root of its site."""
        return f"{self.ready['scheme']}://{self.ready['listening']}/"

    def connect(self) -> socket.socket:
        """A connection to the pages' port."""
        return socket.create_connection(self.address, timeout=PATIENCE)

    def control(
        self, path: str, body: object = None, token: str | None = None, method: str | None = None
    ) -> tuple[int, Any]:
        """Call the control plane: (status, JSON). A body makes it a POST."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Token": self._token if token is None else token}
        url = f"http://{self.ready['control']}{path}"
        request = Request(url, data=data, headers=headers, method=method)
        try:
            with urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    def call(self, path: str, body: object = None) -> Any:
        """What the control plane answers to a call that it accepts."""
        status, answer = self.control(path, body)
        assert status == 200, answer
        return answer

    def ledger(self) -> Any:
        """The ledger."""
        return self.call("/ledger")

    def wait_for(self, path: str, condition: Callable[[Any], bool], every_s: float = 0.01) -> Any:
        """Ask the control plane until the answer meets a condition."""
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.control(path)[1]
            if condition(answer):
                return answer
            assert time.monotonic() < until, f"{path} stays {answer}"
            time.sleep(every_s)


def command(*arguments: str) -> list[str]:
    """The command line, with nothing remembered between runs."""
    return [sys.executable, "-m", "server", "--cache", "", *arguments]


@contextlib.contextmanager
def running(*arguments: str, token: str = "") -> Iterator[Running]:
    """A server for the length of a ``with``."""
    environment = {**os.environ, "C10K_CONTROL_TOKEN": token}
    process = subprocess.Popen(
        command("--json", "--exit-with-parent", *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.communicate(timeout=PATIENCE)[1]
            yield Running(process, json.loads(line), token)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def get(target: str, *headers: str, method: str = "GET", version: str = "1.1") -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {target} HTTP/{version}", "Host: x", *headers, "", ""]
    return "\r\n".join(lines).encode()


def receive(sock: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read one answer: (status, headers with lower-case names, body)."""
    data = b""
    while b"\r\n\r\n" not in data:
        block = sock.recv(65536)
        assert block, f"the connection ended after {data!r}"
        data += block
    head, _, start = data.partition(b"\r\n\r\n")
    body = bytearray(start)  # bytes would be copied whole for each block of a large answer
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    length = int(headers["content-length"])
    while len(body) < length:
        block = sock.recv(65536)
        assert block, "the connection ended inside the body"
        body += block
    assert len(body) == length, "more than was announced"
    return int(first.split()[1]), headers, bytes(body)


def everything(sock: socket.socket) -> bytes:
    """All bytes up to the end of the stream."""
    blocks = []
    while block := sock.recv(65536):
        blocks.append(block)
    return b"".join(blocks)


def ended(sock: socket.socket) -> bool:
    """The server has closed the connection, without more bytes."""
    return sock.recv(65536) == b""
