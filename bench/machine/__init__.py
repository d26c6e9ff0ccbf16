"""The machine that runs the measurements: probes that read it, and the doctor."""
