"""``python -m tools.server_speed``: is the fixture server fast enough to measure with?

This compares our server with nginx. Both serve the same 2 KB page from the same
core, and wrk requests it from another core over keep-alive connections. Rounds
alternate, so drift of the machine hits both. Then it opens many idle connections
to our server and reads how much memory they take. It prints a table for
docs/decisions.md. The exit status is 1 if a tool is missing or a server does not
start.

With ``--tls`` both servers use the same certificate, and a second table has a
new connection for each page, with a full handshake.

The comparison cannot be quite equal: nginx sends about 150 bytes more in each
head (Server, Date, Last-Modified, ETag, Accept-Ranges), checks the age of its
cached file, and has many features that our server lacks.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.request import urlopen

# A usual nginx setup for benchmarks of small static files.
NGINX = """\
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout 600s;
    keepalive_requests 1000000000;
    open_file_cache max=1000 inactive=600s;
    open_file_cache_valid 600s;
    types {{ text/html html; }}
    default_type text/html;
    charset utf-8;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{ listen 127.0.0.1:{port} {listen}; root {folder}/www; {tls} }}
}}
"""
NGINX_SAID = "nginx: 1 worker, sendfile, tcp_nopush, open_file_cache 600 s, access_log off"


NGINX_TLS = """\
        ssl_certificate {folder}/certificate.pem;
        ssl_certificate_key {folder}/key.pem;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_session_cache none;
        ssl_session_tickets on;
"""


class SpeedError(Exception):
    """The comparison failed; the message says why."""


@dataclass
class Contender:
    """A server under test, and its rounds so far."""

    name: str
    url: str
    pid: int
    rates: list[float] = field(default_factory=list)  # requests per second
    cpu_us: list[float] = field(default_factory=list)  # of the server, per request


@contextlib.contextmanager
def pinned(core: int) -> Iterator[None]:
    """Children started inside run on this core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def child(command: list[str], core: int) -> Iterator[subprocess.Popen[str]]:
    """A server process on a core, which always ends with the block."""
    with pinned(core):
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    with process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@dataclass(frozen=True)
class Certificate:
    """A folder with a certificate and key for both servers, and what a client has to trust."""

    folder: Path

    def trusting(self) -> ssl.SSLContext:
        """A client's context."""
        return ssl.create_default_context(cafile=str(self.folder / "authority.pem"))


@contextlib.contextmanager
def certified(kind: str | None) -> Iterator[Certificate | None]:
    """A certificate for the length of a ``with``, if TLS is wanted."""
    if kind is None:
        yield None
        return
    import trustme

    key_type = trustme.KeyType.ECDSA if kind == "ecdsa" else trustme.KeyType.RSA
    with tempfile.TemporaryDirectory() as name:
        made = Certificate(Path(name))
        authority = trustme.CA(key_type=key_type)
        leaf = authority.issue_cert("127.0.0.1", key_type=key_type)
        authority.cert_pem.write_to_path(made.folder / "authority.pem")
        leaf.cert_chain_pems[0].write_to_path(made.folder / "certificate.pem")
        leaf.private_key_pem.write_to_path(made.folder / "key.pem")
        yield made


@contextlib.contextmanager
def ours(core: int, certificate: Certificate | None) -> Iterator[Contender]:
    """Our server on a core."""
    command = [sys.executable, "-m", "server", "--json", "--exit-with-parent"]
    command += ["--site", "tree:100:5:2048"]
    if certificate is not None:
        folder = certificate.folder
        command += ["--certificate", f"{folder}/certificate.pem", "--key", f"{folder}/key.pem"]
    with child(command, core) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            _, errors = process.communicate(timeout=10)
            raise SpeedError(f"our server did not start: {errors.strip()}")
        ready = json.loads(line)
        yield Contender("ours", f"{ready['scheme']}://{ready['listening']}/", process.pid)


