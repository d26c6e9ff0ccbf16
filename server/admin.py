"""The control plane: JSON over HTTP on a port of its own.

It shares the event loop with the fixture server, so what is asked here is
consistent with what was served; a question during a trial costs the server's
processor, so ask little. With a token every call needs the header ``X-Token``.

=========  ==============================================================
GET        ``/ledger`` (``?summary=1`` without the counts per target),
           ``/hold``, ``/cpu``, ``/site`` (``?summary=1`` likewise)
POST       ``/reset`` ``{"delay": SPEC, "hold": N}``, ``/hold`` ``{"n": N}``,
           ``/release`` ``{"per_s": N}`` (all at once without it),
           ``/stall`` ``{"at_s": S, "for_s": S}``, ``/shutdown``,
           ``/faults`` ``{"pages": [...]}`` (a ``faults:`` site only: see
           :class:`server.faults.Page`)
=========  ==============================================================

Errors are ``{"error": TEXT}`` with status 400 (the request), 401 (the token),
404 or 405.
"""

from __future__ import annotations

import hmac
import json
import math
import resource
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from aiohttp import web

from server.behaviour import DelayError, parse_delay
from server.faults import Faults, read_pages
from server.protocol import Core

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Admin:
    """The handlers of the control plane.

    ``stop`` is called once by ``/shutdown``, after its answer is under way.
    """

    def __init__(self, core: Core, seed: int, token: str | None, stop: Callable[[], None]) -> None:
        self._core = core
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
        app.router.add_get("/site", self._site)
        app.router.add_post("/shutdown", self._shutdown)
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Check the token; turn every error into JSON."""
        if self._token is not None:
            given = request.headers.get("X-Token", "")
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                return _error(401, "this control plane needs the header X-Token")
        try:
            return await handler(request)
        except web.HTTPException as error:
            return _error(error.status, f"{request.method} {request.path}: {error.reason}")
        except ValueError as error:
            return _error(400, str(error))

    async def _ledger(self, request: web.Request) -> web.Response:
        return web.json_response(self._core.ledger.summary(not _wants_summary(request)))

    async def _reset(self, request: web.Request) -> web.Response:
        body = await _body(request, "delay", "hold")
        behaviour = self._core.behaviour
        # Read all before changing any: a bad reset changes nothing.
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
            {"user_s": used.ru_utime, "system_s": used.ru_stime, "wall_s": time.monotonic()}
        )

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


def _wants_summary(request: web.Request) -> bool:
    return request.query.get("summary", "0") not in ("", "0")


async def _body(request: web.Request, *known: str) -> dict[str, Any]:
    """The JSON object of a request; no body is an empty one."""
    text = await request.text()
    try:
        body = json.loads(text) if text.strip() else {}
    except ValueError:
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
    return float(value)


def _seconds(body: dict[str, Any], name: str) -> float:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number of seconds")
    if not (math.isfinite(value) and 0 <= value <= 3600):
        raise ValueError(f"{name} must be from 0 to 3600 seconds")
    return float(value)
