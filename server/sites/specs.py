"""From a site spec to the site that it names."""

from __future__ import annotations

from pathlib import Path

from server.sites.directory import Directory
from server.sites.faults import make_faults
from server.sites.listing import Listing
from server.sites.site import Site, SiteError, is_whole
from server.sites.tree import Builder, Tree


def make_site(
    spec: str,
    seed: int,
    authority: str | None,
    cache: Path | None = None,
    scheme: str = "http",
) -> Site:
    """Build the site that a spec names.

    ``authority`` is the ``host:port`` of the server, or None if it listens on
    all addresses, and ``scheme`` how it is reached. ``cache`` is a folder to
    remember the outcomes of a :class:`Directory` in. Raises :class:`SiteError`,
    which says what to change.
    """
    kind, _, rest = spec.partition(":")
    if kind == "tree":
        pages, fanout, size = _numbers(spec, rest, "tree:PAGES:FANOUT:BYTES", (1000, 5, 2048))
        _within(spec, "PAGES", pages, 1, 1_000_000)
        _within(spec, "FANOUT", fanout, 1, 10_000)
        _within(spec, "BYTES", size, 1, 64 << 20)
        if pages * size > 8 << 30:
            raise SiteError(f"{spec}: {pages} pages of {size} bytes do not fit in 8 GiB of memory")
        made = f"tree:{pages}:{fanout}:{size}"
        return Tree(Builder(made, pages, fanout, size, seed, authority, scheme))
    if kind == "list":
        pages, size, lines = _numbers(spec, rest, "list:N:BYTES:LINES", (1000, 2048, 0))
        _within(spec, "N", pages, 1, 1_000_000)
        _within(spec, "BYTES", size, 0, 64 << 20)
        _within(spec, "LINES", lines, 0, 99)
        further = f":{lines}" if lines else ""
        return Listing(f"list:{pages}:{size}{further}", pages, size, lines)
    if kind == "dir" and rest:
        return Directory(spec, rest, authority, cache, scheme)
    if kind == "faults":
        return make_faults(spec, seed, authority, scheme)
    raise SiteError(
        f"{spec}: not a site; write tree:PAGES:FANOUT:BYTES, list:N:BYTES:LINES, dir:PATH or "
        "faults:PAGES"
    )


def _numbers(spec: str, rest: str, form: str, defaults: tuple[int, ...]) -> list[int]:
    parts = rest.split(":") if rest else []
    if len(parts) > len(defaults) or not all(map(is_whole, parts)):
        raise SiteError(f"{spec}: not of the form {form} with whole numbers")
    return [int(part) for part in parts] + list(defaults[len(parts) :])


def _within(spec: str, name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise SiteError(f"{spec}: {name} must be from {least} to {most}, not {value}")
