"""Probes: everything the harness reads from outside a trial, one module per subject.

``environment`` describes the machine and the software, ``cpu`` counts processor
time and pins processes, ``host`` measures how noisy the machine is, ``kernel``
reads the network counters and waits for leftover sockets, ``memory`` attributes
memory to its owners at the barrier. ``procfs`` and ``cgroups`` hold the parsers
they share. A probe never raises because a platform lacks a source: the value is
then ``None``, with a reason beside it.
"""

from __future__ import annotations
