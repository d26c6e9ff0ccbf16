"""The command line: a module per command in :mod:`bench.cli.commands`, and the pytest front end."""
