"""What waits: memory of a task that waits without a connection, and its spawn, switch and cancel.

=================  ==============================================================
``kinds.py``       the names, what each waits on, how it yields; without any library
``plain.py``       generators, coroutines, the hand-built loop, threads, greenlets
``loops.py``       asyncio, uvloop, trio, curio, anyio
``child.py``       the process that is measured: one kind, in a process of its own
``measure.py``     starts the processes and reads their memory from outside
``record.py``      ``tasks.json``
``lines.py``       slopes and medians from the record
``report.py``      the tables; ``chart.py``: the chart
=================  ==============================================================
"""
