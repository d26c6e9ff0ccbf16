"""The control plane: JSON over HTTP on a port of its own.

It shares the event loop with the pages, so its answers agree with what was
served. A call during a trial takes processor time from the server, so make few.

With a token every call needs it in the header ``X-Token``. Without one, a POST
needs the header all the same, with any value, and the address must be a number
or ``localhost``. A browser lets no foreign web page send such a request, so no
page can control a server that you started by hand.

=========  ==============================================================
GET        ``/ledger`` (``?summary=1`` without the counts per target),
           ``/hold``, ``/cpu``, ``/poll``, ``/site`` (``?summary=1``
           likewise)
POST       ``/reset`` ``{"delay": SPEC, "hold": N}``, ``/hold`` ``{"n": N}``,
           ``/release`` ``{"per_s": N}`` (all at once without it),
           ``/poll`` ``{"on": true}`` (see :mod:`server.polling`),
           ``/faults`` ``{"pages": [...]}`` (a ``faults:`` site only: see
           :class:`server.sites.fault_kinds.Page`)
=========  ==============================================================

``/cpu`` is the processor time of this process in seconds (``user_s``,
``system_s``), how much of their sum was spent on work rather than on polling
(``work_s``), whether it polls right now (``polling``), and a clock to relate
them to (``wall_s``).

An error is ``{"error": TEXT}`` with status 400 (a bad request), 401 (a wrong
token), 403 (perhaps sent by a web page), 404, 405 or 413.
"""

from __future__ import annotations

import hmac
import ipaddress
import math
import re
import resource
import time
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, cast

from server.calls import Answer, Call
from server.connection import Core
from server.delays import DelayError, parse_delay
from server.polling import Poller
from server.sites.faults import Faults, read_pages

SLOWEST, FASTEST = 0.001, 1e9
"""Answers per second that a paced release may have."""

Handler = Callable[[Call], Mapping[str, object] | Awaitable[Mapping[str, object]]]


class ControlPlane:
    """The handlers of the control plane."""

    def __init__(self, core: Core, poller: Poller, seed: int, token: str | None) -> None:
        self._core = core
        self._poller = poller
        self._seed = seed
        self._token = token
        self._handlers: dict[tuple[str, str], Handler] = {
            ("GET", "/ledger"): self._ledger,
            ("POST", "/reset"): self._reset,
            ("GET", "/hold"): self._held,
            ("POST", "/hold"): self._hold,
            ("POST", "/release"): self._release,
            ("GET", "/cpu"): self._cpu,
            ("GET", "/poll"): self._polls,
            ("POST", "/poll"): self._poll,
            ("GET", "/site"): self._site,
        }
        if isinstance(core.site, Faults):
            self._handlers["POST", "/faults"] = self._faults

    async def answer(self, call: Call) -> Answer:
        """Check the token, and do what a call wants; every error becomes JSON."""
        given = call.headers.get(b"x-token")
        host = call.headers.get(b"host", b"").decode("latin-1")
        if self._token is not None:
            if not hmac.compare_digest(given or b"", self._token.encode()):
                why = "this control plane needs the header X-Token"
                return _error(HTTPStatus.UNAUTHORIZED, why)
        elif not _is_number_or_localhost(host):
            why = f"call this control plane by its address, not as {host!r}"
            return _error(HTTPStatus.FORBIDDEN, why)
        elif given is None and call.method != "GET":
            why = f"a {call.method} needs the header X-Token, with any value"
            return _error(HTTPStatus.FORBIDDEN, why)
        handler = self._handlers.get((call.method, call.path))
        if handler is None:
            known = any(call.path == path for _, path in self._handlers)
            status = HTTPStatus.METHOD_NOT_ALLOWED if known else HTTPStatus.NOT_FOUND
            return _error(status, f"{call.method} {call.path}: {status.phrase}")
        try:
            done = handler(call)
            return HTTPStatus.OK, done if isinstance(done, Mapping) else await done
        except ValueError as error:
            return _error(HTTPStatus.BAD_REQUEST, str(error))

    def _ledger(self, call: Call) -> Mapping[str, object]:
        return self._core.ledger.summary(not _wants_summary(call))

    def _reset(self, call: Call) -> dict[str, Any]:
        body = call.body("delay", "hold")
        behaviour = self._core.behaviour
        # Read everything first: a bad reset changes nothing.
        hold = _whole(body, "hold") if "hold" in body else None
        delay = behaviour.delay
        if "delay" in body:
            if not isinstance(body["delay"], str):
                raise DelayError("delay must be a string such as fixed:50")
            delay = parse_delay(body["delay"], self._seed)
        if hold is not None:
            behaviour.release()
        behaviour.delay = delay
        self._core.ledger.reset()
        if hold:
            behaviour.hold(hold)
        return {}

    def _held(self, _: Call) -> dict[str, Any]:
        behaviour = self._core.behaviour
        return {
            "armed": behaviour.armed,
            "in_flight": self._core.ledger.in_flight,
            "held": behaviour.held,
            "connections": len(self._core.ledger.connections),
        }

    def _hold(self, call: Call) -> dict[str, Any]:
        body = call.body("n")
        self._core.behaviour.hold(_whole(body, "n"))
        return self._held(call)

    def _release(self, call: Call) -> dict[str, Any]:
        body = call.body("per_s")
        per_s = _number(body, "per_s", SLOWEST, FASTEST) if "per_s" in body else math.inf
        return {"released": self._core.behaviour.release(per_s)}

    def _faults(self, call: Call) -> dict[str, Any]:
        pages = read_pages(call.body("pages").get("pages"))
        cast("Faults", self._core.site).load(pages)
        self._core.ledger.reset()
        return {}

    def _cpu(self, _: Call) -> dict[str, Any]:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "user_s": used.ru_utime,
            "system_s": used.ru_stime,
            "work_s": used.ru_utime + used.ru_stime - self._poller.polled_s,
            "polling": self._poller.polling,
            "wall_s": time.monotonic(),
        }

    def _polls(self, _: Call) -> dict[str, Any]:
        return {"on": self._poller.on, "polling": self._poller.polling}

    async def _poll(self, call: Call) -> dict[str, Any]:
        on = call.body("on").get("on")
        if not isinstance(on, bool):
            raise ValueError("on must be true or false")
        if on:
            await self._poller.start()
        else:
            self._poller.stop()
        return self._polls(call)

    def _site(self, call: Call) -> dict[str, object]:
        site = self._core.site
        answer = site.facts()
        if not _wants_summary(call):
            answer["expected"] = {
                key: [status, f"{checksum:08x}"]
                for key, (status, checksum) in site.expected().items()
            }
        return answer


def _error(status: HTTPStatus, text: str) -> Answer:
    return status, {"error": text}


def _is_number_or_localhost(host: str) -> bool:
    """Whether the name in a Host header cannot be one that another site gave to this address."""
    name = host.rpartition(":")[0] if re.search(r":\d*$", host) else host
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return name.lower() == "localhost"
    return True


def _wants_summary(call: Call) -> bool:
    return call.query.get("summary", ["0"])[-1] != "0"


def _whole(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number")
    return value


def _number(body: dict[str, Any], name: str, least: float, most: float) -> float:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}")
    return float(value)