@contextlib.contextmanager
def nginx(
    program: str, core: int, page: bytes, certificate: Certificate | None
) -> Iterator[Contender]:
    """nginx on a core, with the page as its index."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # the worker may run as another user
        (folder / "www").mkdir(mode=0o755)
        (folder / "www" / "index.html").write_bytes(page)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = int(probe.getsockname()[1])
        config = folder / "nginx.conf"
        listen, tls = "backlog=4096", ""
        if certificate is not None:
            listen, tls = "ssl backlog=4096", NGINX_TLS.format(folder=certificate.folder)
        config.write_text(NGINX.format(folder=folder, port=port, listen=listen, tls=tls))
        url = f"{'http' if certificate is None else 'https'}://127.0.0.1:{port}/index.html"
        with child([program, "-p", name, "-c", str(config)], core) as process:
            until = time.monotonic() + 10
            while True:
                try:
                    same = fetch(url, certificate) == page
                    break
                except OSError as error:
                    if process.poll() is not None or time.monotonic() > until:
                        raise SpeedError(f"nginx did not start: {error}") from None
                    time.sleep(0.05)
            if not same:
                raise SpeedError("nginx does not serve the page it was given")
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            yield Contender("nginx", url, int(children[0]))


def fetch(url: str, certificate: Certificate | None) -> bytes:
    """One page."""
    context = None if certificate is None else certificate.trusting()
    with urlopen(url, timeout=5, context=context) as answer:  # nosec B310
        body: bytes = answer.read()
    return body


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(
    wrk: str, contender: Contender, core: int, connections: int, seconds: int, *options: str
) -> None:
    """One round of wrk; appends to the contender."""
    before = cpu_seconds(contender.pid)
    with pinned(core):
        done = subprocess.run(
            [wrk, "-t1", f"-c{connections}", f"-d{seconds}s", *options, contender.url],
            capture_output=True, text=True, timeout=seconds + 30, check=False,
        )  # fmt: skip
    used = cpu_seconds(contender.pid) - before
    count = re.search(r"(\d+) requests in", done.stdout)
    rate = re.search(r"Requests/sec:\s*([\d.]+)", done.stdout)
    if done.returncode or not count or not rate:
        raise SpeedError(f"wrk failed: {done.stderr.strip() or done.stdout.strip()}")
    if "Socket errors" in done.stdout or "Non-2xx" in done.stdout:
        raise SpeedError(f"wrk met errors at {contender.name}: {done.stdout.strip()}")
    contender.rates.append(float(rate[1]))
    contender.cpu_us.append(used / int(count[1]) * 1e6)


def resident(pid: int) -> dict[str, int]:
    """Bytes of ``VmRSS`` and ``RssAnon`` of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return {
        name: int(amount) * 1024
        for name, amount in re.findall(r"^(VmRSS|RssAnon):\s*(\d+) kB", status, re.MULTILINE)
    }


def idle_memory(
    contender: Contender, connections: int, certificate: Certificate | None
) -> list[tuple[str, dict[str, int]]]:
    """Memory of a server: without connections, with them open, after a request on each."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard != resource.RLIM_INFINITY and hard < connections + 100:
        raise SpeedError(
            f"{connections} connections need that many descriptors and the limit is {hard}: "
            "raise it (ulimit -Hn) or take fewer with --idle"
        )
    host, _, port = contender.url.partition("://")[2].rstrip("/").partition(":")
    context = None if certificate is None else certificate.trusting()

    def connect() -> socket.socket:
        sock = socket.create_connection((host, int(port)), timeout=10)
        return sock if context is None else context.wrap_socket(sock, server_hostname=host)

    steps = [("no connection", resident(contender.pid))]
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(connect()) for _ in range(connections)]
        time.sleep(0.5)  # the last ones are still in the accept queue
        steps.append((f"{connections:,} open, never used", resident(contender.pid)))
        for sock in sockets:
            sock.sendall(f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        for sock in sockets:
            if not sock.recv(65536).startswith(b"HTTP/1.1 200 "):
                raise SpeedError("our server did not answer on every idle connection")
        steps.append((f"{connections:,} open, one request each", resident(contender.pid)))
    return steps


def print_speed(contenders: list[Contender], what: str) -> None:
    """Print the table of the comparison."""
    print(f"\n{what}, median\n{NGINX_SAID}\n")
    print("| server | requests/s | least | most | server CPU µs/request |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for one in contenders:
        print(
            f"| {one.name} | {statistics.median(one.rates):,.0f} | {min(one.rates):,.0f} | "
            f"{max(one.rates):,.0f} | {statistics.median(one.cpu_us):.2f} |"
        )
    first, second = contenders
    ratios = [a / b for a, b in zip(first.rates, second.rates, strict=True)]
    work = [b / a for a, b in zip(first.cpu_us, second.cpu_us, strict=True)]
    print(
        f"\nratio {first.name}/{second.name}, round by round: median "
        f"{statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}"
        f"\nrequests per second of CPU, {first.name}/{second.name}: median "
        f"{statistics.median(work):.2f}, from {min(work):.2f} to {max(work):.2f} (steadier than "
        "the ratio above on a busy machine)"
    )


def main() -> int:
    """Entry point; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.server_speed", description=(__doc__ or "").partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5, help="for each server (default: 5)")
    parser.add_argument("--seconds", type=int, default=4, help="of each round (default: 4)")
    parser.add_argument("--connections", type=int, default=64, help="of wrk (default: 64)")
    parser.add_argument("--idle", type=int, default=10_000, help="idle connections to open "
        "afterwards, 0 for none (default: 10000)")  # fmt: skip
    parser.add_argument("--tls", choices=("ecdsa", "rsa"), help="compare over TLS, with this "
        "kind of key")  # fmt: skip
    options = parser.parse_args()
    if min(options.rounds, options.seconds, options.connections) < 1 or options.idle < 0:
        parser.error("rounds, seconds and connections are at least 1, idle at least 0")
    try:
        run(options)
    except SpeedError as error:
        print(f"python -m tools.server_speed: {error}", file=sys.stderr)
        return 1
    return 0


