"""The result of a crawl for people: a summary and one line per URL."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from crawlers.job import CrawlReport, PageResult
from crawlers.kinds import ERROR_KINDS
from crawlers.origins import origin_prefix
from crawlers.page import HTML
from crawlers.terminal import printable

NO_MORE = 20
"""Redirect hops that are followed to explain an answer; budgets are smaller."""


def print_summary(report: CrawlReport, console: Console, roots: Sequence[str] = ()) -> None:
    """Pages, bytes, statuses, redirects, errors by kind, hosts, pages per second."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("backend", f"{report.backend}, {report.concurrency} slots")
    for root in roots or (report.root,):
        table.add_row("root", root)
    table.add_row("pages", f"{report.pages:,} answered 200")
    html, other = by_type(report.rows.values())
    table.add_row("  html", f"{html[0]:,}, {html[1]:,} bytes")
    table.add_row("  other", f"{other[0]:,}, {other[1]:,} bytes")
    hosts = by_host(report)
    for host, (urls, pages, size) in hosts.items() if len(hosts) > 1 else ():
        table.add_row("host", f"{host}: {urls:,} URLs, {pages:,} pages, {size:,} bytes")
    statuses = ", ".join(f"{count:,} × {status}" for status, count in report.statuses.items())
    table.add_row("statuses", statuses or "none")
    outside = sum(out_of_scope(report, row) for row in report.rows.values())
    table.add_row(
        "redirects", f"{report.redirects:,}" + f", {outside:,} out of scope" * (outside > 0)
    )
    table.add_row("retries", f"{report.retries:,}")
    if report.errors:
        for kind, count in report.errors.items():
            table.add_row("errors", f"{count:,} × {kind}: {ERROR_KINDS.get(kind, 'unknown')}")
    else:
        table.add_row("errors", "none")
    per_slot = len(report.rows) / max(report.elapsed_s, 1e-9) / report.concurrency
    rates = f"{report.pages_per_s:,.0f} pages/s, {per_slot:,.1f} URLs/s for each slot"
    table.add_row("time", f"{report.elapsed_s:.3f} s, {rates}")
    table.add_row("digest", report.digest)
    if report.stopped:
        left = "links led further" if "max_" in report.stopped else "URLs found but not fetched"
        table.add_row("stopped", f"{report.stopped}; {report.left:,} {left}")
    console.print(table, highlight=False, markup=False)


def by_type(rows: Iterable[PageResult]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Of the pages answered 200, how many are HTML, and their bytes; the same of others."""
    pages = [row for row in rows if row.status == 200]
    kinds = [row.content_type.partition(";")[0].strip().lower() for row in pages]
    html = [row.size for row, kind in zip(pages, kinds, strict=True) if kind in HTML]
    rest = len(pages) - len(html), sum(row.size for row in pages) - sum(html)
    return (len(html), sum(html)), rest


def by_host(report: CrawlReport) -> dict[str, tuple[int, int, int]]:
    """For each server: URLs with an outcome, pages answered 200, bytes of these."""
    urls, pages, size = Counter[str](), Counter[str](), Counter[str]()
    for url, row in report.rows.items():
        host = origin_prefix(url)
        urls[host] += 1
        pages[host] += row.status == 200
        size[host] += row.size if row.status == 200 else 0
    return {host: (urls[host], pages[host], size[host]) for host in sorted(urls)}


def out_of_scope(report: CrawlReport, row: PageResult) -> bool:
    """Whether a redirect was not followed because of where it leads."""
    followed = row.redirect is None or row.redirect in report.rows
    return not (followed or row.error or report.stopped)


def print_urls(report: CrawlReport, console: Console, *, failed_only: bool) -> None:
    """One line per URL: status, size, type, links found and new, redirect target, error."""
    for url, row in sorted(report.rows.items()):
        if not failed_only or row.error is not None:
            line = url_line(url, row, outside=out_of_scope(report, row))
            console.print(line, highlight=False, markup=False, emoji=False, soft_wrap=True)


def url_line(url: str, row: PageResult, *, outside: bool = False) -> str:
    """The outcome of one URL, in one line; ``outside`` is a redirect out of scope."""
    kind = row.content_type.partition(";")[0].strip() or "-"
    line = f"{row.status or '---'} {row.size:>9} {kind:<16} {url}"
    if row.links_found:
        line += f"  links {row.links_found}, new {row.links_new}"
    if row.redirect:
        line += f"  -> {row.redirect}{', out of scope' if outside else ''}"
    if row.error:
        line += f"  ! {row.error}"
    return printable(line)


def as_json(
    report: CrawlReport, *, urls: bool = False, roots: Sequence[str] = ()
) -> dict[str, object]:
    """The report as one JSON object; with ``urls`` also the outcome of each URL."""
    html, other = by_type(report.rows.values())
    summary: dict[str, object] = {
        "backend": report.backend,
        "root": report.root,
        "roots": list(roots or (report.root,)),
        "pages": report.pages,
        "bytes": report.bytes,
        "html": dict(zip(("pages", "bytes"), html, strict=True)),
        "other": dict(zip(("pages", "bytes"), other, strict=True)),
        "hosts": {
            host: dict(zip(("urls", "pages", "bytes"), counts, strict=True))
            for host, counts in by_host(report).items()
        },
        "redirects": report.redirects,
        "retries": report.retries,
        "errors": report.errors,
        "statuses": {str(status): count for status, count in report.statuses.items()},
        "elapsed_s": round(report.elapsed_s, 6),
        "pages_per_s": round(report.pages_per_s, 3),
        "concurrency": report.concurrency,
        "digest": report.digest,
        "stopped": report.stopped,
        "left": report.left,
        "mechanism": report.mechanism,
    }
    if urls:
        summary["urls"] = {
            url: {
                "status": row.status,
                "bytes": row.size,
                "type": row.content_type,
                "links": row.links_found,
                "new_links": row.links_new,
                "redirect": row.redirect,
                "out_of_scope": out_of_scope(report, row),
                "error": row.error,
            }
            for url, row in sorted(report.rows.items())
        }
    return summary


def why_not_fetched(report: CrawlReport, url: str) -> str | None:
    """None if a start URL led to a page; otherwise the reason, and what to do about it."""
    for _ in range(NO_MORE):
        row = report.rows.get(url)
        if row is None:
            return None if report.stopped else "its redirect was not followed"
        if row.error is not None:
            return f"{row.error}: {ERROR_KINDS[row.error]}"
        if row.redirect is None:
            return None if row.status == 200 else f"the server answered {row.status}"
        if row.redirect not in report.rows and not report.stopped:
            return (
                f"redirects to {row.redirect}, which is out of scope: start there or use --lenient"
            )
        url = row.redirect
    return "too many redirects"
