"""The outcome of a crawl, from the graph alone: this uses no code of the crawlers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin
from zlib import crc32

from server.sites.fault_kinds import ENCRYPTED, FAULTS, Page
from server.sites.site import NOT_FOUND_BODY
from tests.torture.cases import AWAY, Case

ERRORS = {
    **dict.fromkeys(("silent", "stall", "drip"), "timeout"),
    **dict.fromkeys(("reset_before", "reset_in_head", "reset_in_body"), "reset"),
    **dict.fromkeys(
        ("close_before", "close_in_head", "close_in_body", "close_in_chunks"), "closed"
    ),
    **dict.fromkeys(("bad_chunk", "bad_status_line", "bad_length", "interim_storm"), "protocol"),
    **dict.fromkeys(("header_bomb", "endless_head", "endless_body"), "too_large"),
    **dict.fromkeys(("close_in_chunks", "cut_in_body", "cut_in_chunks", "torn_record"), "closed"),
    "cut_to_close": "truncated",
    "broken_record": "broken_record",
}
"""The error kind of each fault; kinds that are missing here are read as pages."""

PORTS = {
    "refusing": "refused",
    "silent": "timeout",
    "untrusted": "untrusted",
    "selfmade": "self_signed",
    "expired": "expired",
    "elsewhere": "wrong_host",
    "old": "tls_version",
    "plain": "not_tls",
    "cut": "handshake",
}
"""The error kind of each odd port of a site."""

RETRIED = frozenset({"timeout", "reset", "closed", "refused", "handshake", "truncated"})
CODED = frozenset({"bomb"})


@dataclass(frozen=True)
class Row:
    """The outcome of one URL; ``checksum`` only if there is a status."""

    status: int | None
    error: str | None = None
    redirect: str | None = None
    checksum: int | None = None


@dataclass(frozen=True)
class Outcome:
    """The outcome of a crawl. ``requests`` has the least and most requests for each path."""

    rows: dict[str, Row]
    retries: int
    requests: dict[str, tuple[int, int]]

    def as_reported(self, prefix: str) -> dict[str, Any]:
        """The outcome in the form of the worker's report."""
        rows = self.rows
        statuses = [row.status for row in rows.values() if row.status is not None]
        errors = [row.error for row in rows.values() if row.error is not None]
        return {
            "rows": {
                url: [row.status, row.error, row.redirect, row.checksum]
                for url, row in sorted(rows.items())
            },
            "pages": statuses.count(200),
            "redirects": sum(
                row.redirect is not None for row in rows.values() if row.status is not None
            ),
            "retries": self.retries,
            "statuses": {str(status): statuses.count(status) for status in sorted(set(statuses))},
            "errors": {kind: errors.count(kind) for kind in sorted(set(errors))},
            "digest": _digest(rows, prefix),
            "stopped": None,
            "left": 0,
        }


def _digest(rows: dict[str, Row], prefix: str) -> str:
    lines = []
    for url, row in rows.items():
        key = url.removeprefix(prefix) if url.startswith(prefix + "/") else url
        what = f"{row.error} -" if row.status is None else f"{row.status} {row.checksum:08x}"
        lines.append((key, f"{key} {what}\n"))
    return hashlib.sha256("".join(line for _, line in sorted(lines)).encode()).hexdigest()


def expected(case: Case, hello: dict[str, Any], hidden: frozenset[str] = frozenset()) -> Outcome:
    """The report that every backend must give on a case and the server that sent ``hello``.

    ``hidden`` has the error kinds that its library hides: such a page looks whole.
    """
    prefix = f"{hello['scheme']}://{hello['listening']}"
    scope = [prefix, *(f"{hello['scheme']}://{hello[name]}" for name in case.ports)]
    inside = tuple(f"{origin}/" for origin in scope)
    site = {f"{prefix}{page.path}": page for page in case.pages}
    best = {f"{origin}/": case.max_redirects for origin in scope}
    rows: dict[str, Row] = {}
    tries: dict[str, int] = {}
    queue = list(best)
    while queue:
        url = queue.pop()
        row, links, tries[url] = _fetch(url, site.get(url), case, hello, hidden)
        rows[url] = row
        offers = [(urljoin(url, link), case.max_redirects) for link in links]
        if row.redirect is not None:
            offers.append((row.redirect, best[url] - 1))
        for target, budget in offers:
            if target.startswith(inside) and budget >= 0 and budget > best.get(target, -1):
                best[target] = budget
                queue.append(target)
    for url, row in rows.items():
        target = row.redirect or ""
        if best[url] == 0 and target.startswith(inside) and target not in rows:
            rows[url] = replace(row, error="too_many_redirects")
    for url in rows:
        if _leads_back(url, rows):
            rows[url] = replace(rows[url], error="redirect_loop")
    requests = {}
    for url in rows:
        if url.startswith(f"{prefix}/"):
            # If the connection was used before, one end without an answer does not count.
            free = url in site and site[url].kind in ("reset_before", "close_before")
            requests[url.removeprefix(prefix)] = (tries[url], tries[url] + free)
    return Outcome(rows, sum(tries.values()) - len(tries), requests)


def _fetch(
    url: str, page: Page | None, case: Case, hello: dict[str, Any], hidden: frozenset[str]
) -> tuple[Row, tuple[str, ...], int]:
    """The outcome of one URL, its links, and the number of tries."""
    for name, kind in PORTS.items():
        if name in hello and url.startswith(f"{hello['scheme']}://{hello[name]}/"):
            return Row(None, kind), (), case.max_tries if kind in RETRIED else 1
    if page is None:
        return Row(404, checksum=crc32(NOT_FOUND_BODY)), (), 1
    tries = 1
    error = ERRORS.get(page.kind)
    if error is not None and error not in hidden:
        recovers = error in RETRIED and 0 < page.times < case.max_tries
        if not recovers:
            return Row(None, error), (), case.max_tries if error in RETRIED else 1
        page, tries = replace(page, kind="page"), page.times + 1
    if page.kind == "status":
        return Row(page.status, checksum=crc32(b"not now\n")), (), 1
    if page.kind == "redirect":
        return _redirect(url, page, hello), (), 1
    if page.kind in CODED:
        return Row(200, "coded", checksum=crc32(page.body)), (), tries
    return Row(200, checksum=crc32(page.body)), page.links, tries


def _redirect(url: str, page: Page, hello: dict[str, Any]) -> Row:
    location = page.location
    if location in AWAY[2:]:
        return Row(page.status, "bad_redirect", checksum=0)
    if location.startswith("@"):
        name, _, path = location[1:].partition("/")
        location = f"{hello['scheme']}://{hello[name]}/{path}"
    return Row(page.status, redirect=urljoin(url, location), checksum=0)


def _leads_back(url: str, rows: dict[str, Row]) -> bool:
    """Whether following redirects from here comes back here."""
    at = rows[url].redirect
    for _ in rows:
        if at == url:
            return True
        if at is None or at not in rows:
            return False
        at = rows[at].redirect
    return False


assert ERRORS.keys() <= {*FAULTS, *ENCRYPTED}
