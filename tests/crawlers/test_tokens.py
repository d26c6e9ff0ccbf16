"""The tokenizer's patterns, and the faulty ``re`` that some releases have."""

from __future__ import annotations

import re

from crawlers import tokens


def test_the_fault_is_found_by_trying() -> None:
    """The workaround is on exactly where ``re`` fails CPython's own regression tests."""
    right = (
        ("(?:ab?c)++", "aca", 2),
        ("(?:ab?c)*+", "aca", 2),
        ("(?:ab?c)?+", "a", 0),
        ("(?:.(?!D))++", "ABCDE", 2),
        ("(?:.(?!D))*+", "ABCDE", 2),
        ("(?:.(?!D))?+", "CDE", 0),
    )
    ends = [re.match(pattern, text) for pattern, text, _ in right]
    correct = [found.end() if found else None for found in ends] == [end for *_, end in right]
    assert (tokens.WORKAROUND is None) == correct


def test_the_greedy_patterns_have_no_possessive_group() -> None:
    for name in ("TOKEN", "HREF", "STEP", "RAW"):
        greedy = tokens.without_possessive_groups(getattr(tokens, name).pattern)
        assert not re.search(r"\)[*+?]\+", greedy)