def run(options: argparse.Namespace) -> None:
    """Start both, measure in turn, print."""
    wrk, program = shutil.which("wrk"), shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    for name, found in (("wrk", wrk), ("nginx", program)):
        if found is None:
            raise SpeedError(f"{name} is not installed (Debian: apt install {name})")
    assert wrk is not None
    assert program is not None
    cores = sorted(os.sched_getaffinity(0))
    print(f"servers on core {cores[0]}, wrk on core {cores[-1]}", flush=True)
    if len(cores) == 1:
        print("only one core: wrk takes its time from the server, the ratio means little")
    with contextlib.ExitStack() as stack:
        certificate = stack.enter_context(certified(options.tls))
        compare(wrk, program, cores, options, certificate)
        if options.idle:
            show_idle(cores[0], options.idle, certificate)


def compare(
    wrk: str,
    program: str,
    cores: list[int],
    options: argparse.Namespace,
    certificate: Certificate | None,
) -> None:
    """Let wrk load both in alternating rounds, and print what it found."""
    what = f"{options.connections} connections, {options.rounds} x {options.seconds} s each"
    over = "" if certificate is None else f" over TLS ({options.tls})"
    contests: dict[str, list[str]] = {f"2 KB page{over}, keep-alive": []}
    if certificate is not None:
        contests[f"2 KB page{over}, a full handshake each"] = ["-H", "Connection: close"]
    with ours(cores[0], certificate) as mine:
        page = fetch(mine.url, certificate)
        with nginx(program, cores[0], page, certificate) as other:
            for name, more in contests.items():
                pair = [replace(one, rates=[], cpu_us=[]) for one in (mine, other)]
                for number in range(options.rounds):
                    # Alternate which one goes first.
                    for one in pair if number % 2 == 0 else reversed(pair):
                        measure(wrk, one, cores[-1], options.connections, options.seconds, *more)
                        said = f"  round {number + 1} {one.name}: {one.rates[-1]:,.0f}/s"
                        print(said, flush=True)
                print_speed(pair, f"{name}, {what}")


def show_idle(core: int, connections: int, certificate: Certificate | None) -> None:
    """Print the memory of idle connections."""
    with ours(core, certificate) as mine:  # a fresh one, without memory left over from wrk
        steps = idle_memory(mine, connections, certificate)
    print("\n| our server's memory | RSS MB | of it anonymous | bytes per connection |")
    print("| --- | ---: | ---: | ---: |")
    base = steps[0][1]["VmRSS"]
    for text, held in steps:
        each = "" if text == "no connection" else f"{(held['VmRSS'] - base) / connections:,.0f}"
        print(f"| {text} | {held['VmRSS'] / 1e6:.1f} | {held['RssAnon'] / 1e6:.1f} | {each} |")


if __name__ == "__main__":
    sys.exit(main())
