"""What waits without a connection: coroutines, tasks, greenlets and threads.

Each is measured in fresh processes, by ``python -m bench study tasks``, and is independent of
campaigns. What a page is made of, the controls of a campaign show (:mod:`bench.controls`).
"""
