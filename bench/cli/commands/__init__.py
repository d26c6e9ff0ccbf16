"""One module per command: see :class:`bench.cli.command.CommandModule`."""
