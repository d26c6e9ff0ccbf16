"""Probes: everything the harness reads from outside a trial, one module per subject.

``environment`` says what the numbers were taken on, ``cpu`` counts processor
time and pins processes, ``host`` measures how noisy the machine is, ``kernel``
reads the network counters and waits for leftover sockets, ``memory`` tells
whose memory is whose at the barrier. ``procfs`` and ``cgroups`` hold the
parsers they share. A probe never raises because a platform lacks a source: the
value is ``None`` and its reason is kept beside it.
"""

from __future__ import annotations
