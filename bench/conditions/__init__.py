"""What a trial is under: one file for each group of conditions, and none imports another.

A condition changes one thing on the way down (what the server and the worker are told, where both
run), may do something around the crawl, and says on the way up what it saw, and whether the trial
counts. Only points name conditions (:mod:`bench.plan.workloads`, :mod:`bench.plan.profiles`).
"""
