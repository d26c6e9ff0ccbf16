"""The command line: a module per command in :mod:`bench.cli.commands`, and the pytest front end.

Here is what the exit codes of ``python -m bench`` mean.
"""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FAILED: Final = 1
"""A trial failed, something got worse, the disk is full, or ``report --check`` found a fault."""
USAGE: Final = 2
"""Wrong arguments, or a file that cannot be read."""
INTERRUPTED: Final = 130
