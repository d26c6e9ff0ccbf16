"""Finds backends by name and loads them.

A backend is imported only when it is loaded, so a missing library affects only
the backends that need it. Its module has a function ``crawl``, or ``crawl_as``, which
makes one for each backend that a table of the module names.

Backends from other distributions join through the entry-point group
``crawlers.backends``; the entry point names a :class:`Backend`. A name with a colon, such as
``uvloop:new_event_loop``, is ``async_await`` on the loop that this function makes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from crawlers.backend import Backend, BackendError, CrawlFunction
from crawlers.catalogue import MODELS, OURS, PEOPLE
from crawlers.job import CrawlReport, Job, JobError
from crawlers.recorder import Recorder

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "GROUP",
    "MODELS",
    "PEOPLE",
    "Backend",
    "BackendError",
    "CrawlFunction",
    "about",
    "load",
    "names",
]

GROUP = "crawlers.backends"
"""Entry-point group for backends from other distributions."""

LOOP = ":"
"""In the name of a loop: between its module and what makes it."""


NEAR = 0.7
"""How much of a name must be right for it to be meant: ``thread`` is not ``tornado``."""


class UnknownError(BackendError):
    """Nothing has this name."""


def names() -> list[str]:
    """All known backends: the models, our variants in the order of the ladder, then others."""
    return [*MODELS, *(name for name in OURS if name not in MODELS), *sorted(_foreign())]


def about(name: str) -> Backend:
    """Describe a backend; ours are not imported for that.

    One from another distribution that cannot be loaded says why in ``missing``.
    Raises :class:`BackendError` for an unknown name.
    """
    if name in OURS:
        return OURS[name]
    try:
        return _foreign_backend(name)
    except UnknownError:
        raise
    except BackendError as error:
        return Backend(name, str(error), "", missing=str(error))


def load(name: str) -> Backend:
    """Import a backend; raises :class:`BackendError`, which says what to do about it."""
    backend = OURS.get(name) or _foreign_backend(name)
    try:
        if name in OURS:
            module = import_module(backend.module)
            crawl = module.crawl_as(name) if hasattr(module, "crawl_as") else module.crawl
            backend = replace(backend, crawl=crawl)
    except BackendError:
        raise
    except ImportError as error:
        raise BackendError(
            f"backend {name} needs a library that is not installed ({error}): "
            "in the folder of a clone, python -m pip install '.[variants]'"
        ) from error
    except Exception as error:  # of a library, from what it finds in the environment
        raise BackendError(
            f"backend {name} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if backend.no_https:
        return replace(backend, crawl=_without_https(name, backend.no_https, backend.crawl))
    return backend


def _without_https(name: str, reason: str, crawl: CrawlFunction) -> CrawlFunction:
    """``crawl`` for a backend that cannot speak TLS: it refuses jobs that begin there."""

    def plain(job: Job, recorder: Recorder) -> CrawlReport:
        for url in job.urls:
            if url.lower().startswith("https:"):
                raise JobError(f"{url}: backend {name} cannot crawl https: {reason}")
        return crawl(replace(job, https=False), recorder)

    return plain


def _loads(name: str) -> bool:
    """Whether this can be used here. One that patches the process is not tried."""
    try:
        return not (name in OURS and OURS[name].alone) and bool(load(name))
    except BackendError:
        return False


@cache
def _foreign() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # imports email and zipfile: ours do without

    return {point.name: point for point in entry_points(group=GROUP)}


def _foreign_backend(name: str) -> Backend:
    """A backend that is not in the catalogue: of a loop, or of another distribution."""
    if LOOP in name:
        on_loop: Callable[[str], Backend] = import_module("crawlers.variants.loops").on_loop
        return on_loop(name)
    point = _foreign().get(name)
    if point is None:
        near = " or ".join(filter(_loads, get_close_matches(name, names(), cutoff=NEAR)))
        hint = f"did you mean {near}? " if near else ""
        raise UnknownError(f"no backend named {name!r}: {hint}python -m crawlers --list has all")
    try:
        backend = point.load()
    except (Exception, SystemExit) as error:  # not our module: it may raise anything
        raise BackendError(
            f"backend {name} of {point.value} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(backend, Backend):
        raise BackendError(f"entry point {point.value} of backend {name} is not a Backend")
    return backend
