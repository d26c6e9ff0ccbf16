"""What the source of the four models shows without a clock: metrics, tracebacks, side by side."""
