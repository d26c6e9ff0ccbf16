"""The machine that runs the measurements: probes that read it, and the doctor.

A probe never raises because a platform lacks a source: the value is then ``None``, with a reason
beside it.
"""
