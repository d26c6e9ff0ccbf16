"""What it costs to import a backend: time to ready, memory, modules, in fresh processes."""
