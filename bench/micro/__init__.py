"""Micro-benchmarks of what the models are made of, and what they add up to in a page.

``python -m pytest bench/micro`` times single operations with pytest-benchmark:
a task switch, a lock, a system call. It has a ``pytest.ini`` of its own and
knows nothing of campaigns. ``python -m bench micro`` also counts how often each
model does each of them for one page, measures the page, and shows how much of
its processor time the sum explains.
"""
