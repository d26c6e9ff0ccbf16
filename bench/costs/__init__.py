"""Exact costs: what a page takes of things that can be counted, not timed.

Instructions and system calls, for each backend on ``fetch`` and ``crawl``. Another machine gets the
same; a busy one blurs only the backends that do more when a connection is late. They are never
called speed: see docs/costs.md for what they leave out.

``measure`` runs crawls under an instrument (:mod:`bench.machine.instruments`); ``record`` keeps
them and makes costs per page, ``guard`` compares our models with their baseline,
and ``report`` shows one.
"""
