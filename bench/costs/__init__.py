"""Exact costs: what a page takes of things that can be counted, not timed.

Instructions and system calls, for each backend on ``fetch`` and ``crawl``. Another machine gets the
same; a busy one blurs only the backends that do more when a connection is late. They are never
called speed: see docs/costs.md for what they leave out.

A study (:mod:`bench.study`): ``measure`` runs crawls under an instrument
(:mod:`bench.machine.instruments`), and ``report`` makes costs per page of their totals and shows
them.
"""
