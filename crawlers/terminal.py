"""The size of the terminal, where the environment says nonsense about it."""

from __future__ import annotations

import os
import re

SIZE = re.compile(r"[1-9][0-9]{0,3}")


def forget_impossible_size() -> None:
    """Leave the size to the terminal unless ``COLUMNS`` and ``LINES`` are possible ones.

    rich prints nothing with 0 columns, and fails at ``²``.
    """
    for name in ("COLUMNS", "LINES"):
        if not SIZE.fullmatch(os.environ.get(name, "1")):
            del os.environ[name]
