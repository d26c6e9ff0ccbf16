"""What a server is known to do otherwise than the conformance tests ask, and why.

The name of a test, perhaps with ``-tls`` or a part of its parameters, and the reason. Such a test
is expected to fail, and its passing is an error. A ``~`` leaves out a test that fails sometimes,
or whose client would wait for minutes. docs/reference/servers.md has the same reasons in a table.
"""

from __future__ import annotations

from typing import Final

ENDS: Final = "test_a_client_that_sends_no_more_gets_its_answer"
CLOSES: Final = "test_close_is_said_and_done"
REFUSES: Final = "test_what_breaks_a_rule_is_refused"
SLOW: Final = "test_a_slow_request_is_cut_and_delays_nobody"
STOPS: Final = "test_a_signal_finishes_what_is_in_flight_and_leaves_nothing"
IDLE: Final = "test_idle_connections_are_all_served"

ASYNCIO_TLS: Final = {
    f"{ENDS}-tls": "TLS ends both directions when one has ended: what is still to be sent is lost",
}
DROPS: Final = {STOPS: "drops a request that has not arrived whole when it stops"}
WAITS: Final = {SLOW: "no deadline for a request that arrives slowly"}
LOSES: Final = "a client that ends its stream loses what is still to be sent"
HALF: Final = {f"~{ENDS}": LOSES}  # unless the answer was quicker than its end

DIFFERS: Final[dict[str, dict[str, str]]] = {
    "threads_pool": {
        f"~{IDLE}": "32 threads serve 32 clients at once; others would wait for minutes"
    },
    "async_await": ASYNCIO_TLS,
    "async_await_to_thread": ASYNCIO_TLS,
    "async_await_pool": ASYNCIO_TLS,
    "asyncio_protocol": ASYNCIO_TLS,
    "uvloop": ASYNCIO_TLS,
    "uvloop_protocol": ASYNCIO_TLS,
    "trio": {f"{REFUSES}-tls": "over TLS, refuses without a goodbye (close_notify)"},
    "aiohttp_web": {
        **WAITS,
        **HALF,
        **DROPS,
        f"{REFUSES}": "refuses in HTTP/1.0, without Connection: close",
        CLOSES: "answers 400 if anything follows a request with Connection: close",
    },
    "uvicorn": {
        **WAITS,
        **HALF,
        **DROPS,
        f"{REFUSES}": "answers HTTP/2.0 as if it were HTTP/1.1",
    },
    "hypercorn": {
        **WAITS,
        **DROPS,
        f"{ENDS}-tls": LOSES,
        f"~{ENDS}-plain": LOSES,
        f"{REFUSES}": "answers HTTP/2.0, folded headers, and two lengths that are equal",
        CLOSES: "answers 400 if anything follows a request with Connection: close",
    },
    "granian": {
        **WAITS,
        **HALF,
        f"{REFUSES}": "answers no Host, two Hosts and two lengths that are equal",
        f"{CLOSES}[HTTP/1.0]": "closes after HTTP/1.0 without saying so, as the standard allows",
    },
    "gunicorn_gevent": {
        **WAITS,
        **DROPS,
        f"{REFUSES}": "resets the connection of a client that is still sending",
        f"{CLOSES}[x, Close]": "does not find close among other options of Connection",
    },
    "waitress": {
        **WAITS,
        **DROPS,
        f"{REFUSES}": "resets the same; answers no Host, two Hosts and folded headers",
        f"{CLOSES}[x, Close]": "does not find close among other options of Connection",
    },
}
DIFFERS["uvicorn_uvloop"] = DIFFERS["uvicorn"]
CUTS: Final = frozenset(name for name in DIFFERS if DIFFERS[name] is ASYNCIO_TLS)
"""Their TLS cuts a client that is still sending, and sometimes loses the refusal."""


def difference(name: str, wire: str, test: str) -> tuple[str, bool]:
    """Why a server fails a test, and whether always; ``test`` is its name with its parameters."""
    for pattern, reason in DIFFERS.get(name, {}).items():
        bare, _, part = pattern.strip("~]").partition("[")
        if test.partition("[")[0] in (bare, bare.removesuffix(f"-{wire}")) and part in test:
            return reason, pattern[0] != "~"
    return "", True
