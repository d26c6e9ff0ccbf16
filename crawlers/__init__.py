"""A web crawler, written once per concurrency model.

The four model backends (``threads``, ``callbacks``, ``generators``,
``async_await``) differ only in how one program waits for many sockets. The code
they share is sans-IO: it takes bytes and times, never sockets or clocks. See
:mod:`crawlers.frontier`, :mod:`crawlers.http` and :mod:`crawlers.links`.

This package knows nothing of ``bench`` or ``server``.
"""

from __future__ import annotations
