"""A small internet in namespaces of its own: names, an authority, http and https, several hosts.

``unshare --net --mount python -m tests.crawlers.internet`` reads command lines as
JSON from standard input, runs each as ``python -m crawlers`` and prints what came
of it. Nothing of the machine's own network or names is seen or touched.

================  ===============  ================================================
docs.example.test  198.51.100.10   pages; robots.txt asks for a delay and forbids
                                   ``/3/private/``; port 80 redirects to https
www.example.test   198.51.100.20   pages, no robots.txt; port 80 redirects
old.example.test   198.51.100.30   its certificate has expired
================  ===============  ================================================
"""

from __future__ import annotations

import contextlib
import datetime
import http.client
import http.server
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trustme

HOSTS = {
    "docs.example.test": "198.51.100.10",
    "www.example.test": "198.51.100.20",
    "old.example.test": "198.51.100.30",
}
CRAWL_DELAY_S = 0.2
CA = "{ca}"
"""Stands for the authority's file in the command lines."""

DOCS = {
    "index.html": "<a href=/3/>3</a>",
    "robots.txt": f"User-agent: *\nCrawl-delay: {CRAWL_DELAY_S}\nDisallow: /3/private/\n",
    "3/index.html": "<a href=library/>library</a> <a href=http://docs.example.test/3/a.html>a</a>"
    "<a href=private/secret.html>no</a> <a href=//www.example.test/>www</a>"
    "<a href=http://elsewhere.test/>out</a> <a href=https://old.example.test/>old</a>",
    "3/a.html": "<a href=./>up</a> <a href=gone.html>gone</a>",
    "3/library/index.html": "<a href=https://docs.example.test:443/3/a.html#part>a</a>",
    "3/private/secret.html": "nobody may read this",
}
WWW = {
    "index.html": "<a href=/about.html>about</a> <a href=https://docs.example.test/3/>docs</a>",
    "about.html": "<a href=http://www.example.test/>home</a>",
}


class Redirecting(http.server.BaseHTTPRequestHandler):
    """Port 80: every URL has moved to https."""

    def do_GET(self) -> None:
        self.send_response(301)
        self.send_header("Location", f"https://{self.headers['Host']}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def answer(query: bytes) -> tuple[str, bytes]:
    """The name in a DNS query, and the answer: an address for A, and nothing for other types."""
    labels, place = [], 12
    while query[place]:
        labels.append(query[place + 1 : place + 1 + query[place]].decode())
        place += 1 + query[place]
    name, question = ".".join(labels).lower(), query[12 : place + 5]
    (kind,) = struct.unpack("!H", query[place + 1 : place + 3])
    address = HOSTS.get(name)
    records = b""
    if address is not None and kind == 1:
        records = struct.pack("!HHHIH", 0xC00C, 1, 1, 60, 4) + socket.inet_aton(address)
    flags = 0x8580 if address is not None else 0x8583  # or no such domain
    head = query[:2] + struct.pack("!HHHHH", flags, 1, 1 if records else 0, 0, 0)
    return name, head + question + records


@contextlib.contextmanager
def names_answered(asked: list[str]) -> Iterator[None]:
    """A DNS server on 127.0.0.1, which the resolver of these namespaces asks."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 53))

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    query, client = sock.recvfrom(512)
                    name, packet = answer(query)
                    asked.append(name)
                    sock.sendto(packet, client)

        threading.Thread(target=serve, daemon=True).start()
        yield


def run(*command: str) -> None:
    """One command that must work."""
    subprocess.run(command, check=True, capture_output=True, timeout=60)


@contextlib.contextmanager
def host(
    name: str, pages: dict[str, str], authority: trustme.CA, folder: Path, expired: bool
) -> Iterator[str]:
    """One web server, on ports 80 and 443; where its control plane is."""
    site = folder / name
    for path, text in pages.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    leaf = authority.issue_cert(name, not_after=yesterday if expired else None)
    leaf.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    leaf.private_key_pem.write_to_path(folder / f"{name}.key")
    run("ip", "addr", "add", f"{HOSTS[name]}/32", "dev", "lo")
    with contextlib.ExitStack() as stack:
        plain = http.server.ThreadingHTTPServer((HOSTS[name], 80), Redirecting)
        stack.callback(plain.server_close)
        stack.callback(plain.shutdown)
        threading.Thread(target=plain.serve_forever, daemon=True).start()
        command = [sys.executable, "-m", "server", "--json", "--exit-with-parent", "--cache", ""]
        command += ["--listen", f"{HOSTS[name]}:443", "--any-address", "--site", f"dir:{site}"]
        command += ["--certificate", f"{folder}/{name}.pem", "--key", f"{folder}/{name}.key"]
        process = stack.enter_context(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        stack.callback(process.terminate)
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["control"]


def ledger(control: str) -> dict[str, Any]:
    """What a host was asked for since the last time."""
    name, _, port = control.rpartition(":")
    found = []
    for method, path in (("GET", "/ledger"), ("POST", "/reset")):
        connection = http.client.HTTPConnection(name, int(port), timeout=60)
        connection.request(method, path, headers={"X-Token": "any"})
        found.append(json.loads(connection.getresponse().read()))
        connection.close()
    return dict(found[0])


def main() -> None:
    """Build it, crawl it, report."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder, asked = Path(name), list[str]()
        (folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:30 attempts:5\n")
        run("mount", "--bind", str(folder / "resolv.conf"), "/etc/resolv.conf")
        stack.callback(run, "umount", "/etc/resolv.conf")
        run("ip", "link", "set", "lo", "up")
        stack.enter_context(names_answered(asked))
        authority = trustme.CA()
        authority.cert_pem.write_to_path(folder / "ca.pem")
        controls = {
            name: stack.enter_context(host(name, pages, authority, folder, "old" in name))
            for name, pages in zip(HOSTS, (DOCS, WWW, WWW), strict=True)
        }
        asked.clear()  # the servers have asked for their own names
        for line in sys.stdin:
            case = json.loads(line.replace(CA, f"{name}/ca.pem"))
            done = subprocess.run(
                [sys.executable, "-m", "crawlers", *case["command"]],
                capture_output=True, text=True, timeout=300, check=False,
                env=os.environ | case["env"],
            )  # fmt: skip
            found = {
                "status": done.returncode, "out": done.stdout, "errors": done.stderr,
                "asked": sorted(set(asked)),
                "ledgers": {name: ledger(control) for name, control in controls.items()},
            }  # fmt: skip
            asked.clear()
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
