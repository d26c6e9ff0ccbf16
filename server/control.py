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
           ``/stall`` ``{"at_s": S, "for_s": S}``, ``/shutdown``,
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
import json
import math
import re
import resource
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from aiohttp import web

from server.connection import Core
from server.delays import DelayError, parse_delay
from server.polling import Poller
from server.sites.faults import Faults, read_pages

SLOWEST, FASTEST = 0.001, 1e9
"""Answers per second that a paced release may have."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ControlPlane:
    """The handlers of the control plane.

    ``/shutdown`` calls ``stop`` shortly after its answer.
    """

    def __init__(
        self,
        core: Core,
        poller: Poller,
        seed: int,
        token: str | None,
        stop: Callable[[], None],
    ) -> None:
        self._core = core
        self._poller = poller
        self._seed = seed
        self._token = token
        self._stop = stop

    def application(self) -> web.Application:
        """The aiohttp application."""
        app = web.Application(middlewares=[self._guard])
        app.router.add_get("/ledger", self._ledger)
        app.router.add_post("/reset", self._reset)
        app.router.add_get("/hold", self._held)
        app.router.add_post("/hold", self._hold)
        app.router.add_post("/release", self._release)
        app.router.add_post("/stall", self._stall)
        if isinstance(self._core.site, Faults):
            app.router.add_post("/faults", self._faults)
        app.router.add_get("/cpu", self._cpu)
        app.router.add_get("/poll", self._polls)
        app.router.add_post("/poll", self._poll)
        app.router.add_get("/site", self._site)
        app.router.add_post("/shutdown", self._shutdown)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check the token; turn every error into JSON."""
        given = request.headers.get("X-Token")
        if self._token is not None:
            if not hmac.compare_digest(_encoded(given or ""), _encoded(self._token)):
                return _error(401, "this control plane needs the header X-Token")
        elif not _is_number_or_localhost(request.host):
            return _error(403, f"call this control plane by its address, not as {request.host!r}")
        elif given is None and request.method not in ("GET", "HEAD"):
            return _error(403, f"a {request.method} needs the header X-Token, with any value")
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _error(error.status, f"{request.method} {request.path}: {error.reason}")
        except web.RequestPayloadError as error:
            return _error(400, f"the body cannot be read: {error}")
        except ValueError as error:
            return _error(400, str(error))

    async def _ledger(self, request: web.Request) -> web.Response:
        return web.json_response(self._core.ledger.summary(not _wants_summary(request)))

    async def _reset(self, request: web.Request) -> web.Response:
        body = await _body(request, "delay", "hold")
        behaviour = self._core.behaviour
        # Read everything first: a bad reset changes nothing.
        hold = _whole(body, "hold") if "hold" in body else None
        delay = behaviour.delay
        if "delay" in body:
            if not isinstance(body["delay"], str):
                raise DelayError("delay must be a string such as fixed:50")
            delay = parse_delay(body["delay"], self._seed)
        behaviour.stall(0, 0)
        if hold is not None:
            behaviour.release()
        behaviour.delay = delay
        self._core.ledger.reset()
        if hold:
            behaviour.hold(hold)
        return web.json_response({})

    def _hold_state(self) -> web.Response:
        behaviour = self._core.behaviour
        return web.json_response(
            {
                "armed": behaviour.armed,
                "in_flight": self._core.ledger.in_flight,
                "held": behaviour.held,
                "connections": len(self._core.ledger.connections),
            }
        )

    async def _held(self, _: web.Request) -> web.Response:
        return self._hold_state()

    async def _hold(self, request: web.Request) -> web.Response:
        body = await _body(request, "n")
        self._core.behaviour.hold(_whole(body, "n"))
        return self._hold_state()

    async def _release(self, request: web.Request) -> web.Response:
        body = await _body(request, "per_s")
        per_s = _rate(body, "per_s") if "per_s" in body else math.inf
        return web.json_response({"released": self._core.behaviour.release(per_s)})

    async def _stall(self, request: web.Request) -> web.Response:
        body = await _body(request, "at_s", "for_s")
        self._core.behaviour.stall(_seconds(body, "at_s"), _seconds(body, "for_s"))
        return web.json_response({})

    async def _faults(self, request: web.Request) -> web.Response:
        pages = read_pages((await _body(request, "pages")).get("pages"))
        cast("Faults", self._core.site).load(pages)
        self._core.ledger.reset()
        return web.json_response({})

    async def _cpu(self, _: web.Request) -> web.Response:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return web.json_response(
            {
                "user_s": used.ru_utime,
                "system_s": used.ru_stime,
                "work_s": used.ru_utime + used.ru_stime - self._poller.polled_s,
                "polling": self._poller.polling,
                "wall_s": time.monotonic(),
            }
        )

    def _poll_state(self) -> web.Response:
        return web.json_response({"on": self._poller.on, "polling": self._poller.polling})

    async def _polls(self, _: web.Request) -> web.Response:
        return self._poll_state()

    async def _poll(self, request: web.Request) -> web.Response:
        on = (await _body(request, "on")).get("on")
        if not isinstance(on, bool):
            raise ValueError("on must be true or false")
        if on:
            await self._poller.start()
        else:
            self._poller.stop()
        return self._poll_state()

    async def _site(self, request: web.Request) -> web.Response:
        site = self._core.site
        answer: dict[str, Any] = {
            "site": site.spec,
            "digest": site.digest,
            "pages": site.pages,
            "urls": site.urls,
            "bytes": site.page_bytes,
        }
        if not _wants_summary(request):
            answer["expected"] = {
                key: [status, f"{checksum:08x}"]
                for key, (status, checksum) in site.expected().items()
            }
        return web.json_response(answer)

    async def _shutdown(self, request: web.Request) -> web.Response:
        self._core.loop.call_later(0.05, self._stop)
        return web.json_response({})


def _error(status: int, text: str) -> web.Response:
    return web.json_response({"error": text}, status=status)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _is_number_or_localhost(host: str) -> bool:
    """Whether the name in a Host header cannot be one that another site gave to this address."""
    name = host.rpartition(":")[0] if re.search(r":\d*$", host) else host
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return name.lower() == "localhost"
    return True


def _wants_summary(request: web.Request) -> bool:
    return request.query.get("summary", "0") not in ("", "0")


async def _body(request: web.Request, *known: str) -> dict[str, Any]:
    """The JSON object in the body of a request; no body is an empty object."""
    content = await request.read()
    try:
        body = json.loads(content) if content.strip() else {}
    except (ValueError, RecursionError):
        raise ValueError("the body is not JSON") from None
    if not isinstance(body, dict):
        raise ValueError("the body must be a JSON object")
    unknown = [name for name in body if name not in known]
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}; known: {', '.join(known)}")
    return body


def _whole(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number")
    return value


def _rate(body: dict[str, Any], name: str) -> float:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ValueError(f"{name} must be a number above 0")
    if not SLOWEST <= value <= FASTEST:
        raise ValueError(f"{name} must be from {SLOWEST:g} to {FASTEST:g}")
    return float(value)


def _seconds(body: dict[str, Any], name: str) -> float:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number of seconds")
    if not 0 <= value <= 3600:
        raise ValueError(f"{name} must be from 0 to 3600 seconds")
    return float(value)
