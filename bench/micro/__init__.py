"""Studies of single operations: a task that waits, an import, a call to a thread, a pool.

Each is measured in fresh processes, by ``python -m bench study micro``, and is independent of
campaigns. What a page is made of is not their sum: the controls of a campaign show that
(:mod:`bench.controls`).
"""
