"""Exact costs: what a page takes of things that can be counted, not timed.

Instructions, system calls, allocations, switches, page faults, bytes and segments, for each
backend on ``fetch`` and ``crawl``. Another machine gets the same; a busy one blurs only the
backends that do more when a connection is late. They are never called speed: see docs/costs.md for
what they leave out.

``instruments`` says how each cost is counted and with which tool, ``crawls`` runs one crawl under
an instrument, ``measure`` all of them; ``record`` keeps them, ``account`` makes costs per page,
``gate`` compares two records, ``report`` and ``chart`` show one.
"""
