"""Studies: programs that are measured beside the campaigns, each in fresh processes.

A study is a name, the type of what one of its processes saw, and programs. The programs run in
rounds, each round in a random order (:mod:`~bench.study.runner`). Every process appends one line to
``NAME.jsonl``, and tables and charts are made from that file alone (:mod:`~bench.study.study`).
What is left to a study itself is what it starts, what it reads, and what it says: see
:mod:`bench.tasks`, :mod:`bench.costs`, :mod:`bench.claims`, :mod:`bench.fleet`.
"""
