"""What the tests of all sites share."""

from __future__ import annotations

import hashlib

AUTHORITY = "127.0.0.1:8000"


def digest_by_definition(outcomes: dict[str, tuple[int, int]]) -> str:
    lines = sorted((key, f"{key} {code} {crc:08x}\n") for key, (code, crc) in outcomes.items())
    return hashlib.sha256("".join(line for _, line in lines).encode()).hexdigest()
