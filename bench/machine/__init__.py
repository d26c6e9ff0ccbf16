"""The machine that runs the measurements: probes that read it, and the doctor.

``environment`` describes the machine and the software, ``cpu`` counts processor time and pins
processes, ``host`` measures how noisy the machine is, reads the network counters and waits for
leftover sockets, ``memory`` attributes memory to its owners at the barrier. ``procfs``
holds the parsers they share. A probe never raises because a platform lacks a
source: the value is then ``None``, with a reason beside it.
"""
