"""Micro-benchmarks of single operations: a task switch, a lock, a timer.

``python -m pytest bench/micro`` times them with pytest-benchmark. It has its own
``pytest.ini`` and is independent of campaigns. ``python -m bench micro`` runs them twice and
keeps the prices as a record and a table. What a page is made of is not their sum: the
controls of a campaign show that (:mod:`bench.controls`).
"""
