"""The command line: a module per command in :mod:`bench.cli.commands`, and the pytest front end.

Here is what the exit codes of ``python -m bench`` mean.
"""

from __future__ import annotations

from typing import Final

DONE: Final = 0
FAILED: Final = 1
"""A trial failed, something got worse, or a file is damaged."""
USAGE: Final = 2
INTERRUPTED: Final = 130
