"""Fixture servers, controlled over HTTP, and servers under test, which are not."""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import ssl
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import repeat
from pathlib import Path
from typing import Any, Self

import psutil

from bench import BenchError
from bench.machine import cpu, procfs
from bench.schema import Handshakes, Ledger
from bench.sides.process import Child, ProcessError
from bench.sides.protocol import Served

START_S = 180.0
"""The server crawls a directory of HTML itself before it serves it for the first time."""
CONTROL_S = 30.0
QUIET_S = 2.0
WARM_REQUESTS = 300
WARM_S = 0.2


class ServerError(BenchError):
    """The fixture server did not start or did not answer."""


@dataclass(frozen=True, slots=True)
class Tls:
    """What a server offers over TLS: version 1.3, with a key of ECDSA."""

    tickets: bool = True

    @property
    def words(self) -> str:
        """As records name it: ``TLS 1.3, ecdsa, tickets``."""
        tickets = "tickets" if self.tickets else "no tickets"
        return f"TLS 1.3, ecdsa, {tickets}"

    @property
    def arguments(self) -> list[str]:
        rest = [] if self.tickets else ["--no-tickets"]
        return ["--tls", "ecdsa", "--tls-version", "1.3", *rest]


class Server:
    """A running fixture server and its control plane.

    It ends with the harness, however that ends: its standard input is a pipe
    from here, and the kernel kills it with its parent.
    """

    def __init__(
        self,
        site: str,
        *,
        delay: str = "none",
        seed: int,
        cores: list[int],
        tls: Tls | None = None,
        options: Sequence[str] = (),
    ) -> None:
        """Start a server; call :meth:`ready` before anything else, or enter it as a context.

        With ``tls`` it speaks HTTPS, with a certificate of a throw-away authority.
        """
        token = secrets.token_hex(16)
        self.site = site
        self.digest: str | None = None
        self._headers = {"X-Token": token}
        arguments = ["-m", "server", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0"]
        arguments += ["--site", site, "--seed", str(seed), "--delay", delay]
        arguments += ["--json", "--exit-with-parent", *(tls.arguments if tls else ()), *options]
        self.child = Child("the fixture server", arguments, {"C10K_CONTROL_TOKEN": token})
        self.not_pinned: str | None = None
        self.cores = cores
        self._control: http.client.HTTPConnection | None = None

    def ready(self) -> None:
        """Wait until the server listens, and keep it on its processors from then on.

        Raises :class:`ServerError` when it does not come to that.
        """
        hello = self._hello()
        if self.cores:  # not sooner: many that start share all processors with their workers
            self.not_pinned = cpu.pin(self.pid, self.cores)
        host, _, port = hello["control"].rpartition(":")
        self._control = http.client.HTTPConnection(host, int(port), timeout=CONTROL_S)

    def _hello(self) -> dict[str, Any]:
        try:
            hello: dict[str, Any] = json.loads(self.child.receive(time.monotonic() + START_S))
        except (TimeoutError, ProcessError, ValueError) as error:
            self.child.abort()
            words = self.child.stderr_tail()
            self.child.close(0.0)
            last = f": {words.splitlines()[-1]}" if words else ""
            raise ServerError(f"{error}{last}") from None
        except BaseException:
            self.child.close(0.0)
            raise
        host, _, port = hello["listening"].rpartition(":")
        self.address: tuple[str, int] = host, int(port)
        self.prefix = f"{hello['scheme']}://{hello['listening']}"
        self.cafile: Path | None = Path(hello["tls"]["cafile"]) if hello["tls"] else None
        self.digest = hello["digest"]
        self.pages: int = hello["pages"]
        self.urls: int = hello["urls"]
        return hello

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def alive(self) -> bool:
        return self.child.process.poll() is None

    @property
    def listens(self) -> bool:
        """Whether the server accepts connections. One that is shutting down does not."""
        try:
            socket.create_connection(self.address, CONTROL_S).close()
        except OSError:
            return False
        return True

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call the control plane, with JSON both ways.

        Raises :class:`ServerError` unless it answers with status 200.
        """
        assert self._control is not None, "the server is not ready"
        data = None if body is None else json.dumps(body)
        headers = {**self._headers, "Content-Type": "application/json"} if data else self._headers
        try:
            self._control.request(method, path, data, headers)
            response = self._control.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._control.close()  # the next call may reach it again
            how = self.child.ending() if self.child.process.poll() is not None else str(error)
            raise ServerError(f"the fixture server's control plane: {how}") from None
        if response.status != 200:
            raise ServerError(
                f"the fixture server's control plane answered {path} with {response.status}"
            )
        answer: dict[str, Any] = json.loads(content)
        return answer

    def reset(self) -> None:
        """Zero the ledger, once the connections of the previous trial are closed."""
        self._wait_for_ends()
        self.ask("POST", "/reset", {"hold": 0})

    def _summary(self) -> dict[str, Any]:
        return self.ask("GET", "/ledger?summary=1")

    def _wait_for_ends(self) -> dict[str, Any]:
        """The ledger when all connections have ended, or none has for too long."""
        deadline = time.monotonic() + QUIET_S
        while (summary := self._summary())["connections_open"] and time.monotonic() < deadline:
            time.sleep(0.01)
        return summary

    def warm(self) -> None:
        """Request one page a few hundred times.

        Otherwise the first trial would run against cold code.
        """
        path = "/p/0" if self.site.startswith("list:") else "/"
        with closing(self.get(repeat(path, WARM_REQUESTS))) as answers:
            next(answers)
            until = time.monotonic() + WARM_S
            for _ in answers:
                if time.monotonic() > until:  # behind a delay each takes a while
                    break

    def get(self, paths: Iterable[str]) -> Generator[bytes, None, None]:
        """The bodies of these pages, one after the other on one connection.

        Raises :class:`ServerError`.
        """
        client = http.client.HTTPConnection(*self.address, timeout=CONTROL_S)
        if self.cafile is not None:
            context = ssl.create_default_context(cafile=str(self.cafile))
            client = http.client.HTTPSConnection(*self.address, timeout=CONTROL_S, context=context)
        try:
            for path in paths:
                client.request("GET", path)
                yield client.getresponse().read()
        except (OSError, http.client.HTTPException) as error:
            raise ServerError(f"the fixture server did not answer: {error}") from None
        finally:
            client.close()

    def ledger(self) -> Ledger:
        seen = self._summary()
        return Ledger(
            requests=seen["total"],
            distinct=seen["distinct"],
            repeated=seen["repeated"],
            connections_opened=seen["connections_opened"],
            peak_connections=seen["peak_connections"],
            peak_in_flight=seen["peak_in_flight"],
            requests_per_connection_max=max(map(int, seen["requests_per_connection"]), default=0),
            pipelined=seen["pipelined"],
            handshakes=Handshakes(**shakes) if (shakes := seen["handshakes"]) else None,
        )

    def ended(self) -> tuple[int, tuple[float, float] | None]:
        """How many connections are open, and when the first and the last others ended.

        The times are on the monotonic clock, which all processes of a machine share.
        """
        summary = self._wait_for_ends()
        ended = summary["ended_s"]
        return int(summary["connections_open"]), (ended[0], ended[1]) if ended else None

    def served(self) -> int:
        return int(self._summary()["total"])

    def cpu(self) -> tuple[float, float]:
        used = self.ask("GET", "/cpu")
        return used["user_s"], used["system_s"]

    def work_s(self) -> float:
        return float(self.ask("GET", "/cpu")["work_s"])

    def poll(self, on: bool) -> None:
        """Keep the server's processor awake from now on, or let it sleep again."""
        self.ask("POST", "/poll", {"on": on})

    def hold(self) -> None:
        self.ask("POST", "/hold", {"n": 0})

    def held(self) -> int:
        """How many answers wait at the barrier."""
        return int(self.ask("GET", "/hold")["held"])

    def release(self, per_s: float | None = None) -> None:
        """Send the answers that were held back: at once, or ``per_s`` each second."""
        self.ask("POST", "/release", {} if per_s is None else {"per_s": per_s})

    def stop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self.alive:
            self.child.process.terminate()
        self.child.close()

    def __enter__(self) -> Self:
        self.ready()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def authorities(file: Path, *servers: Server) -> str | None:
    """The authorities of these servers in one file; None without TLS.

    One file, so that the trial uses the context that the warm-up has made.
    """
    certificates = [server.cafile.read_bytes() for server in servers if server.cafile]
    if not certificates:
        return None
    file.write_bytes(b"".join(certificates))
    return str(file)


# --- servers under test ------------------------------------------------------------------


IDLE_S = 3600
"""How long a connection may be idle: longer than any trial, so that none is closed meanwhile."""


class ModelServer(Server):
    """A server under test: no control plane; at its end it says what it has served."""

    def __init__(
        self,
        name: str,
        site: str,
        seed: int,
        python: Sequence[str],
        options: Sequence[str],
        environment: Mapping[str, str],
    ) -> None:
        """Start it in the state of malloc that workers have; call :meth:`ready` next."""
        self.site = site
        self.digest = self._control = None
        arguments = ["-m", "bench.sides.settled", "server", "models", name, "--site", site]
        arguments += ["--listen", "127.0.0.1:0", "--seed", str(seed), "--json"]
        arguments += ["--exit-with-parent", "--limit", f"idle_s={IDLE_S}"]
        arguments += options
        self.child = Child(f"the server {name}", arguments, environment, python)
        self.not_pinned = None
        self.facts: dict[str, str | int] = {}

    def ready(self) -> None:
        hello = self._hello()
        self.facts = {"python": hello["python"], **hello["versions"]}

    def cpu(self) -> tuple[float, float]:
        own = psutil.Process(self.pid)
        times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
        return sum(process.user for process in times), sum(process.system for process in times)

    def page_faults(self) -> int:
        """Of its first process so far, without those that needed a disk."""
        words = (procfs.read(f"proc/{self.pid}/stat") or "").rpartition(")")[2].split()
        return int(words[7]) if len(words) > 7 else 0

    def finish(self) -> Served:
        """Stop it. Raises :class:`ServerError` unless it says what it has served.

        By the end of its input: a tool that runs it may keep signals for itself.
        """
        self.child.end_input()
        try:
            served = json.loads(self.child.receive(time.monotonic() + CONTROL_S))["served"]
        except (TimeoutError, ProcessError, ValueError) as error:
            raise ServerError(f"the server said nothing at its end: {error}") from None
        return Served(**{field.name: served[field.name] for field in fields(Served)})
