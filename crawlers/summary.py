"""The result of a crawl for people: a summary and one line per URL."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from crawlers.job import CrawlReport, PageResult
from crawlers.kinds import ERROR_KINDS

NO_MORE = 20
"""Redirect hops that are followed to explain an answer; budgets are smaller."""


def print_summary(report: CrawlReport, console: Console) -> None:
    """Pages, bytes, statuses, redirects, errors by kind, pages per second."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    table.add_row("backend", f"{report.backend}, {report.concurrency} slots")
    table.add_row("root", report.root)
    table.add_row("pages", f"{report.pages:,} answered 200")
    table.add_row("bytes", f"{report.bytes:,}")
    statuses = ", ".join(f"{count:,} × {status}" for status, count in report.statuses.items())
    table.add_row("statuses", statuses or "none")
    table.add_row("redirects", f"{report.redirects:,}")
    table.add_row("retries", f"{report.retries:,}")
    if report.errors:
        for kind, count in report.errors.items():
            table.add_row("errors", f"{count:,} × {kind}: {ERROR_KINDS.get(kind, 'unknown')}")
    else:
        table.add_row("errors", "none")
    table.add_row("time", f"{report.elapsed_s:.3f} s, {report.pages_per_s:,.0f} pages/s")
    table.add_row("digest", report.digest)
    if report.stopped:
        left = "links led further" if "max_" in report.stopped else "URLs found but not fetched"
        table.add_row("stopped", f"{report.stopped}; {report.left:,} {left}")
    console.print(table, highlight=False, markup=False)


def print_urls(report: CrawlReport, console: Console, *, failed_only: bool = False) -> None:
    """One line per URL: status, size, type, links found and new, redirect target, error."""
    for url, row in sorted(report.rows.items()):
        if not failed_only or row.error is not None:
            console.print(
                url_line(url, row), highlight=False, markup=False, emoji=False, soft_wrap=True
            )


def url_line(url: str, row: PageResult) -> str:
    """The outcome of one URL, in one line."""
    kind = row.content_type.partition(";")[0].strip() or "-"
    line = f"{row.status or '---'} {row.size:>9} {kind:<16} {url}"
    if row.links_found:
        line += f"  links {row.links_found}, new {row.links_new}"
    if row.redirect:
        line += f"  -> {row.redirect}"
    if row.error:
        line += f"  ! {row.error}"
    return printable(line)


def printable(text: str) -> str:
    """The text without control characters: a hostile server may have chosen it."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def as_json(report: CrawlReport, *, urls: bool = False) -> dict[str, object]:
    """The report as one JSON object; with ``urls`` also the outcome of each URL."""
    found: dict[str, object] = {
        "backend": report.backend,
        "root": report.root,
        "pages": report.pages,
        "bytes": report.bytes,
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
        found["urls"] = {
            url: {
                "status": row.status,
                "bytes": row.size,
                "type": row.content_type,
                "links": row.links_found,
                "new_links": row.links_new,
                "redirect": row.redirect,
                "error": row.error,
            }
            for url, row in sorted(report.rows.items())
        }
    return found


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
