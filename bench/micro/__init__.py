"""Micro-benchmarks of single operations, and how they add up to a page.

``python -m pytest bench/micro`` times single operations with pytest-benchmark: a task
switch, a lock, a system call. It has its own ``pytest.ini`` and is independent of
campaigns. ``python -m bench micro`` also counts how often each model performs each
operation for one page, measures the page, and shows how much of the page's processor
time the sum explains.
"""
