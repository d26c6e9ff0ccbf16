"""The two sides of a trial: the programs at either end, and what starts and tells them.

One side is under test. The other is there for it: a fixture server for a crawler, and the load
for a server.
"""
