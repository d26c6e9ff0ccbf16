"""Runs the trials of a campaign; docs/architecture.md tells the life of a trial."""
